"""The test of the straight line: its size after adaptive allocation, its power, and the warning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from bent_world import Sorting, run
from scipy import stats

import equipoise as eq
from equipoise.core.diagnosis.balance import Balance
from equipoise.core.diagnosis.complaint import complain
from equipoise.core.diagnosis.lack_of_fit import LackOfFit
from equipoise.errors import FitWarning


def test_it_is_the_classical_f_test_without_adaptive_allocation():
    experiment = run("uniform", units=90, curve=0.2)
    fit = experiment.lack_of_fit()
    for arm in fit.arms:
        contexts, outcomes = experiment.data(arm.arm)
        more = np.column_stack([contexts, contexts[:, 1:] ** 2])
        small, large = (
            np.sum((outcomes - x @ np.linalg.lstsq(x, outcomes, rcond=None)[0]) ** 2)
            for x in (contexts, more)
        )
        dof = len(outcomes) - more.shape[1]
        expected = stats.f.sf((small - large) / 2 / (large / dof), 2, dof)
        assert arm.p_squares == pytest.approx(expected, rel=1e-6)
        assert arm.observed == len(outcomes)


def test_products_are_the_classical_f_test_too_and_say_which_features():
    rng, experiment = (
        np.random.default_rng(8),
        eq.Experiment(eq.Problem(["a", "b"], 4, budget=120), "uniform"),
    )
    for _ in range(120):
        x = np.append(1.0, rng.normal(size=3))
        experiment.tell(experiment.ask(x).id, float(x.sum() + x[1] * x[3] + 0.5 * rng.normal()))
    fit = experiment.lack_of_fit()
    for arm in fit.arms:
        contexts, outcomes = experiment.data(arm.arm)
        pairs = [contexts[:, i] * contexts[:, j] for i, j in ((1, 2), (1, 3), (2, 3))]
        small, large = (
            np.sum((outcomes - x @ np.linalg.lstsq(x, outcomes, rcond=None)[0]) ** 2)
            for x in (contexts, np.column_stack([contexts, *pairs]))
        )
        expected = stats.f.sf((small - large) / 3 / (large / 53), 3, 53)
        assert arm.p_products == pytest.approx(expected, rel=1e-6)
    assert fit.p_products < 1e-6 < 0.05 < fit.p_squares
    assert fit.p_value < 1e-6
    assert fit.clearest == (1, 3)
    assert sorted(fit.p_terms) == [(0, 0), (1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)]


def test_more_products_than_can_be_told_are_not_tested():
    fit = run("uniform", units=120, dim=17).lack_of_fit()  # 120 pairs of 16 features
    assert fit.p_products == 1.0
    assert all(i == j for i, j in fit.p_terms)
    few = run("uniform", units=30, dim=8).lack_of_fit()  # 21 pairs, 15 outcomes an arm
    assert few.p_products == 1.0


@pytest.mark.parametrize("policy", ["trace-ucb", "trace-gain"])
def test_its_size_is_kept_after_adaptive_allocation(policy):
    """120 linear worlds at a small budget: at 5 %, more than 14 findings come by chance in 1 of 1000."""
    found = [
        run(policy, units=40, noise=(0.1, 1.0, 3.0), seed=seed).lack_of_fit().p_value for seed in range(120)
    ]
    assert np.count_nonzero(np.array(found) < 0.05) <= 14


def test_a_curve_that_all_arms_share_is_found_by_all_together():
    fits = [run("trace-gain", curve=0.3, noise=(2.0, 2.0), seed=seed).lack_of_fit() for seed in range(20)]
    together = np.array([min(fit.p_length, fit.p_squares) for fit in fits])
    assert np.median(together) < np.median([min(arm.p_value for arm in fit.arms) for fit in fits])
    assert np.count_nonzero([fit.p_value < 0.05 for fit in fits]) >= 15


def test_units_of_measurement_do_not_matter():
    rng, found = np.random.default_rng(5), []
    contexts = np.column_stack([np.ones(80), rng.normal(size=(80, 2))])
    outcomes = contexts.sum(axis=1) + contexts[:, 1] ** 2 + rng.normal(size=80)
    for scale, unit in (([1.0, 1.0, 1.0], 1.0), ([1.0, 1e6, 1e-4], 1e3)):
        experiment = eq.Experiment(eq.Problem(2, 3, budget=80), "uniform")
        for x, y in zip(contexts * scale, outcomes, strict=True):
            experiment.tell(experiment.ask(x).id, float(unit * y))
        found.append(experiment.lack_of_fit().p_value)
    assert found[1] == pytest.approx(found[0], rel=1e-6)


def test_what_cannot_be_tested_is_not_held_against_the_line():
    empty = eq.Experiment(eq.Problem(["a", "b"], 2, budget=30))
    assert empty.lack_of_fit().p_value == 1.0
    exact = eq.Experiment(eq.Problem(["a", "b"], 2, budget=30), "uniform")
    for t in range(30):  # binary features, outcomes without noise
        x = [1.0, float(t % 3 == 0)]
        exact.tell(exact.ask(x).id, 2.0 + x[1])
    assert exact.lack_of_fit().p_value == 1.0
    assert exact.estimates().complaint is None
    text = str(run("uniform", units=40).lack_of_fit())
    assert "all arms" in text
    assert "p of squares" in run("uniform", units=40).lack_of_fit()._repr_html_()


def test_a_policy_that_chooses_features_is_tested_among_them():
    assert 0.0 < run("sparse-trace-ucb:screen=10", units=80).lack_of_fit().p_value <= 1.0


def test_estimates_warn_where_both_speak():
    rng = np.random.default_rng(2)
    experiment = eq.Experiment(eq.Problem(["quiet", "wild"], 3, budget=400), Sorting(), seed=1)
    for _ in range(400):
        x = np.append(1.0, rng.normal(size=2))
        experiment.tell(experiment.ask(x).id, float(np.sum(x**2) + 0.5 * rng.normal()))
    with pytest.warns(FitWarning, match="outcomes are not linear in the features") as caught:
        estimates = experiment.estimates()
    assert caught[0].filename == __file__
    assert "'quiet' short ones" in estimates.complaint
    assert "TraceGain(chance=0.3)" in estimates.complaint
    assert f"Warning: {estimates.complaint}" in str(estimates).replace("\n", " ")
    assert max(map(len, str(estimates).splitlines()[3:])) <= 100  # below the table
    assert [line["complaint"] for line in estimates.records()] == [estimates.complaint] * 2
    assert "Warning: outcomes" in estimates._repr_html_()


@pytest.mark.parametrize(("curve", "policy"), [(0.0, "trace-gain"), (0.5, "uniform")])
def test_estimates_do_not_warn_where_one_is_silent(curve, policy):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(policy, curve=curve).estimates().complaint is None


def test_with_propensities_the_warning_names_the_weighted_estimates():
    experiment = run("uniform", units=40)
    fit = LackOfFit((), 1e-9, 1e-9, 1.0, 1e-9)
    arms = [_imbalanced(arm) for arm in experiment.balance()]
    balance, both = Balance(arms, np.zeros(3), np.ones(3), range(3), ["1", "age", "dose"]), np.ones(2, bool)
    assert complain(balance, fit, ~both, weighted=True) is None
    crossed = LackOfFit((), 1.0, 1.0, 1e-9, 1e-9, {(1, 1): 0.2, (1, 2): 1e-8})
    assert "Add what is missing, squares" in complain(balance, fit, both, weighted=True)
    assert "the product of age and dose" in complain(balance, crossed, both, weighted=True)
    assert "; or read weighted_estimates()" in complain(balance, fit, both, weighted=True)
    assert "in the next experiment" in complain(balance, fit, both, weighted=False)
    assert complain(balance, LackOfFit((), 1.0, 1.0, 1.0, 0.5), both, weighted=True) is None


def _imbalanced(arm):
    return type(arm)(**{**vars(arm), "length_difference": 0.5, "p_value": 1e-9})


def test_features_are_named_as_the_problem_counts_them():
    """Where only some are used, the square of feature 6 is not that of the third column."""
    rng = np.random.default_rng(0)
    policy = eq.registered_policies()["sparse-trace-ucb"](support=[0, 3, 6])
    experiment = eq.Experiment(eq.Problem(["a", "b"], 8, budget=300), policy, seed=1)
    for _ in range(300):
        x = np.append(1.0, rng.normal(size=7))
        y = float(x[0] + 3.0 * x[3] + 2.0 * x[6] + x[6] ** 2 + 0.3 * rng.normal())
        experiment.tell(experiment.ask(x).id, y)
    found = experiment.lack_of_fit()
    assert found.clearest == (6, 6)
    assert {feature for pair in found.p_terms for feature in pair} <= {0, 3, 6}
    balance = experiment.balance()
    assert balance.names == tuple(f"x[{j}]" for j in balance.features)


def test_outcomes_too_small_to_be_divided_by_are_not_tested():
    rng = np.random.default_rng(1)
    experiment = eq.Experiment(eq.Problem(2, 2, budget=40), "uniform")
    for _ in range(40):
        experiment.tell(experiment.ask([1.0, rng.normal()]).id, float(1e-157 * rng.normal()))
    assert experiment.lack_of_fit().p_value == 1.0
    assert experiment.estimates().complaint is None
