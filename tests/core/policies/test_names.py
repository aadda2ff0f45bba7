"""A name belongs to the class that was registered under it, and to no other."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import equipoise as eq
from equipoise.checks import check_policy
from equipoise.errors import CheckFailed, InvalidPolicy, UnregisteredPolicy

PROBLEM = eq.Problem(3, 2, budget=60, moment=np.eye(2))
SCENARIO = eq.GaussianScenario(noise=[0.5, 1.0, 2.0], dim=2, budget=40)


class Unregistered(eq.TraceUCB):
    """Trace-UCB upside down."""

    @staticmethod
    def score(arm, trial, settings):
        return -arm.trace


@dataclass(frozen=True, kw_only=True)
class Claims(eq.TraceUCB):
    """Says in its own body that it is its parent."""

    name = "trace-ucb"


@pytest.mark.parametrize("kind", [Unregistered, Claims])
def test_an_unregistered_class_has_no_text_form(kind):
    with pytest.raises(UnregisteredPolicy):
        _ = kind(width=0.5).spec
    assert "trace-ucb" not in kind(width=0.5).label
    assert eq.TraceUCB(width=0.5).spec == "trace-ucb:width=0.5"


def test_the_error_says_what_to_type():
    with pytest.raises(InvalidPolicy, match=r"is not registered.*@equipoise\.register\('my-policy'\)"):
        _ = Unregistered().spec
    assert not hasattr(Unregistered(), "name")
    assert not hasattr(eq.Policy(), "name")


@pytest.mark.parametrize("policy", [Unregistered(), Claims()])
def test_where_a_name_is_needed_it_is_asked_for(policy, tmp_path):
    for checkpoint in (None, tmp_path / "folder"):
        with pytest.raises(UnregisteredPolicy):
            eq.simulate(SCENARIO, [policy], trials=2, checkpoint=checkpoint)
    assert not (tmp_path / "folder").exists()
    with pytest.raises(CheckFailed, match="no text form"):
        check_policy(policy)


def test_experiments_run_and_do_not_use_the_parent_s_name():
    experiment = eq.Experiment(PROBLEM, Unregistered(width=0.5), seed=1)
    parent = eq.Experiment(PROBLEM, eq.TraceUCB(width=0.5), seed=1)
    rng = np.random.default_rng(1)
    for _ in range(60):
        x, y = rng.normal(size=2), rng.normal()
        for one in (experiment, parent):
            one.tell(one.ask(x).id, y)
    assert experiment.counts != parent.counts
    assert "trace-ucb" not in repr(experiment)
    assert "Unregistered(width=0.5" in repr(experiment)
    assert repr(pickle.loads(pickle.dumps(experiment))) == repr(experiment)


def test_a_subclass_that_is_registered_has_its_own_name_and_fields():
    @eq.register("test-names-child")
    class Child(eq.TraceUCB):
        bonus: float = 2.0

    assert Child(bonus=3.0).spec == "test-names-child:bonus=3.0"
    assert eq.parse_policy("test-names-child:bonus=3.0:width=0.5") == Child(bonus=3.0, width=0.5)
    assert eq.TraceUCB().spec == "trace-ucb"


def test_instances_of_a_class_that_was_defined_again():
    def define():
        @eq.register("test-names-cell")
        @dataclass(frozen=True, kw_only=True)
        class Cell(eq.Policy):
            @staticmethod
            def score(arm, trial, settings):
                return -float(arm.count)

        return Cell

    old = define()()
    assert old.spec == "test-names-cell"
    new = define()()
    assert new.spec == "test-names-cell"
    with pytest.raises(UnregisteredPolicy, match="build the policy anew"):
        _ = old.spec
