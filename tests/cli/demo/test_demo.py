import os
import shlex
import subprocess
import sys
import tempfile
from contextlib import chdir, suppress

import matplotlib
import pytest
from click.testing import CliRunner
from PIL import Image

import equipoise as eq
from equipoise.cli import main
from equipoise.cli.demo import plot as demo_plot
from equipoise.cli.demo import trial as demo_trial
from equipoise.cli.demo.trial import DIM, NOISE, World

# Not the defaults, so that an option that is ignored shows.
BUDGET, SEED = 120, 11
SMALL = ("demo", "--budget", BUDGET, "--seed", SEED, "--overwrite")


@pytest.fixture(scope="module")
def comparison():
    world = World(budget=BUDGET, seed=SEED)
    return world.compare(world.experiment(eq.TraceGain()), world.experiment(eq.Uniform()))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def result(folder):
    """One run, which many tests look at."""
    before = dict(matplotlib.rcParams)
    with chdir(folder), pytest.MonkeyPatch.context() as patch:
        for setting in ("COLUMNS", "FORCE_COLOR"):
            patch.delenv(setting, raising=False)
        with matplotlib.rc_context({"text.usetex": True, "font.size": 3}):
            changed = dict(matplotlib.rcParams)
            ran = CliRunner().invoke(main, [str(argument) for argument in SMALL])
            assert dict(matplotlib.rcParams) == changed  # plotting leaves settings alone
    assert dict(matplotlib.rcParams) == before
    return ran


def test_both_tables_have_the_trial_s_numbers(result, comparison):
    assert result.exit_code == 0
    assert result.stderr == ""
    rows = [line.split() for line in result.stdout.splitlines() if line.startswith("arm-")]
    arms = [*comparison.chosen.arms, *comparison.uniform.arms]
    for row, arm in zip(rows, arms, strict=True):
        assert row[:4] == [arm.arm, str(arm.units), f"{arm.true_noise:g}", f"{arm.estimated_noise:.3g}"]
        assert row[-5:-3] == [f"{arm.expected_error:.3g}", f"{arm.actual_error:.3g}"]
        assert row[-3:] == [str(arm.covered), "of", str(DIM)]
    totals = [line.split() for line in result.stdout.splitlines() if line.startswith("all")]
    for total, trial in zip(totals, (comparison.chosen, comparison.uniform), strict=True):
        assert total == ["all", str(BUDGET), str(sum(arm.covered for arm in trial.arms)), "of", "70"]


def test_tables_fit_in_80_columns(run, result, monkeypatch):
    def rows(ran):
        return [line.split() for line in ran.stdout.splitlines() if line.startswith(("arm", "all"))]

    monkeypatch.setenv("COLUMNS", "80")
    assert rows(run(*SMALL)) == rows(result)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_the_progress_bar_is_for_terminals_and_never_among_the_results(result, tmp_path):
    ours, theirs = os.openpty()
    arguments = [sys.executable, "-m", "equipoise", *map(str, SMALL)]
    # As wide as the other one: readline may set COLUMNS behind Python's back.
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    settings = {"env": {**environment, "TERM": "xterm"}, "cwd": tmp_path}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=theirs, **settings) as process:
        os.close(theirs)
        with suppress(OSError):  # Linux reports the end of a pseudo-terminal as an error
            seen = b""
            while chunk := os.read(ours, 4096):
                seen += chunk
        output = process.stdout.read().decode()
    os.close(ours)
    assert process.returncode == 0
    assert f"{2 * BUDGET}/{2 * BUDGET}".encode() in seen
    assert output.splitlines() == result.stdout.splitlines()


def test_the_sentences_name_worst_errors_and_the_optimum(result, comparison):
    text = " ".join(result.stdout.split())
    assert f"{comparison.chosen.worst_actual:.3g} with trace-gain" in text
    assert f"{comparison.uniform.worst_expected:.3g}" in text
    assert f"would expect {eq.theory.optimal_loss(NOISE, DIM, BUDGET):.3g}" in text


def test_the_settings_are_printed_and_can_be_typed_again(run):
    policy = "trace-ucb:width=theory:bound=3"
    first = run(*SMALL, "--policy", policy, "--output", "my plots")
    assert f"equipoise {eq.__version__}, seed {SEED}, {BUDGET} units, 7 arms, 10 features" in first.stdout
    again = first.stdout.splitlines()[-1].removeprefix("Run it again: ")
    second = run(*shlex.split(again)[1:])
    assert second.stdout == first.stdout
    assert f"{policy}: noise variances" in first.stdout


