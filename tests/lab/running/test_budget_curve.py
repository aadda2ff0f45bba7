import numpy as np
import pytest

import equipoise as eq
from equipoise.lab.results.policy import objective_estimate

NOISE, DIM, TARGET = [0.1, 1.0, 3.0], 3, 0.15
TRIALS, SEED = 400, 5


def find(policy, **changes):
    asked = {"noise": NOISE, "dim": DIM, "target": TARGET, "trials": TRIALS, "seed": SEED, **changes}
    (found,) = eq.plan(policies=[policy], **asked).simulated
    return found


@pytest.fixture(scope="module")
def trace_ucb():
    return find("trace-ucb")


@pytest.mark.parametrize("policy", ["oracle", "uniform"])
@pytest.mark.parametrize(
    ("objective", "weights"), [("max", 1.0), ("max", [5.0, 1.0, 0.5]), ("mean", 1.0), (2.5, [1.0, 3.0, 1.0])]
)
def test_static_policies_need_what_the_closed_form_says(policy, objective, weights):
    found = find(policy, objective=objective, weights=weights, trials=1_500)
    exact = eq.plan(noise=NOISE, dim=DIM, target=TARGET, objective=objective, weights=weights)[policy].budget
    low, high = found.budget_range
    # The range has 2 standard errors on each side; 6 and a unit of rounding fail once in 10⁸ seeds.
    assert (
        found.budget - 3 * (found.budget - low) - 1 <= exact <= found.budget + 3 * (high - found.budget) + 1
    )
    # ... and it says something. Widest for the oracle, whose mild arm gets few units and heavy tails.
    assert high - low < 0.25 * exact


def test_an_adaptive_policy_lies_between(trace_ucb):
    plan = eq.plan(noise=NOISE, dim=DIM, target=TARGET)
    assert plan["oracle"].budget * 0.95 < trace_ucb.budget < plan["uniform"].budget * 0.9
    assert trace_ucb.uniform_budget == plan["uniform"].budget
    assert trace_ucb.saving == plan["uniform"].budget - trace_ucb.budget > 0


def test_the_budget_reaches_the_target(trace_ucb):
    scenario = eq.GaussianScenario(NOISE, DIM, trace_ucb.budget)
    loss = eq.simulate(scenario, ["trace-ucb"], trials=4_000, seed=SEED + 1)["trace-ucb"].expected_max()
    # Other random numbers: both errors count; 6 of them fail once in 10⁸ seeds.
    spread = np.hypot(loss.stderr, TARGET * 0.06)
    assert abs(loss.value - TARGET) < 6 * spread


def test_the_curve_is_simulated_and_surrounds_the_answer(trace_ucb):
    budgets = [n for n, _ in trace_ucb.curve]
    assert budgets == sorted(set(budgets))
    assert budgets[0] < trace_ucb.budget < budgets[-1]
    n, loss = trace_ucb.curve[0]
    assert loss.trials == TRIALS
    # The policy never sees coefficients, and they only enter through the ridge's small bias.
    again = eq.simulate(eq.GaussianScenario(NOISE, DIM, n), ["trace-ucb"], trials=TRIALS, seed=SEED)
    assert loss.value == pytest.approx(again["trace-ucb"].expected_max().value, rel=0.01)


def test_more_trials_narrow_the_range(trace_ucb):
    few = find("trace-ucb", trials=60)
    assert np.ptp(few.budget_range) > np.ptp(trace_ucb.budget_range)


def test_seeds_and_nothing_else_decide(trace_ucb):
    assert find("trace-ucb", workers=1) == trace_ucb
    assert find("trace-ucb", seed=SEED + 1).curve != trace_ucb.curve


@pytest.mark.parametrize("scale", [1e-8, 1e6])
def test_the_unit_of_the_outcome_does_not_matter(trace_ucb, scale):
    scaled = find("trace-ucb", noise=[scale * v for v in NOISE], target=scale * TARGET)
    assert abs(scaled.budget - trace_ucb.budget) <= 1


