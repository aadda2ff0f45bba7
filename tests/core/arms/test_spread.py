"""What noise that depends on the context does to an arm's error, as policies see it."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import InvalidPolicy

SPEC = "trace-ucb:spread=unequal"


def run(rng, policy=SPEC, *, dim=3, budget=60, moment=True, spread=None, arms=("a", "b")):
    problem = eq.Problem(list(arms), dim, budget=budget, moment=np.eye(dim) if moment else None)
    experiment = eq.Experiment(problem, policy, seed=2)
    while experiment.remaining:
        x = rng.normal(size=dim)
        unit = experiment.ask(x)
        deviation = 1.0 if spread is None else np.sqrt(spread(unit.arm, x))
        experiment.tell(unit.id, float(x.sum() + deviation * rng.normal()))
    return experiment


def by_definition(experiment, arm, moments):
    """The spread from the rows: recursive residuals by a fit of all rows before each."""
    contexts, outcomes = experiment.data(arm)
    dim = contexts.shape[1]
    squares = weights = 0.0
    for t in range(dim + 1, len(outcomes)):
        before, x = contexts[:t], contexts[t]
        inverse = np.linalg.inv(before.T @ before)
        residual = outcomes[t] - x @ inverse @ before.T @ outcomes[:t]
        h = 1 + x @ inverse @ x
        weight = x @ np.linalg.solve(moments[t], x) / dim / h
        squares, weights = squares + weight * residual**2 / h, weights + weight
    coef = np.linalg.lstsq(contexts, outcomes, rcond=None)[0]
    variance = np.sum((outcomes - contexts @ coef) ** 2) / (len(outcomes) - dim)
    return (squares / variance + 5) / (weights + 5)


@pytest.mark.parametrize("policy", [SPEC, "trace-gain:spread=unequal"])
def test_it_is_the_weighted_mean_of_recursive_residuals(policy):
    experiment = run(np.random.default_rng(1), policy)
    for i, arm in enumerate("ab"):
        expected = by_definition(experiment, arm, [np.eye(3)] * 60)
        assert experiment._state.arms["spread"][i] == pytest.approx(expected, rel=1e-9)


def test_with_a_learned_moment_lengths_are_those_known_at_the_time():
    experiment = run(np.random.default_rng(2), moment=False)
    state = experiment._state
    for i, arm in enumerate("ab"):
        seen = np.flatnonzero(state.rows["arm"][:60] == i)
        moments = [state.contexts[: t + 1].T @ state.contexts[: t + 1] / (t + 1) for t in seen]
        assert state.arms["spread"][i] == pytest.approx(by_definition(experiment, arm, moments), rel=1e-8)


def test_others_do_not_keep_it():
    for policy in ("trace-ucb", "trace-gain", "uniform"):
        experiment = run(np.random.default_rng(3), policy, spread=lambda arm, x: x @ x)
        assert np.all(experiment._state.arms["spread"] == 1.0)
        assert experiment._state.spreads.shape == (0,)


def test_it_survives_corrections_copies_and_arms_that_join():
    experiment = run(np.random.default_rng(4), budget=50)
    before = experiment._state.arms["spread"].copy()
    outcome = float(experiment._state.outcomes[20])
    experiment.correct(21, outcome + 10)
    assert np.any(experiment._state.arms["spread"] != before)
    experiment.correct(21, outcome)
    np.testing.assert_array_equal(experiment._state.arms["spread"], before)
    for other in (copy.deepcopy(experiment), pickle.loads(pickle.dumps(experiment))):
        np.testing.assert_array_equal(other._state.spreads, experiment._state.spreads)
    problem = eq.Problem(["a", "b"], 2, budget=60, moment=np.eye(2))
    growing = eq.Experiment(problem, SPEC)
    rng = np.random.default_rng(5)
    while growing.remaining:
        if growing.asked == 30:
            kept = growing._state.spreads.copy()
            growing.add_arm("c")
            np.testing.assert_array_equal(growing._state.spreads, [*kept, [0.0, 0.0]])
            assert growing._state.arms["spread"][2] == 1.0
        growing.tell(growing.ask(rng.normal(size=2)).id, float(rng.normal()))
    assert growing._state.spreads[2, 1] > 0


def test_it_finds_which_arm_suffers():
    """One arm's noise grows with the length of the context, the other's falls: the first gets more units.

    Both have noise variance 1 on average. In 40 trials the mean share of the first arm is above a half by
    about nine standard errors, and falls below it by chance less than once in 10⁸.
    """
    rng = np.random.default_rng(6)

    def spread(arm, x):
        return x @ x / 3 if arm == "a" else 0.55 / (0.2 + (x @ x / 3) ** 2) + 0.1

    share = {SPEC: [], "trace-ucb": []}
    for seed in rng.integers(2**32, size=40):
        for policy, shares in share.items():
            experiment = run(np.random.default_rng(seed), policy, budget=150, spread=spread)
            shares.append(experiment.counts["a"] / 150)
    gap = np.array(share[SPEC]) - np.array(share["trace-ucb"])
    assert gap.mean() > 0.05
    assert gap.mean() > 5 * gap.std() / np.sqrt(len(gap))


def test_there_are_two_words():
    with pytest.raises(InvalidPolicy, match="spread='robust' is not known"):
        eq.TraceUCB(spread="robust")
    with pytest.raises(InvalidPolicy, match="use 'constant' or 'unequal'"):
        eq.TraceGain(spread="yes")
    assert eq.parse_policy("trace-gain:spread=unequal") == eq.TraceGain(spread="unequal")
