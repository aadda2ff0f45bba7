import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.cli.options import POLICIES
from equipoise.lab.running import simulate as running

# Not the defaults, so that an option that is ignored shows.
BASE = ("simulate", "--noise", "0.1,1,3", "--dim", 3, "--budget", 50, "--trials", 40, "--seed", 11)
NOISE, DIM, BUDGET, TRIALS, SEED = [0.1, 1.0, 3.0], 3, 50, 40, 11
SPEC = "trace-ucb:width=theory:bound=3:delta=0.05"


def record(result):
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found.pop("command") == "simulate"
    for policy in found["policies"].values():
        assert policy.pop("decisions_per_second") > 0
    return found


def expected(policies, **pieces):
    scenario = eq.GaussianScenario(NOISE, DIM, BUDGET, **pieces)
    return plain(eq.simulate(scenario, policies, trials=TRIALS, seed=SEED))


def plain(result):
    found = json.loads(json.dumps(result.record()))
    for policy in found["policies"].values():
        del policy["decisions_per_second"]
    return found


def test_the_numbers_are_the_library_s(run):
    found = record(run(*BASE, "--policy", "oracle", "--policy", SPEC, "--json", "--workers", 1))
    assert found == expected(["oracle", SPEC])


def test_the_default_policies(run):
    assert list(record(run(*BASE, "--json"))["policies"]) == list(POLICIES)


@pytest.mark.parametrize(
    ("options", "pieces"),
    [
        (["--covariance", "ar1:0.8"], {"covariance": "ar1:0.8"}),
        (["--student-noise", 4.5], {"noise_shape": eq.lab.StudentNoise(dof=4.5)}),
        (["--moment", "learned"], {"moment": "learned"}),
        (["--delay", 7], {"delay": eq.lab.Delay(mean=7.0)}),
        (["--delay", 0], {}),
        (["--lost", 0.2], {"lost": 0.2}),
        (["--objective", "mean"], {"objective": "mean"}),
        (["--estimator", "ridge"], {"estimator": "ridge"}),
        (["--estimator", "ridge", "--ridge", "0.5"], {"estimator": "ridge", "ridge": 0.5}),
        (["--estimator", "leave-one-out"], {"estimator": "leave-one-out"}),
        (["--intervals", "robust"], {"intervals": "robust"}),
        (["--objective", "2.5", "--weights", "1,2,3"], {"objective": 2.5, "weights": (1.0, 2.0, 3.0)}),
        (["--costs", "1,2.5,1"], {"costs": (1.0, 2.5, 1.0)}),
        (["--floors", "0,20,5", "--caps", "none,30,9"], {"floors": (0, 20, 5), "caps": (None, 30, 9)}),
    ],
)
def test_the_ways_reality_differs(run, options, pieces):
    found = record(run(*BASE, "--policy", "trace-ucb", *options, "--json"))
    assert found == expected(["trace-ucb"], **pieces)


@pytest.mark.parametrize(("typed", "budget"), [("75.5", 75.5), ("20000000", 20_000_000)])
def test_with_costs_the_budget_is_money(run, tmp_path, typed, budget):
    scale = budget / 75.5
    costs = [scale, 2 * scale, 3 * scale]
    options = ["--budget", typed, "--costs", ",".join(map(repr, costs)), "--policy", "uniform", "--json"]
    scenario = eq.GaussianScenario(NOISE, DIM, budget, costs=costs)
    assert record(run(*BASE, *options)) == plain(eq.simulate(scenario, ["uniform"], trials=TRIALS, seed=SEED))
    (tmp_path / "priced.toml").write_text(eq.GaussianScenario([1.0], 3, 20, costs=[2.0]).to_toml())
    result = run("simulate", "--scenario", "priced.toml", "--budget", "30.5", "--trials", "1", "--json")
    assert json.loads(result.stdout)["scenario"]["budget"] == 30.5


def test_a_covariance_from_a_file(run, tmp_path):
    matrix = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])
    np.save(tmp_path / "sigma.npy", matrix)
    found = record(run(*BASE, "--policy", "trace-ucb", "--covariance", "sigma.npy", "--json"))
    assert found == expected(["trace-ucb"], covariance=matrix)


def test_the_table_says_whose_coverage_it_shows(run):
    for kind, said in (("classical", False), ("robust", True)):
        result = run(*BASE, "--policy", "uniform", "--trials", 5, "--intervals", kind)
        assert result.exit_code == 0
        assert ("robust" in result.stdout.partition("Run again")[0].partition("--")[0]) == said


def test_a_typed_estimator_leaves_the_penalty_of_the_file(run):
    run(*BASE, "--estimator", "ridge", "--ridge", 0.5, "--save-scenario", "ridge.toml")
    result = run("simulate", "--scenario", "ridge.toml", "--estimator", "pooled", "--trials", 5, "--json")
    assert "ridge" not in record(result)["scenario"]
    result = run("simulate", "--scenario", "ridge.toml", "--ridge", 0.1, "--trials", 5, "--json")
    assert record(result)["scenario"]["ridge"] == 0.1


