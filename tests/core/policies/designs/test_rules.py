"""The rules of the designs: their probabilities, against formulas, exact chains and plain NumPy."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chisquare

import equipoise as eq
from equipoise.core.choice.decide import CHOOSE
from equipoise.core.experiment.asking import Arrival, ask_one
from equipoise.core.experiment.record import first_record

TWO, THREE = ("a", "b"), ("a", "b", "c")


class Told:
    """An experiment whose arms are told from outside; what the rule would have drawn is read."""

    def __init__(self, spec, arms=TWO, dim=1, budget=200, seed=3, **problem):
        problem = eq.Problem(arms, dim, budget=budget, moment=np.eye(dim), **problem)
        self.record = first_record(problem, eq.parse_policy(spec), seed)
        self.contexts, self.path = [], []

    def give(self, x, arm=CHOOSE):
        """Probabilities of all arms, and the unit in ``arm``."""
        self.record, unit = ask_one(self.record, Arrival(np.array(x, float), told=arm))
        self.contexts.append(np.array(x, float))
        self.path.append(unit.arms.index(unit.arm))
        return np.array(list(unit.propensities.values()))


def imbalance(spec, units):
    """Exact distribution of the first arm's units after so many, by the compiled rule's probabilities."""
    first = np.zeros((units, units + 1))  # P(first arm) after t units, of which k are the first arm's
    for k in range(units):
        trial = Told(spec, budget=units)
        for t in range(units):
            arm = 0 if t < k else 1
            first[t, min(t, k)] = trial.give([1.0], arm)[0]
    chances = np.zeros(units + 1)
    chances[0] = 1.0
    for t in range(units):
        moves = chances * first[t]
        chances = chances - moves
        chances[1:] += moves[:-1]
    return 2 * np.arange(units + 1) - units, chances


@pytest.mark.parametrize(("units", "even", "mean"), [(10, 0.530001, 1.147081), (50, 0.500495, 1.328842)])
def test_efron_has_its_published_imbalance(units, even, mean):
    difference, chances = imbalance("efron", units)
    assert chances[difference == 0][0] == pytest.approx(even, abs=5e-7)
    assert chances @ np.abs(difference) == pytest.approx(mean, abs=5e-7)


@pytest.mark.parametrize(("units", "mean"), [(10, 1.311287), (100, 4.562621)])
def test_the_urn_has_its_published_imbalance(units, mean):
    difference, chances = imbalance("wei-urn", units)
    assert chances @ difference**2 == pytest.approx(units / 3, rel=1e-12)
    assert chances @ np.abs(difference) == pytest.approx(mean, abs=5e-7)


def test_the_urn_of_many_arms():
    trial = Told("wei-urn:alpha=2:beta=0.5", THREE)
    for arm in (0, 0, 1, 0):
        trial.give([1.0], arm)
    balls = np.array([2 + 0.5 * 1, 2 + 0.5 * 3, 2 + 0.5 * 4])
    np.testing.assert_allclose(trial.give([1.0]), balls / balls.sum())


def test_efron_of_many_arms():
    trial = Told("efron:p=0.7", THREE)
    np.testing.assert_allclose(trial.give([1.0], 0), 1 / 3)
    np.testing.assert_allclose(trial.give([1.0], 1), [0.15, 0.425, 0.425])  # b and c share 0.7 and 0.15
    np.testing.assert_allclose(trial.give([1.0], 2), [0.15, 0.15, 0.7])
    np.testing.assert_allclose(trial.give([1.0]), 1 / 3)


def test_draws_follow_the_probabilities():
    """χ² of drawn arms against the sum of their probabilities; fixed seed, fails by chance once in 1,000."""
    for spec in ("complete", "wei-urn:alpha=3:beta=1", "neyman-balanced:gamma=1"):
        rng, expected, seen = np.random.default_rng(5), np.zeros(3), np.zeros(3)
        trial = Told(spec, THREE, budget=1500)
        for _ in range(1500):
            expected += trial.give(rng.normal(size=1))
            seen[trial.path[-1]] += 1
        assert chisquare(seen, expected).pvalue > 1e-3


# Blocks


def test_every_order_of_a_block_is_equally_likely():
    orders = set(itertools.permutations([0, 0, 1, 1]))
    for order in orders:
        trial, chance = Told("permuted-blocks"), 1.0
        for arm in order:
            chance *= trial.give([1.0], arm)[arm]
        assert chance == pytest.approx(1 / len(orders))
        np.testing.assert_allclose(trial.give([1.0]), 0.5)  # the next block


def test_blocks_are_full_in_every_stratum():
    trial, rng = (
        Told("permuted-blocks:per_arm=2:columns=0,2", THREE, dim=3, budget=400),
        np.random.default_rng(1),
    )
    for _ in range(400):
        trial.give(rng.normal(size=3))
    contexts, path = np.array(trial.contexts), np.array(trial.path)
    strata = 2 * (contexts[:, 0] > 0) + (contexts[:, 2] > 0)
    for stratum in range(4):
        units = path[strata == stratum]
        for begin in range(0, len(units) - 5, 6):
            assert sorted(units[begin : begin + 6]) == [0, 0, 1, 1, 2, 2]


def test_blocks_of_several_sizes():
    trial = Told("permuted-blocks:per_arm=1,3", budget=3000)
    sizes = []
    for _ in range(3000):
        before = trial.record.state.memory[0].sum()
        trial.give([1.0])
        if before == 0:
            sizes.append(trial.record.state.memory[0].sum() + 1)
    assert set(sizes) == {2.0, 6.0}
    # 750 blocks of both sizes are expected alike; six standard errors.
    assert abs(np.mean(np.array(sizes) == 2.0) - 0.5) < 0.12


def test_a_told_arm_without_a_place_begins_a_new_block():
    trial = Told("permuted-blocks:per_arm=1", THREE)
    trial.give([1.0], 0)
    trial.give([1.0], 0)
    np.testing.assert_allclose(trial.give([1.0]), [0.0, 0.5, 0.5])


# Minimisation


def unevenness(counts, measure):
    return np.ptp(counts) if measure == "range" else np.var(counts)


@pytest.mark.parametrize("measure", ["range", "variance"])
def test_minimisation_is_the_rule_of_pocock_and_simon(measure):
    cuts = {0: (0.0,), 2: (-0.5, 0.5)}
    spec = f"minimisation:p=0.7:measure={measure}:columns=0,2:cuts=(0.0,),(-0.5,0.5)"
    trial, rng = Told(spec, THREE, dim=3), np.random.default_rng(2)
    for _ in range(60):
        x = rng.normal(size=3)
        totals = np.zeros(3)
        for column, own in cuts.items():
            level = np.searchsorted(own, x[column])
            alike = [np.searchsorted(own, other[column]) == level for other in trial.contexts]
            counts = np.bincount(np.array(trial.path, int)[alike], minlength=3) if any(alike) else np.zeros(3)
            for arm in range(3):
                totals[arm] += unevenness(counts + np.eye(3)[arm], measure)
        best = np.isclose(totals, totals.min())
        expected = np.where(best, (0.7 + (best.sum() - 1) * 0.15) / best.sum(), 0.15)
        np.testing.assert_allclose(trial.give(x, int(rng.integers(3))), expected, err_msg=f"{totals}")


def test_minimisation_balances_margins():
    """Spread of the margins, against complete randomisation; seeds are fixed, and the gap is fourfold."""
    spread = {}
    for spec in ("complete", "minimisation:p=0.9"):
        trial, rng = Told(spec, THREE, dim=4, budget=300), np.random.default_rng(3)
        for _ in range(300):
            trial.give(rng.choice([0.0, 1.0], size=4))
        contexts, path = np.array(trial.contexts), np.array(trial.path)
        spread[spec] = np.mean([np.ptp(np.bincount(path[column > 0], minlength=3)) for column in contexts.T])
    assert spread["minimisation:p=0.9"] < 0.5 * spread["complete"]


# Atkinson's biased coin


def sensitivities(contexts, path, x, arms):
    """D_A-optimal sensitivities in the model with an effect an arm and common slopes, by pseudo-inverses."""

    def row(x, arm):
        return np.concatenate([np.eye(arms)[arm], [1.0], x])

    design = np.array([row(z, arm) for z, arm in zip(contexts, path, strict=True)])
    contrasts = np.zeros((design.shape[1], arms - 1))
    contrasts[0], contrasts[1:arms] = -1.0, np.eye(arms - 1)
    inverse = np.linalg.pinv(design.T @ design)
    middle = np.linalg.inv(contrasts.T @ inverse @ contrasts)
    side = inverse @ contrasts
    return np.array([row(x, arm) @ side @ middle @ side.T @ row(x, arm) for arm in range(arms)])


@pytest.mark.parametrize("arms", [2, 4])
@pytest.mark.parametrize("intercept", [False, True])
def test_da_optimal_has_atkinsons_probabilities(arms, intercept):
    dim, rng = 4, np.random.default_rng(4)
    trial = Told("da-optimal", tuple("abcd"[:arms]), dim=dim, budget=200)
    for t in range(150):
        x = rng.normal(size=dim)
        if intercept:
            x[1] = 1.0
        found = trial.give(x, int(rng.integers(arms)))
        if t >= 20:
            expected = sensitivities(trial.contexts[:-1], trial.path[:-1], x, arms)
            # A little stands for information about contrasts before there is any.
            np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-4)


def loss(contexts, path):
    """Units that imbalance costs: aᵀF(FᵀF)⁻¹Fᵀa with F = (1, x) and a = ±1."""
    rows = np.column_stack([np.ones(len(contexts)), contexts])
    signs = 1.0 - 2.0 * np.array(path)
    fitted = rows @ np.linalg.lstsq(rows, signs, rcond=None)[0]
    return float(signs @ fitted)


def losses(spec, dim, units, trials):
    found = []
    for seed in range(trials):
        rng = np.random.default_rng(seed)
        trial = Told(spec, dim=dim, budget=units, seed=seed)
        for _ in range(units):
            trial.give(rng.normal(size=dim))
        found.append(loss(trial.contexts, trial.path))
    return np.mean(found), np.std(found) / math.sqrt(trials)


def test_da_optimal_loses_a_fifth_of_what_complete_randomisation_does():
    """q against q/5, four standard errors of 150 fixed trials: fails by chance once in 10,000."""
    mean, error = losses("complete", 4, 100, 150)
    assert abs(mean - 5.0) < 4 * error
    mean, error = losses("da-optimal", 4, 100, 150)
    assert abs(mean - 1.0) < 4 * error + 0.1  # q/5 is the limit of many units


# The walk


def test_the_walk_of_two_arms_is_that_of_the_source():
    dim, rng = 3, np.random.default_rng(6)
    trial = Told("balancing-walk:slack=1.5", dim=dim)
    # Which arm is the first half of the tree is up to the seed; it has the + sign.
    order = trial.record.state.arms["order"]
    for t in range(120):
        x = rng.normal(size=dim)
        found = trial.give(x, int(rng.integers(2)))
        if t > dim:
            rows = np.column_stack([np.ones(t), np.array(trial.contexts[:-1])])
            signs = np.where(order[trial.path[:-1]] == 0, 1.0, -1.0)
            product = (signs @ rows) @ np.linalg.inv(rows.T @ rows / t) @ np.array([1.0, *x])
            first = np.clip(0.5 - 0.5 * product / (1.5 * (dim + 1)), 0.0, 1.0)
            np.testing.assert_allclose(found[np.argmin(order)], first, atol=1e-10)


@pytest.mark.parametrize("arms", [3, 5])
def test_the_walk_keeps_sums_of_contexts_small(arms):
    """Differences of means between arms in standard units; at least halved, seeds are fixed."""
    names, spread = tuple("abcde"[:arms]), {}
    for spec in ("complete", "balancing-walk"):
        found = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            trial = Told(spec, names, dim=3, budget=200, seed=seed)
            for _ in range(200):
                trial.give(rng.normal(size=3))
            contexts, path = np.array(trial.contexts), np.array(trial.path)
            sums = np.array([contexts[path == arm].sum(axis=0) for arm in range(arms)])
            found.append(np.mean((sums - sums.mean(axis=0)) ** 2))
        spread[spec] = np.mean(found)
    assert spread["balancing-walk"] < 0.25 * spread["complete"]


# Shares by noise


def test_neyman_balanced_is_its_formula():
    dim, gamma, caution, rng = 3, 2.5, 4.0, np.random.default_rng(8)
    problem = eq.Problem(THREE, dim, budget=120, moment=np.eye(dim), weights={"b": 2.0})
    experiment = eq.Experiment(problem, eq.NeymanBalanced(gamma=gamma, caution=caution), seed=2)
    designs = {arm: [] for arm in THREE}
    for t in range(100):
        x = rng.normal(size=dim)
        unit = experiment.ask(x)
        if t >= 3 * (dim + 1):
            state = experiment._state
            trial = state.trial[0]
            freedom = state.arms["dof"] + trial["pooled_dof"]
            told = state.arms["dof"] * state.arms["noise_variance"]
            pooled = (told + trial["pooled_dof"] * trial["pooled_variance"]) / freedom
            share = np.array([1.0, 2.0, 1.0]) * pooled * (1 + caution / freedom + (caution / freedom) ** 2)
            leverage = [
                x @ np.linalg.solve(np.array(rows).T @ np.array(rows), x) for rows in designs.values()
            ]
            weights = share * (share * leverage) ** gamma
            np.testing.assert_allclose(list(unit.propensities.values()), weights / weights.sum(), rtol=1e-8)
        designs[unit.arm].append(x)
        experiment.tell(unit.id, float(rng.normal() * (1 + THREE.index(unit.arm))))


def test_neyman_balanced_goes_by_the_noise():
    """Units in proportion to the variances; 15 % are three standard errors of a ratio of variances."""
    rng = np.random.default_rng(9)
    experiment = eq.Experiment(
        eq.Problem(TWO, 2, budget=2000, moment=np.eye(2)), "neyman-balanced:gamma=2", seed=1
    )
    for _ in range(2000):
        unit = experiment.ask(rng.normal(size=2))
        experiment.tell(unit.id, float(rng.normal() * (1.0 if unit.arm == "a" else 2.0)))
    assert experiment.counts["b"] / experiment.counts["a"] == pytest.approx(4.0, rel=0.15)


def test_neyman_balanced_does_not_sort_by_length():
    """Probabilities depend on the direction of a context, not on its length."""
    rng = np.random.default_rng(10)
    trial = Told("neyman-balanced:gamma=3", THREE, dim=3)
    for _ in range(60):
        trial.give(rng.normal(size=3), int(rng.integers(3)))
    x = rng.normal(size=3)
    short, long = (
        ask_one(copy_of(trial.record), Arrival(scale * x))[1].propensities for scale in (0.1, 10.0)
    )
    np.testing.assert_allclose(list(short.values()), list(long.values()), rtol=1e-10)


def copy_of(record):
    from equipoise.core.experiment.record import draft

    return draft(record, 1)
