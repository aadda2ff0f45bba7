"""``equipoise plan --budget`` and ``--scenario``."""

import json

import pytest

import equipoise as eq

ORIGIN = {"command": "plan", "version": eq.__version__, "numerics": eq.NUMERICS}
BASE = ("plan", "--noise", "0.5,1,1-4", "--dim", "5")
DOSES = eq.Scenario(
    noise=(1.0, 1.5, 2.0, 4.0),
    dim=3,
    budget=100,
    arms=("placebo", "low", "middle", "high"),
    accrual=eq.Accrual(rate=4),
    delay=eq.Delay(mean=13, least=12),
    closures=(eq.Closure("high", after=60),),
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "doses.toml"
    path.write_text(DOSES.to_toml(), encoding="utf-8")
    return path


def test_the_error_of_a_budget(run):
    text = run(*BASE, "--budget", 193).stdout
    assert text.startswith("Expected squared error of 193 units (the worst arm): 3 arms, 5 features")
    assert "0.0714 – 0.157" in text
    assert (
        "To err as little, a uniform allocation needs 318 units: the optimal saves 125 units (39 %)." in text
    )
    record = json.loads(run(*BASE, "--budget", 193, "--json").stdout)
    plan = eq.plan(noise=[0.5, 1.0, (1.0, 4.0)], dim=5, budget=193)
    assert record == json.loads(json.dumps({**ORIGIN, **plan.record()}))


def test_a_scenario_s_budget_is_planned_for(run, file):
    line = ("plan", "--scenario", file, "--policy", "trace-ucb", "--trials", 20, "--seed", 3)
    found = json.loads(run(*line, "--json").stdout)
    plan = eq.plan(DOSES, policies=["trace-ucb"], trials=20, seed=3)
    assert found == json.loads(json.dumps({**ORIGIN, **plan.record()}))
    text = run(*line).stdout
    assert all(arm in text.partition("oracle")[0] for arm in DOSES.arms)
    assert "does not know closures" in text
    assert "By simulation, 20 trials, seed 3" in text
    assert "weeks" in text


def test_options_take_precedence_over_the_file(run, file):
    options = ("--target", 0.3, "--lost", "0,0,0,0.2", "--objective", "mean", "--noise", "1,1,1,1")
    found = json.loads(run("plan", "--scenario", file, *options, "--json").stdout)
    plan = eq.plan(DOSES, target=0.3, lost=[0, 0, 0, 0.2], objective="mean", noise=[1.0] * 4)
    assert found == json.loads(json.dumps({**ORIGIN, **plan.record()}))


def test_the_help_says_that_an_intercept_counts(run):
    for command in ("plan", "simulate"):
        text = " ".join(run(command, "--help").stdout.split())
        assert "an intercept counts as one of them" in text


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        (BASE, "neither --target nor --budget", "--budget 300"),
        ((*BASE, "--target", 0.1, "--budget", 300), "two questions", "--target 0.1 asks"),
        ((*BASE, "--budget", "many"), "--budget many is not a whole number", "--budget 300"),
        ((*BASE, "--budget", "99.5"), "--budget 99.5 is not a whole number", "--budget 300"),
        ((*BASE, "--budget", 17), "a budget of 17 is below m(d+1) = 18", "no allocation"),
        (("plan", "--budget", 300), "the plan lacks --noise and --dim", "--scenario"),
        (
            (*BASE, "--budget", 300, "--lost", "0.1,0.2"),
            "--lost has 2 numbers for 3 arms",
            "one share an arm",
        ),
        ((*BASE, "--budget", 300, "--lost", 1), "--lost 1 is not a number", "--lost 0.1"),
        (("plan", "--scenario", "nowhere.toml"), "cannot read the scenario nowhere.toml", "--save-scenario"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_questions_are_refused(fail, line, message, hint):
    found, hinted = fail(*line)
    assert message in found
    assert hint in hinted