def test_a_scenario_is_saved_and_loaded(run, tmp_path):
    first = record(run(*BASE, "--lost", 0.1, "--save-scenario", "mine.toml", "--json"))
    saved = eq.Scenario.from_toml((tmp_path / "mine.toml").read_text())
    assert saved == eq.GaussianScenario(NOISE, DIM, BUDGET, lost=0.1)
    rest = ("--trials", TRIALS, "--seed", SEED, "--json")
    assert record(run("simulate", "--scenario", "mine.toml", *rest)) == first
    options = ("--budget", 70, "--covariance", "ar1:0.3")
    changed = record(run("simulate", "--scenario", "mine.toml", *options, *rest))["scenario"]
    contexts = {"kind": "gaussian", "covariance": "ar1:0.3"}
    assert changed == {**first["scenario"], "budget": 70, "contexts": contexts}


def test_the_tables_have_the_numbers(run):
    result = run(*BASE)
    assert result.exit_code == 0
    assert result.stderr == ""
    losses, differences, meaning, units, _ = result.stdout.split("\n\n")
    assert meaning.startswith("Below 0 is better than uniform.")
    scenario = eq.GaussianScenario(NOISE, DIM, BUDGET)
    found = eq.simulate(scenario, list(POLICIES), trials=TRIALS, seed=SEED)
    for name in found.policies:
        row = next(line.split() for line in losses.splitlines() if line.startswith(name))
        assert float(row[1]) == pytest.approx(found[name].expected_max().value, rel=0.02)
        assert float(row[3]) == pytest.approx(found[name].expected_max().stderr, rel=0.06)
    assert "uniform" not in [line.split()[0] for line in differences.splitlines()[1:] if line.split()]
    row = next(line.split() for line in differences.splitlines() if line.startswith("oracle"))
    assert float(row[1]) == pytest.approx(found.difference("oracle", "uniform").value, rel=0.05)
    row = next(line.split() for line in units.splitlines() if line.startswith("arm-3"))
    pulls = [f"{policy.pulls()[2].value:.1f}" for policy in found.policies.values()]
    assert row == ["arm-3", "3", "32", *pulls]  # 3/4.1 of the 38 units beyond d + 1 an arm, and 4


def test_the_last_line_runs_it_again(run):
    first = run(*BASE[:7], "--trials", 30, "--covariance", "ar1:0.5")
    line = first.stdout.splitlines()[-1].removeprefix("Run it again: ")
    assert "--seed 0" in line
    assert "--policy trace-ucb" in line
    again = run(*shlex.split(line)[1:])
    assert again.stdout.rpartition("Run it again")[0] == first.stdout.rpartition("Run it again")[0]


def test_a_long_spec_is_never_cut_off(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = run(*BASE, "--policy", SPEC, "--policy", "uniform").stdout
    assert "…" not in text


def test_many_arms_are_counted(run):
    text = run("simulate", "--noise", ",".join(["1"] * 30), "--dim", 2, "--budget", 100, "--trials", 5).stdout
    assert "arm-24" in text
    assert "6 further arms" in text


def test_output_holds_report_losses_and_trials(run, tmp_path):
    result = run(*BASE, "--output", "deep/results")
    folder = tmp_path / "deep" / "results"
    written = sorted(file.name for file in folder.iterdir())
    assert written == ["losses.parquet", "report.html", "result.npz", "scenario.toml"]
    assert f"Written: {Path('deep/results/report.html')}" in result.stdout
    assert "equipoise simulate --noise 0.1,1,3" in (folder / "report.html").read_text()
    assert plain(eq.SimulationResult.load(folder / "result.npz")) == expected(list(POLICIES))


def test_below_the_smallest_budget_static_policies_are_shown(run):
    result = run("simulate", "--noise", "1,2", "--dim", 3, "--budget", 6, "--trials", 10, "--json")
    assert list(record(result)["policies"]) == ["uniform", "oracle"]
    assert "Without trace-ucb, trace-gain" in result.stderr
    assert "8 in all" in result.stderr


def test_checkpoints_are_kept_and_used(run, tmp_path, monkeypatch):
    first = record(run(*BASE, "--checkpoint", "kept", "--json"))
    assert (tmp_path / "kept" / "manifest.json").exists()

    def work(*_):
        pytest.fail("a finished chunk was run again")

    monkeypatch.setattr(running, "run_chunk", work)
    assert record(run(*BASE, "--checkpoint", "kept", "--json")) == first


def test_a_cluster_s_executor_is_used(run, monkeypatch):
    from concurrent.futures import ThreadPoolExecutor

    from equipoise.lab.running import cluster

    asked = []

    @contextmanager
    def executor(address):
        asked.append(address)
        with ThreadPoolExecutor(1) as pool:
            submit = pool.submit
            monkeypatch.setattr(pool, "submit", lambda *task: (asked.append("task"), submit(*task))[1])
            yield pool

    monkeypatch.setattr(cluster, "cluster_executor", executor)
    found = record(run(*BASE, "--policy", "uniform", "--cluster", "tcp://there:1", "--json"))
    assert asked == ["tcp://there:1", "task"]
    assert found == expected(["uniform"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], ["Stopped after 7 of 160 trials. None are kept", "--checkpoint DIR"]),
        (["--checkpoint", "kept"], ["7 of 160 trials are kept in kept", "same line again"]),
    ],
)
def test_ctrl_c_says_what_is_kept(run, monkeypatch, options, words):
    def interrupted(*_, progress, trials, **__):
        progress(7, 4 * trials)  # four policies unless some are named
        raise KeyboardInterrupt

    monkeypatch.setattr(eq, "simulate", interrupted)
    result = run(*BASE, *options)
    assert result.exit_code == 130
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise on Windows")
def test_ctrl_c_in_a_real_process_and_the_rest_later(run, tmp_path):
    line = ["simulate", "--noise", "1,2,3", "--dim", "8", "--budget", "2000", "--trials", "2000", "--policy",
            "trace-ucb", "--checkpoint", "kept", "--workers", "1"]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "equipoise", *line], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("kept/*.npz")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "trials are kept in kept" in errors
    assert "Traceback" not in errors
    assert 0 < len(list(tmp_path.glob("kept/*.npz"))) < 16
    assert record(run(*line, "--json")) == record(run(*line[:-4], "--json"))
    assert len(list(tmp_path.glob("kept/*.npz"))) == 16


