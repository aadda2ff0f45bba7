"""Trials in one compiled call are the experiments that ask and tell make, and find what these say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from inner_state import fingerprint

import equipoise as eq


@pytest.fixture(scope="module")
def quick_trials():
    path = Path(__file__).parents[3] / "benchmarks" / "honest" / "quick_trials.py"
    spec = importlib.util.spec_from_file_location("quick_trials", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["quick_trials"] = module  # compiled functions look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["quick_trials"]


@pytest.mark.slow  # machine code of its own
@pytest.mark.parametrize("policy", ["trace-gain:chance=0.3", "efron"])
def test_they_are_the_same(quick_trials, policy):
    rng = np.random.default_rng(6)
    contexts = np.column_stack([np.ones(80), rng.normal(size=(80, 2))])
    outcomes = np.sum(contexts**2, axis=1)[:, None] + [0.3, 1.0] * rng.normal(size=(80, 1))
    problem = eq.Problem(["a", "b"], 3, budget=80)
    experiment = eq.Experiment(problem, policy, seed=5)
    for context, outcome in zip(contexts, outcomes, strict=True):
        unit = experiment.ask(context)
        experiment.tell(unit.id, float(outcome[problem.index(unit.arm)]))
    quick = quick_trials.quick_experiment(problem, policy, 5, contexts, outcomes)
    assert fingerprint(quick) == fingerprint(experiment)
    found = quick_trials.findings(quick)
    assert found.fit.records() == experiment.lack_of_fit().records()
    estimates = experiment.estimates(estimator="ridge", intervals="robust")
    assert found.warned == (estimates.complaint is not None)
    assert found.imbalance == (estimates.imbalance is not None)
    for mine, theirs in zip(found.arms, estimates, strict=True):
        np.testing.assert_array_equal(mine.intervals, theirs.intervals)


def test_units_get_the_arms_that_are_told(quick_trials):
    rng = np.random.default_rng(7)
    contexts, arms = rng.normal(size=(30, 2)), rng.permutation([0] * 9 + [1] * 21)
    problem = eq.Problem(["a", "b"], 2, budget=30)
    quick = quick_trials.quick_experiment(problem, "trace-gain", 1, contexts, rng.normal(size=(30, 2)), arms)
    assert quick.counts == {"a": 9, "b": 21}
    np.testing.assert_array_equal(quick.data("a")[0], contexts[arms == 0])