def test_a_target_that_every_budget_reaches():
    found = find("trace-ucb", target=1e4)
    assert found.budget == found.budget_range[0] == len(NOISE) * (DIM + 1)


def test_a_policy_that_needs_many_times_more_than_uniform():
    wrong = tuple(NOISE[::-1])
    found = find(eq.Oracle(noise=wrong), target=0.5)
    assert found.policy == eq.Oracle(noise=wrong).spec
    assert found.saving == found.uniform_budget - found.budget < 0
    # The noisiest arm gets 0.1/4.1 of the units beyond d + 1 an arm: dσ²/(k−d−1) is 0.5 at n = 750.
    low, high = found.budget_range
    assert found.budget > 5 * found.uniform_budget
    assert found.budget - 3 * (found.budget - low) < 750 < found.budget + 3 * (high - found.budget)
    assert high - low < 0.3 * 750
    # Simulated on both sides of the answer, not extrapolated.
    assert any(0.85 * found.budget < n < found.budget for n, _ in found.curve)


def test_one_trial_has_no_error_to_show():
    record = find("uniform", trials=1).record()
    assert record["curve"]
    assert all(point["stderr"] is None for point in record["curve"])


def test_progress_counts_budgets():
    calls = []
    found = find("uniform", trials=20, progress=lambda done, total: calls.append((done, total)))
    assert [done for done, _ in calls] == list(range(1, len(found.curve) + 1))
    assert all(done <= total for done, total in calls)


def test_the_error_of_a_norm_is_that_of_its_influence():
    scenario = eq.GaussianScenario(NOISE, DIM, 60)
    (result,) = eq.simulate(scenario, ["uniform"], trials=2_000, seed=SEED).policies.values()
    mean = objective_estimate(result, "mean")
    assert (mean.value, mean.stderr) == pytest.approx((result.mean().value, result.mean().stderr))
    norm = objective_estimate(result, 3.0)
    errors, rng = result.errors, np.random.default_rng(SEED)
    drawn = [errors[rng.integers(0, len(errors), len(errors))].mean(axis=0) for _ in range(400)]
    bootstrap = np.std([np.mean(means**3.0) ** (1 / 3) for means in drawn])
    assert norm.value == pytest.approx(np.mean(errors.mean(axis=0) ** 3.0) ** (1 / 3))
    # A standard deviation of 400 draws is known to 1/√800 = 3.5 %.
    assert norm.stderr == pytest.approx(bootstrap, rel=0.2)


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"target": 0.0}, eq.errors.InvalidArgument),
        ({"trials": 0}, eq.errors.InvalidArgument),
        ({"noise": [-1.0, 1.0]}, eq.errors.InvalidArgument),
        ({"target": 1e-7}, eq.errors.InvalidArgument),
        ({"seed": -1}, eq.errors.InvalidArgument),
        ({"costs": [-1.0, -2.0, -1.0]}, eq.errors.InvalidArgument),
        ({"costs": [1.0, 0.0, 1.0]}, eq.errors.InvalidArgument),
        ({"costs": [np.inf] * 3}, eq.errors.InvalidArgument),
    ],
)
def test_wrong_values(changes, error):
    with pytest.raises(error):
        find("uniform", **changes)


def test_an_unknown_policy():
    with pytest.raises(eq.errors.UnknownPolicy):
        find("trace-usb")


def test_costs_scale_the_budget_and_nothing_else():
    one, other = (
        find("trace-ucb", objective="mean", trials=100, costs=costs)
        for costs in ([1.0, 3.0, 2.0], [4.0, 12.0, 8.0])
    )
    assert other.budget == 4 * one.budget
    assert [loss for _, loss in other.curve] == [loss for _, loss in one.curve]
    assert [n for n, _ in other.curve] == [4 * n for n, _ in one.curve]
    exact = eq.plan(noise=NOISE, dim=DIM, target=TARGET, objective="mean", costs=[4.0, 12.0, 8.0])
    assert other.uniform_budget == exact["uniform"].budget
    assert exact["oracle"].budget * 0.8 < other.budget < other.uniform_budget