def test_the_plot_is_saved_with_its_settings(result, folder):
    path = folder / "equipoise-demo" / "demo.png"
    assert "Plot: equipoise-demo/demo.png" in result.stdout.replace("\\", "/")
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert image.width >= 1200
        description = image.text["Description"]
    for part in (f"equipoise {eq.__version__}", "policy trace-gain", f"seed {SEED}", f"{BUDGET} units"):
        assert part in description
    assert sorted(file.name for file in path.parent.iterdir()) == ["demo.db", "demo.png", "report.html"]


def test_the_trial_is_a_practice_experiment_that_verifies(result, folder, comparison):
    line = next(line for line in result.stdout.splitlines() if line.startswith("Look at it: "))
    with chdir(folder):
        looked = CliRunner().invoke(main, shlex.split(line)[4:])
        with eq.load_experiment(store="sqlite:///equipoise-demo/demo.db", name="demo") as experiment:
            found = experiment.verify()
            assert experiment.counts == {arm.arm: arm.units for arm in comparison.chosen.arms}
    assert looked.stdout.startswith("demo (practice): complete")
    assert (found.mode, found.units, found.decided) == ("practice", BUDGET, BUDGET)


def test_the_report_is_that_of_the_trial(result, folder):
    page = (folder / "equipoise-demo" / "report.html").read_text()
    assert "Report: equipoise-demo/report.html" in result.stdout.replace("\\", "/")
    assert "demo" in page
    assert f"{BUDGET} of {BUDGET} units" in page


def test_the_title_says_which_way_it_went(comparison):
    assert demo_plot.title(comparison).startswith("More units for noisy arms: trace-gain cuts the worst")
    world = World(budget=BUDGET, seed=SEED)
    same = world.compare(world.experiment(eq.Uniform()), world.experiment(eq.Uniform()))
    assert "cuts" not in demo_plot.title(same)


def test_the_oracle_is_told_the_noise(run):
    result = run(*SMALL, "--policy", "oracle")
    assert result.exit_code == 0
    assert "oracle: noise variances" in result.stdout


def test_the_smallest_budget(run, tmp_path):
    result = run("demo", "--budget", 77, "--seed", SEED)
    assert result.exit_code == 0
    assert "no finite error" in " ".join(result.stdout.split())
    assert (tmp_path / "equipoise-demo" / "demo.png").exists()


def test_without_matplotlib_all_but_the_plot_is_there(run, result, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    without = run(*SMALL, "--output", "deep/inside")
    assert without.exit_code == 0
    assert "pip install 'equipoise[plot]'" in without.stdout
    assert without.stdout.split("No plot")[0] == result.stdout.split("Plot:")[0]
    there = sorted(file.name for file in (tmp_path / "deep" / "inside").iterdir())
    assert there == ["demo.db", "report.html"]


@pytest.fixture
def no_work(monkeypatch):
    """Fails the test if a unit is allocated."""

    def work(*_):
        pytest.fail("work was done before the error was found")

    monkeypatch.setattr(demo_trial.World, "compare", work)


@pytest.mark.usefixtures("no_work")
def test_a_folder_that_cannot_be_made(fail, tmp_path):
    (tmp_path / "file").write_text("")
    message, hint = fail(*SMALL, "--output", "file/below")
    assert message.startswith("cannot write to file")
    assert "--output DIR" in hint


@pytest.mark.usefixtures("no_work")
def test_a_folder_that_cannot_be_written_to(fail, monkeypatch):
    # Permissions do not stop an administrator, so the refusal is simulated.
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    message, hint = fail(*SMALL, "--output", "locked", status=8)
    assert message == "cannot write to locked: Permission denied"
    assert "--output DIR" in hint


def test_a_disk_that_fills_up_later(fail, monkeypatch):
    def refuse(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    message, _ = fail(*SMALL, status=7)
    assert "No space left on device" in message


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["--policy", "trace-usb"], "no policy 'trace-usb'", "'trace-ucb'"),
        (["--policy", "trace-ucb:wdth=1"], "no argument 'wdth'", "'width'"),
        (["--policy", "oracle:noise=1,2"], "2 noise variances for 7 arms", None),
        (["--budget", "76"], "a budget of 76", "77"),
        (["--budget", "many"], "--budget many is not a whole number", "--budget 350"),
        (["--budget", "1000000000"], "from 1 to 20000", "--budget 350"),
        (["--seed", "-1"], "--seed -1", "--seed"),
    ],
)
def test_wrong_values_are_found_before_any_work(fail, tmp_path, arguments, message, hint):
    found, hinted = fail("demo", *arguments)
    assert message in found
    assert hint is None or hint in hinted
    assert list(tmp_path.iterdir()) == []
