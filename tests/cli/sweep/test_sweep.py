import json

import pytest

import equipoise as eq
from equipoise.cli.sweep.axes import parse_axes, parse_values

BASE = ("sweep", "--noise", "0.5,2", "--budget", "40", "--trials", "4", "--seed", "3")
POLICIES = ("--policy", "uniform", "--policy", "trace-ucb")
SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=40)

OWN = """
import equipoise as eq

@eq.register("test-cli-sweep-own")
def own(arm, trial, settings):
    return (arm.noise_variance + trial.mean_variance * arm.inverse_root_dof) * arm.trace
"""


def test_json_is_the_record_and_the_files_are_there(run, tmp_path):
    result = run(*BASE, *POLICIES, "--over", "dim=2,3,...,5", "--json")
    assert result.exit_code == 0, result.output
    found = eq.sweep(SCENARIO, dim=[2, 3, 4, 5], policies=["uniform", "trace-ucb"], trials=4, seed=3)
    assert [point["at"] for point in json.loads(result.stdout)["points"]] == list(map(dict, found.places))
    keys = {"command", "version", "numerics", "scenario", "trials", "seed", "axes", "joined", "points"}
    assert set(json.loads(result.stdout)) == keys
    folder = tmp_path / "equipoise-sweep"
    names = {path.stem for path in folder.iterdir()}
    assert names == {"checkpoint", "differences", "losses", "report", "scenario", "sweep"}


def test_tables_settings_and_the_line_to_type_again_are_printed(run):
    result = run(*BASE, *POLICIES, "--over", "dim=2,4", "--over", "width=1,2", "--output", "here")
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    for expected in (
        "Largest mean error (± standard error) dim width uniform trace-ucb",
        "2 1 ",
        "4 2 ",
        "minus that of uniform, paired by trial; below 0 is better",
        "Written: here/sweep.png",
        "seed 3 · 4 trials of every policy at every point",
        "Kept: trials in here/checkpoint",
        "Run it again: equipoise sweep --noise 0.5,2",
    ):
        assert expected in words


def test_earlier_files_are_replaced_only_if_asked(run, fail):
    line = (*BASE, "--policy", "uniform", "--over", "dim=2")
    assert run(*line).exit_code == 0
    message, hint = fail(*line)
    assert "are there from an earlier run" in message
    assert "--overwrite" in hint
    assert run(*line, "--overwrite").exit_code == 0


def test_many_policies_take_a_row_each(run, monkeypatch):
    specs = [f"trace-ucb:width={width}" for width in (0.25, 0.5, 2, 4, 8)]
    typed = [word for spec in specs for word in ("--policy", spec)]
    result = run(*BASE, *typed, "--over", "dim=2", "--loss", "median_max")
    assert result.exit_code == 0, result.output
    assert "Median worst error" in result.stdout
    assert result.stdout.count("trace-ucb:width=8 ") >= 2


def test_an_own_policy_from_a_file(run, tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    result = run(*BASE, "--import", "own.py", "--policy", "test-cli-sweep-own", "--over", "dim=2,3")
    assert result.exit_code == 0, result.output
    assert "test-cli-sweep-own" in (tmp_path / "equipoise-sweep" / "sweep.svg").read_text()


def test_a_scenario_from_a_file(run, tmp_path):
    (tmp_path / "mine.toml").write_text(SCENARIO.to_toml())
    line = ("sweep", "--scenario", "mine.toml", "--policy", "uniform", "--trials", "2", "--json")
    record = json.loads(run(*line, "--lost", "0.1", "--over", "contexts=gaussian,skewed:shape=2").stdout)
    assert [point["at"]["contexts"] for point in record["points"]] == ["gaussian", "skewed:shape=2"]
    assert record["points"][1]["scenario"]["contexts"] == {"kind": "skewed", "shape": 2.0}
    assert record["points"][1]["scenario"]["lost"] == 0.1


def test_ctrl_c_says_what_is_kept(run, monkeypatch):
    def interrupted(scenario, *, progress, **_):
        progress("dim = 3", 1.0, 4.0)
        raise KeyboardInterrupt

    monkeypatch.setattr("equipoise.sweep", interrupted, raising=False)
    result = run(*BASE, "--over", "dim=2,3")
    assert result.exit_code == 130
    assert "Stopped at 25 % (dim = 3)." in result.stderr
    assert "kept in equipoise-sweep/checkpoint: type the same line again" in result.stderr


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("5", [5]),
        ("5,10", [5, 10]),
        ("5,10,...,25", [5, 10, 15, 20, 25]),
        ("1,…,4", [1, 2, 3, 4]),
        ("0.1, 0.2, ..., 0.5", [0.1, 0.2, 0.3, 0.4, 0.5]),
        ("3,2,...,0,9", [3, 2, 1, 0, 9]),
        ("(0.1,1),(1,1)", [(0.1, 1), (1, 1)]),
        ("(0.1,1)", [(0.1, 1)]),
        ("0.5,theory", [0.5, "theory"]),
        ("true,false", [True, False]),
    ],
)
def test_values_as_they_are_typed(text, values):
    assert parse_values("name", text) == values


def test_pieces_are_built():
    axes = parse_axes(["contexts=student:dof=7,one-hot", "delay=none,delay:mean=3", "covariance=ar1:0.5"])
    assert axes["contexts"] == [eq.StudentContexts(dof=7), eq.OneHotContexts()]
    assert axes["delay"] == [None, eq.Delay(mean=3)]
    assert axes["covariance"] == ["ar1:0.5"]


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        ((), "nothing is swept", "--over dim=5,10,20"),
        (("--over", "dim"), "--over dim is not NAME=V,V,…", "--over dim=5"),
        (("--over", "dim=2", "--over", "dim=3"), "--over dim is given twice", "at once"),
        (("--over", "dim=2,,3"), "nothing between two commas", "--over dim=5"),
        (("--over", "dim=5,10,...,22"), "steps of 5 from 10 do not lead to 22", "--over dim=5"),
        (("--over", "dim=...,4"), "dots stand between numbers", "--over dim=5"),
        (("--over", "dim=3,6,..15"), "three dots stand between commas, not ..15", "--over dim=5"),
        (("--over", "dim=3,10001"), "10001 is more than 10000", "--over dim=5"),
        (("--over", "dmi=2"), "the scenario lacks --dim", "--dim 5"),
        (("--dim", "2", "--over", "dmi=2"), "a field 'dmi'", "did you mean 'dim'?"),
        (("--over", "dim=2,30"), "at dim = 30: trace-ucb needs a budget of at least", "uniform"),
        (("--dim", "2", "--over", "delay=0,10"), "0 is no kind of delay", "delay.mean=0,10,20"),
        (("--dim", "2", "--over", "contexts=odd"), "no contexts of kind 'odd'", "kinds: binary, "),
        (("--dim", "2", "--over", "width=1", "--policy", "uniform"), "a field 'width'", "fields: "),
    ],
)
def test_wrong_values_are_named_with_a_hint(fail, arguments, message, hint):
    found, advice = fail(*BASE, *arguments)
    assert message in found
    assert hint in advice


def test_an_output_that_is_a_file_is_refused(fail, tmp_path):
    (tmp_path / "taken").write_text("")
    message, _ = fail(*BASE, "--over", "dim=2", "--output", "taken")
    assert "cannot write to taken" in message
