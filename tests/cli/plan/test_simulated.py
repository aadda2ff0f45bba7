import json
import sys

import pytest

import equipoise as eq
from equipoise.lab.running import planning
from equipoise.lab.running import simulate as running

BASE = ("plan", "--noise", "0.1,1,3", "--dim", 3, "--target", 0.2, "--trials", 60, "--seed", 11)


def simulated_budget(policy, **asked):
    (found,) = eq.plan(policies=[policy], **asked).simulated
    return found


ASKED = {"noise": [0.1, 1.0, 3.0], "dim": 3, "target": 0.2, "trials": 60, "seed": 11}


def test_json_has_the_curve(run):
    found = json.loads(run(*BASE, "--policy", "trace-ucb", "--json").stdout)
    simulated = simulated_budget("trace-ucb", **ASKED)
    assert found.pop("simulated") == json.loads(json.dumps({"trace-ucb": simulated.record()}))
    assert len(simulated.curve) >= 5
    plan = eq.plan(noise=ASKED["noise"], dim=3, target=0.2)
    origin = {"command": "plan", "version": eq.__version__, "numerics": eq.NUMERICS}
    assert found == json.loads(json.dumps({**origin, **plan.record()}))


def test_objective_and_weights_reach_the_simulation(run):
    options = ("--objective", "mean", "--weights", "1,2,5", "--policy", "var-ucb", "--json")
    found = json.loads(run(*BASE, *options).stdout)["simulated"]["var-ucb"]
    simulated = simulated_budget("var-ucb", **ASKED, objective="mean", weights=[1, 2, 5])
    assert found == json.loads(json.dumps(simulated.record()))


def test_the_table_shows_budgets_and_curves(run):
    result = run(*BASE, "--policy", "trace-ucb:width=0.5", "--policy", "uniform")
    assert result.exit_code == 0
    assert result.stderr == ""
    text = result.stdout
    for policy in ("trace-ucb:width=0.5", "uniform"):
        found = simulated_budget(policy, **ASKED)
        low, high = found.budget_range
        rows = [line.split() for line in text.splitlines() if line.startswith(policy)]
        assert [policy, str(found.budget), str(low), "–", str(high), str(found.saving)] in [
            r[:6] for r in rows
        ]
        curve = text.split(f"Budget curve of {policy}")[1].split("\n\n")[0]
        shown = [line.split()[0] for line in curve.splitlines() if line.split() and line.split()[0].isdigit()]
        assert shown == [str(n) for n, _ in found.curve]
    assert "60 trials a budget, seed 11" in text


def test_guesses_are_simulated_at_their_middle(run):
    def budgets(noise):
        line = ("plan", "--noise", noise, *BASE[3:], "--policy", "uniform", "--json")
        return json.loads(run(*line).stdout)["simulated"]

    assert budgets("0.1,1,1-9") == budgets("0.1,1,3")


def test_without_a_policy_nothing_is_simulated(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "equipoise.lab.running.budget_curve", None)
    result = run(*BASE)
    assert result.exit_code == 0
    assert "simulation" not in result.stdout


@pytest.mark.parametrize(
    ("options", "message", "hint"),
    [
        (["--policy", "uniform", "--policy", "trace-usb"], "no policy 'trace-usb'", "'trace-ucb'"),
        (["--policy", "uniform", "--trials", 0], "--trials 0", "--trials 2000"),
        (["--cluster", "tcp://127.0.0.1:1"], "nothing to simulate", "--policy trace-ucb"),
        (["--policy", "uniform", "--target", "1e-6"], "too many to simulate", "larger target"),
    ],
)
def test_wrong_values_are_found_before_any_work(fail, monkeypatch, options, message, hint):
    def work(*_):
        pytest.fail("work was done before the error was found")

    monkeypatch.setattr(running, "run_chunk", work)
    found, hinted = fail(*BASE, *options)
    assert message in found
    assert hint in hinted


def test_ctrl_c_says_what_is_known(run, monkeypatch):
    real = planning.simulated

    def stopped(plan, policy, **settings):
        if policy == "trace-ucb":
            raise KeyboardInterrupt
        return real(plan, policy, **settings)

    monkeypatch.setattr(planning, "simulated", stopped)
    result = run(*BASE, "--policy", "uniform", "--policy", "trace-ucb")
    assert result.exit_code == 130
    assert "allocation" in result.stdout
    assert "Budget curve of uniform" in result.stdout
    assert result.stderr.startswith("Stopped. Finished: the closed form, and uniform by simulation.")
    assert "Nothing is kept on disk" in result.stderr