@pytest.mark.skipif(os.name == "nt", reason="Windows has no pseudo-terminals")
@pytest.mark.parametrize("quiet", [False, True])
def test_progress_is_for_terminals(tmp_path, quiet):
    ours, theirs = os.openpty()
    line = [sys.executable, "-m", "equipoise", *map(str, BASE), *(["--json"] if quiet else [])]
    settings = {"env": {**os.environ, "TERM": "xterm"}, "cwd": tmp_path}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=theirs, **settings) as process:
        os.close(theirs)
        seen = b""
        with suppress(OSError):  # Linux reports the end of a pseudo-terminal as an error
            while chunk := os.read(ours, 4096):
                seen += chunk
        process.stdout.read()
    os.close(ours)
    assert process.returncode == 0
    assert (b"100%" in seen) != quiet
    assert (seen == b"") == quiet


def test_help_needs_no_numpy():
    script = """
import sys, types
package = types.ModuleType("equipoise")
package.__path__ = [sys.argv[1]]
sys.modules["equipoise"] = package
from equipoise.cli import main
for arguments in [["simulate", "-h"], ["simulate", "--noise", "x"]]:
    try:
        main(arguments)
    except SystemExit:
        pass
print(sorted({"numpy", "numba", "rich", "matplotlib"} & set(sys.modules)))
"""
    line = [sys.executable, "-c", script, str(Path(eq.__file__).parent)]
    assert subprocess.run(line, capture_output=True, text=True).stdout.splitlines()[-1] == "[]"


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "negative.npy", np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    np.save(tmp_path / "small.npy", np.eye(2))
    np.save(tmp_path / "row.npy", np.ones(3))
    np.save(tmp_path / "words.npy", np.array([["a"]]))
    np.savez(tmp_path / "two.npz", a=np.eye(3))
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "text.npy").write_text("1 2 3")
    (tmp_path / "half.toml").write_text("noise = [1.0,")
    (tmp_path / "few.toml").write_text("dim = 3")
    (tmp_path / "odd.toml").write_text('noise = [1.0]\ndim = 3\nbudget = 20\nlost = "often"')
    (tmp_path / "strange.toml").write_text("noise = [1.0]\ndim = 3\nbudget = 20\nnoises = 3")
    (tmp_path / "onehot.toml").write_text(
        'noise = [1.0]\ndim = 3\nbudget = 20\ncontexts = {kind = "one-hot"}'
    )
    (tmp_path / "plain.toml").write_text("noise = [1.0]\ndim = 3\nbudget = 20")
    (tmp_path / "file").write_text("")
    return sorted(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (["--trials", 0], "--trials 0 is not a whole number from 1", "--trials 1000"),
        (["--budget", 11, "--policy", "trace-ucb"], "at least m(d+1) = 12, not 11", "uniform, oracle"),
        (["--budget", 10**20], "--budget 100000000000000000000 is not", "--budget"),
        (["--budget", 50.5], "--budget 50.5 is not a whole number", "--budget 350"),
        (["--budget", "0", "--costs", "1,2,3"], "--budget 0 is not", "--budget"),
        (["--budget", "-0.5", "--costs", "1,2,3"], "--budget -0.5 is not a positive number", "99.5"),
        (["--budget", 2e7, "--costs", "1,2,3"], "20000000 units, more than 10000000", "--budget"),
        (["--noise", "-1,2,3"], "'-1' in --noise -1,2,3 is not a variance", "at least 0"),
        (["--noise", "1-4,2"], "'1-4' in --noise 1-4,2 is not a variance", "--noise"),
        (["--noise", "1,,2"], "empty entry", "--noise 0.5,1,4"),
        (["--seed", -1], "--seed -1", "--seed 0"),
        (["--workers", 0], "--workers 0", "--workers 2"),
        (["--covariance", "negative.npy"], "not positive definite", "eigenvalues"),
        (["--covariance", "small.npy"], "shape (2, 2), expected (3, 3)", None),
        (["--covariance", "row.npy"], "row.npy: not one matrix of numbers", "ar1:RHO"),
        (["--covariance", "words.npy"], "words.npy: not one matrix of numbers", "ar1:RHO"),
        (["--covariance", "two.npz"], "two.npz: not a file of numpy.save", "ar1:RHO"),
        (["--covariance", "empty.npy"], "empty.npy: not a file of numpy.save", "identity"),
        (["--covariance", "text.npy"], "text.npy: not a file of numpy.save", "identity"),
        (["--covariance", "none.npy"], "none.npy: No such file", "identity"),
        (["--covariance", "ar1:1.5"], "'ar1:1.5'", "between -1 and 1"),
        (["--scenario", "none.toml"], "cannot read the scenario none.toml", "--save-scenario"),
        (["--scenario", "half.toml"], "half.toml: this is not a TOML document", None),
        (["--scenario", "few.toml"], "few.toml: a scenario does not say", None),
        (["--scenario", "odd.toml"], "odd.toml: ", None),
        (["--scenario", "strange.toml"], "strange.toml: a scenario has no 'noises'", "noise"),
        (["--scenario", "small.npy"], "small.npy is not a text file", "TOML"),
        (["--scenario", "onehot.toml", "--covariance", "ar1:0.5"], "kind 'one-hot'", "leave it out"),
        (["--scenario", "plain.toml", "--weights", "1,2"], "2 weights for 3 arms", None),
        (["--costs", "1,0,2"], "'0' in --costs 1,0,2 is not a positive number", "--costs 1,2.5,1"),
        (["--floors", "1,-2,3"], "'-2' in --floors 1,-2,3 is not a whole number", "--floors 0,20,0"),
        (["--caps", "none,x,3"], "'x' in --caps none,x,3 is not a whole number", "--caps none,30,none"),
        (["--caps", "10,10,10"], "the caps leave 20 of the budget of 50 unspent", "raise caps"),
        (["--save-scenario", "none/mine.toml"], "cannot write to none", "another file"),
        (["--student-noise", 2], "has no variance", "above 2"),
        (["--moment", "guessed"], "'guessed'", "--help"),
        (["--lost", 1], "--lost 1 is not a number of at least 0 and below 1", "--lost 0.1"),
        (["--delay", -3], "--delay -3 is not a number of at least 0", "--delay 20"),
        (["--policy", "trace-usb"], "no policy 'trace-usb'", "'trace-ucb'"),
        (["--policy", "uniform", "--policy", "uniform"], "given twice", None),
        (["--output", "file/below"], "cannot write to", "another folder"),
        (["--checkpoint", "file/below"], "cannot write to", "another folder"),
        (["--cluster", "tcp://127.0.0.1:1", "--workers", 2], "--workers is for threads", "leave one out"),
    ],
)
def test_wrong_values_are_found_before_any_work(fail, files, monkeypatch, tmp_path, options, message, hint):
    def work(*_):
        pytest.fail("work was done before the error was found")

    monkeypatch.setattr(running, "run_chunk", work)
    found, hinted = fail(*BASE, *options)
    assert message in found
    assert hint is None or hint in hinted
    assert sorted(tmp_path.iterdir()) == files


@pytest.mark.parametrize("missing", ["--noise", "--dim", "--budget"])
def test_a_scenario_that_is_not_complete(fail, missing):
    place = BASE.index(missing)
    message, hint = fail(*BASE[:place], *BASE[place + 2 :])
    assert message == f"the scenario lacks {missing}"
    assert "--scenario FILE.toml" in hint


def test_a_checkpoint_of_another_simulation(run, fail):
    run(*BASE, "--checkpoint", "kept")
    message, hint = fail(*BASE, "--seed", SEED + 1, "--checkpoint", "kept")
    assert "another seed" in message
    assert "another folder" in hint
