"""Balance is what it says it is, and finds arms that got other contexts."""

from __future__ import annotations

from html import escape

import numpy as np
import pytest
from bent_world import Sorting, run

import equipoise as eq


def test_it_compares_every_arm_with_all_units():
    experiment = run("uniform", units=120)
    balance = experiment.balance()
    contexts = np.concatenate([experiment.data(arm)[0] for arm in experiment.problem.arms])
    moment = contexts.T @ contexts / len(contexts)
    np.testing.assert_allclose(balance.means, contexts.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(balance.spreads, contexts.std(axis=0), rtol=1e-12)
    for arm in balance:
        mine = experiment.data(arm.arm)[0]
        lengths = np.einsum("ij,jk,ik->i", mine, np.linalg.inv(moment), mine)
        assert arm.units == len(mine)
        assert arm.length == pytest.approx(lengths.mean())
        assert arm.length_of_all == pytest.approx(3.0)
        assert arm.differences[0] == 0.0  # the intercept does not vary
        gap = (mine.mean(axis=0) - contexts.mean(axis=0))[1:] / contexts.std(axis=0)[1:]
        np.testing.assert_allclose(arm.differences[1:], gap, rtol=1e-9)
    assert [line["arm"] for line in balance.records()] == list(experiment.problem.arms)
    assert balance["arm 1"] is balance[1]
    for text in (str(balance), balance._repr_html_()):
        assert "mean r" in text
        assert "arm 0" in text


def test_contexts_dealt_blindly_are_in_balance():
    """p values of 100 uniform experiments: below 0.05 in at most 12, which chance passes in 1 of 500."""
    found = [run("uniform", units=60, seed=seed).balance()[0].p_value for seed in range(100)]
    assert np.count_nonzero(np.array(found) < 0.05) <= 12


def test_an_arm_that_gets_short_contexts_is_seen():
    rng = np.random.default_rng(3)
    experiment = eq.Experiment(eq.Problem(["short", "long"], 3, budget=200), Sorting(), seed=1)
    for _ in range(200):
        experiment.ask(np.append(1.0, rng.normal(size=2)))
    short, long = experiment.balance()
    assert short.length < short.length_of_all < long.length
    assert short.length_difference < -0.2 < 0.2 < long.length_difference
    assert max(short.p_value, long.p_value) < 1e-4
    assert short.p_value < 0.01
    assert long.p_value < 0.01


def test_printed_estimates_say_so_in_a_line_and_records_have_what_speaks_against_them():
    rng = np.random.default_rng(3)
    experiment = eq.Experiment(eq.Problem(["short", "long"], 3, budget=200), Sorting(), seed=1)
    for _ in range(200):
        x = np.append(1.0, rng.normal(size=2))
        experiment.tell(experiment.ask(x).id, float(x.sum() + rng.normal()))
    estimates = experiment.estimates()
    assert estimates.complaint is None  # the line fits
    assert "'short' short ones (mean r" in estimates.imbalance
    assert (
        str(estimates)
        .replace("\n", " ")
        .endswith(f" Balance: {estimates.imbalance}; harmless where lines fit.")
    )
    assert len(str(estimates).splitlines()) == 7
    assert (
        f"<p>Balance: {escape(estimates.imbalance)}; harmless where lines fit.</p>" in estimates._repr_html_()
    )
    for line, arm in zip(estimates.records(), estimates, strict=True):
        assert line["complaint"] is None
        assert line["error_factor"] == arm.error_factor > 0.0
    even = run("uniform").estimates()
    assert even.imbalance is None
    assert len(str(even).splitlines()) == 5


def test_empty_and_degenerate_experiments_have_a_balance():
    experiment = eq.Experiment(eq.Problem(["a", "b"], 2, budget=20))
    assert [arm.units for arm in experiment.balance()] == [0, 0]
    for _ in range(6):
        experiment.ask([1.0, 0.0])
    assert [arm.p_value for arm in experiment.balance()] == [1.0, 1.0]
    assert str(experiment.balance())
