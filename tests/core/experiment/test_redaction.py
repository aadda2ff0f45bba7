"""Redacted units: gone from memory and from the log, while models and decisions stay as they are."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inner_state import fingerprint
from redacted_logs import DIM, Logged, both_moments, go_on, half_way, models, same_models, started

import equipoise as eq
from equipoise.core.arms.state import REDACTED
from equipoise.core.experiment.history.redacting import lacks_data
from equipoise.errors import (
    AssignmentNotFound,
    ReplayMismatch,
    StateMismatch,
)

SPECS = [
    "trace-ucb",
    "trace-gain:chance=0.2",
    "trace-ucb:spread=unequal",
    "minimisation",
    "permuted-blocks",
    "da-optimal",
]


@both_moments
@pytest.mark.parametrize("spec", SPECS)
def test_models_and_decisions_stay_and_the_log_folds_to_the_same_bits(spec, moment):
    logged, twin = started(spec, moment), started(spec, moment)
    ids = half_way(logged)
    half_way(twin)
    for chosen in (ids["told"][3:12], ids["lost"][1:2], ids["withdrawn"][:2], ids["told"][20:21]):
        logged.redact(*chosen)
        assert models(logged.experiment) == models(twin.experiment)
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)
    assert go_on(logged) == go_on(twin)
    assert models(logged.experiment) == models(twin.experiment)
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)
    gone = [id - 1 for id in (*ids["told"][3:12], ids["lost"][1], *ids["withdrawn"][:2], ids["told"][20])]
    record = logged.record
    assert not record.contexts[gone].any()
    assert not record.state.outcomes[gone].any()
    assert np.all(record.state.rows["status"][gone] == REDACTED)
    assert logged.experiment.counts == twin.experiment.counts
    assert repr(logged.experiment) == repr(twin.experiment)
    assert logged.experiment.predictability() == twin.experiment.predictability()


@both_moments
@pytest.mark.parametrize("spec", ["trace-ucb", "trace-gain", "minimisation"])
def test_what_happens_to_others_later_is_as_without_the_redaction(spec, moment):
    """Sums are taken in another order after a rebuild, so this holds to rounding, not to the bit."""
    logged, twin = started(spec, moment), started(spec, moment)
    ids = half_way(logged)
    half_way(twin)
    logged.redact(*ids["told"][:10], *ids["lost"][:2])
    for each in (logged, twin):
        each.do("corrected", id=ids["told"][12], outcome=3.5)
        each.do("withdrawn", id=ids["told"][15])
        each.do("corrected", id=ids["lost"][2], outcome=-1.0)
        each.do("told", id=ids["pending"][0], outcome=0.25)
        each.do("lost", id=ids["pending"][1])
        each.do("withdrawn", id=ids["pending"][2])
    same_models(logged.experiment, twin.experiment)
    if moment is None:
        mine, theirs = (each.record.state.seen_factor for each in (logged, twin))
        np.testing.assert_allclose(mine.T @ mine, theirs.T @ theirs, rtol=1e-12)
    traces = [each.record.state.arms["trace"] for each in (logged, twin)]
    np.testing.assert_allclose(traces[0], traces[1], rtol=1e-9)
    averages = [each.experiment.estimates().average for each in (logged, twin)]
    if moment is None:
        np.testing.assert_allclose(averages[0], averages[1], rtol=1e-12)
    for each in (logged, twin):
        each.do("added", arm="d")
    assert go_on(logged, 8)[0][:2] == go_on(twin, 8)[0][:2]
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)


@both_moments
def test_every_unit_of_an_arm_may_go(moment):
    logged, twin = started("trace-ucb", moment), started("trace-ucb", moment)
    ids = half_way(logged)
    half_way(twin)
    arms = logged.record.state.rows["arm"]
    mine = [id for id in ids["told"] if arms[id - 1] == 1]
    late = [each.ask(np.ones(DIM), arm="b") for each in (logged, twin)]
    logged.redact(*mine)
    for id, each in zip(late, (logged, twin), strict=True):
        each.do("withdrawn", id=id)
    same_models(logged.experiment, twin.experiment)
    assert logged.experiment.data("b")[0].shape == (0, DIM)
    for name in ("pooled", "ridge", "empirical-bayes", "leave-one-out"):
        assert all(np.isfinite(arm.coef).all() for arm in logged.experiment.estimates(estimator=name))
    logged.redact(*(id for id in ids["told"] if id not in mine))
    robust = logged.experiment.estimates(intervals="robust")
    assert all(np.isfinite(arm.intervals).all() for arm in robust)
    here = [id for id in (*ids["pending"], *ids["lost"]) if arms[id - 1] == 0]
    assert logged.experiment.balance()["a"].units <= len(here)
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)


@pytest.mark.parametrize("scale", [0.0, 1e-150, 1e120])
@pytest.mark.parametrize("moment", [None, [[4.0]]], ids=["learned", "given"])
def test_one_feature_and_outcomes_of_any_size(moment, scale):
    logged, twin = (started("trace-gain", moment, dim=1) for _ in range(2))
    ids = half_way(logged, scale=scale)
    half_way(twin, scale=scale)
    logged.redact(*ids["told"][:14])
    assert [arm.alike for arm in logged.experiment.estimates()] == [
        arm.alike for arm in twin.experiment.estimates()
    ]
    assert models(logged.experiment) == models(twin.experiment)
    for each in (logged, twin):
        each.do("withdrawn", id=ids["told"][20])
    same_models(logged.experiment, twin.experiment)
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)


def test_outcomes_that_are_alike_stay_so_and_differ_when_one_does():
    logged = started("uniform", np.eye(DIM))
    rng = np.random.default_rng(4)
    for _ in range(40):
        logged.do("told", id=logged.ask(np.append(1.0, rng.normal(size=DIM - 1))), outcome=2.0)
    logged.redact(1, 2, 3, 4, 5, 6)
    assert all(arm.alike for arm in logged.experiment.estimates())
    logged.do("corrected", id=7, outcome=2.5)
    assert sum(arm.alike for arm in logged.experiment.estimates()) == 2


@both_moments
@pytest.mark.parametrize("spec", ["uniform", "trace-gain", "trace-ucb:spread=unequal"])
def test_withdrawn_first_leaves_nothing(spec, moment):
    """Whatever the unit's data were, memory and what the redaction logs are the same, to the last bit."""
    if spec.endswith("unequal") and moment is None:
        pytest.skip("how long other arms' contexts are was measured by the Σ of that day")
    ends = []
    for x, y in (([9.0, -8.0, 7.0], 100.0), ([0.1, 0.0, 0.2], -3.0)):
        logged = started(spec, moment)
        rng = np.random.default_rng(5)
        for t in range(40):
            id = logged.ask(x if t == 17 else rng.normal(size=DIM), arm="abc"[t % 3])
            logged.do("told", id=id, outcome=y if t == 17 else float(rng.normal()))
        logged.do("withdrawn", id=18)
        # Arms are given here. What the rule would have said stays in the rows.
        logged.record.state.rows["propensity"][: logged.record.step] = 1.0
        logged.record.state.rows["top"][: logged.record.step] = 0
        logged.redact(18)
        ends.append((json.dumps(logged.log[-1]), fingerprint(logged.experiment)[0]))
    assert ends[0] == ends[1]


def test_units_asked_for_together_are_told_again_and_stay():
    """Where an entry of the log holds several units, all of it goes, and the others are told again."""
    logged = started("trace-gain:chance=0.3")
    ids = half_way(logged)
    logged.redact(ids["told"][5])
    again = [ids["told"][6], ids["pending"][1], ids["lost"][0], ids["withdrawn"][0], ids["told"][5]]
    logged.redact(ids["told"][7], again=again)
    assert sum("frozen" in event for event in logged.log) == 1
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)
    go_on(logged)
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)


def test_decisions_before_the_redaction_cannot_be_verified_and_those_after_can():
    logged = started("trace-gain")
    ids = half_way(logged)
    logged.redact(ids["told"][10])
    assert not lacks_data(logged.fold(upto=5)._record)
    assert lacks_data(logged.fold(upto=-1)._record)
    assert not lacks_data(logged.fold()._record)
    # On the way it can be copied and read.
    between = copy.copy(logged.fold(upto=-1))
    assert between.estimates().redacted == 1
    assert between.predictability().units == between.asked - 1
    assert between[ids["told"][10]].arm == ""
    # A decision afterwards that is not what the rule says is found.
    go_on(logged, 3)
    logged.log[-2]["scores"][0] += 1e-9
    with pytest.raises(ReplayMismatch):
        logged.fold()


def test_a_unit_of_a_batch():
    logged = started("trace-gain")
    ids = logged.ask_many(np.random.default_rng(3).normal(size=(12, DIM)))
    for id in ids:
        logged.do("told", id=id, outcome=float(id % 5))
    for place in (0, 11, 5):
        logged.redact(sorted(ids)[place])
        assert fingerprint(logged.fold()) == fingerprint(logged.experiment)
    go_on(logged)
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)


def test_nothing_of_the_unit_is_shown_and_its_key_is_gone():
    logged = started("trace-gain")
    id = half_way(logged)["told"][3]
    arm, key = logged.experiment[id].arm, logged.experiment[id].unit
    logged.redact(id)
    unit = logged.experiment[id]
    assert (unit.unit, unit.arm, unit.status, unit.outcome, unit.context) == (None, arm, "redacted", None, {})
    assert unit.scores is None
    with pytest.raises(AssignmentNotFound):
        logged.experiment[key]
    assert f'"{key}"' not in json.dumps(logged.log)
    assert [line["status"] for line in logged.experiment.units().records()].count("redacted") == 1
    restored = eq.Experiment.restore(logged.experiment.snapshot())
    assert fingerprint(restored) == fingerprint(logged.experiment)


def test_what_was_received_elsewhere_counts_there():
    logged, twin = started("trace-ucb"), started("trace-ucb")
    ids = half_way(logged)
    half_way(twin)
    for each in (logged, twin):
        id = next(id for id in ids["told"] if each.experiment[id].arm != "c")
        each.do("received", id=id, arm="c")
    logged.redact(id)
    assert models(logged.experiment) == models(twin.experiment)
    assert logged.experiment[id].arm == "c"
    assert logged.experiment[id].assigned != "c"
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)


def test_the_entry_of_an_earlier_redaction_may_be_wanting_in_between():
    """A later redaction of an earlier unit: the first one's sums have the unit, its row is yet unknown."""
    logged = started("trace-gain")
    ids = half_way(logged)
    logged.redact(ids["told"][12])
    logged.do("corrected", id=ids["told"][13], outcome=1.0)
    logged.redact(ids["told"][4])
    go_on(logged)
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)
    between = logged.fold(upto=-42)
    assert fingerprint(copy.copy(between)) == fingerprint(between)


@pytest.mark.parametrize("spec", SPECS)
def test_pickles_go_on_alike(spec):
    logged = started(spec)
    ids = half_way(logged)
    logged.redact(*ids["told"][:6], *ids["lost"])
    twin = Logged(logged.experiment.problem, spec)
    twin.experiment = pickle.loads(pickle.dumps(logged.experiment))
    assert fingerprint(twin.experiment) == fingerprint(logged.experiment)
    assert go_on(twin) == go_on(logged)
    assert fingerprint(twin.experiment) == fingerprint(logged.experiment)
    for each in (twin, logged):
        each.do("withdrawn", id=ids["told"][9])
        each.do("added", arm="d")
    assert go_on(twin) == go_on(logged)


@pytest.mark.parametrize("damage", ["count", "part"])
def test_saved_sums_of_redacted_units_are_checked(damage):
    logged = started("trace-ucb")
    logged.redact(*half_way(logged)["told"][:6])
    data = logged.experiment.__getstate__()
    if damage == "count":
        data["arrays"]["baselines"]["count"][1] += 1
    else:
        data["arrays"]["baseline_coefs"] = data["arrays"]["baseline_coefs"][:0]
    with pytest.raises(StateMismatch, match="redacted"):
        object.__new__(eq.Experiment).__setstate__(data)


# Any history

KINDS = [*["ask"] * 3, *["tell"] * 2, "correct", "lose", "withdraw", *["redact"] * 2, "add", "shut"]
ACTIONS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 10**6)), min_size=20, max_size=90)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(ACTIONS, st.sampled_from(["trace-ucb", "trace-gain", "permuted-blocks"]), st.booleans())
def test_any_history_folds_to_the_same_bits_and_fits_all_that_was_told(actions, spec, learned):
    """Least squares over everything that was ever told and not withdrawn, whoever was redacted since."""
    dim = 2
    logged = started(spec, None if learned else np.eye(dim), dim=dim, budget=150)
    rng = np.random.default_rng(8)
    contexts, outcomes, statuses = {}, {}, {}
    for kind, number in actions:
        ids = sorted(statuses)
        if kind == "ask" or not ids:
            x = rng.normal(size=dim) + 0.3
            id = logged.ask(x)
            contexts[id], statuses[id] = x, "pending"
            continue
        id, y = ids[number % len(ids)], float(rng.normal())
        status = statuses[id]
        if kind == "tell" and status == "pending":
            logged.do("told", id=id, outcome=y)
            outcomes[id], statuses[id] = y, "told"
        elif kind == "correct" and status in ("pending", "told", "lost"):
            logged.do("corrected", id=id, outcome=y)
            outcomes[id], statuses[id] = y, "told"
        elif kind == "lose" and status == "pending":
            logged.do("lost", id=id)
            statuses[id] = "lost"
        elif kind == "withdraw" and status in ("pending", "told", "lost"):
            logged.do("withdrawn", id=id)
            outcomes.pop(id, None)
            statuses[id] = "withdrawn"
        elif kind == "redact" and status in ("told", "lost", "withdrawn"):
            logged.redact(id)
            statuses[id] = "redacted"
        elif kind == "add" and len(logged.experiment.problem.arms) < 5:
            logged.do("added", arm=f"new {len(logged.experiment.problem.arms)}")
        elif kind == "shut" and "c" not in logged.experiment.closed_arms:
            logged.do("closed", arm="c")
    experiment = logged.experiment
    assert fingerprint(logged.fold()) == fingerprint(experiment)
    assert fingerprint(pickle.loads(pickle.dumps(experiment))) == fingerprint(experiment)
    arms = logged.record.state.rows["arm"]
    for i, arm in enumerate(experiment.estimates()):
        mine = [id for id in outcomes if arms[id - 1] == i]
        assert arm.observed == len(mine)
        if arm.least_squares is None:
            continue
        design, y = np.array([contexts[id] for id in mine]), np.array([outcomes[id] for id in mine])
        coef, *_ = np.linalg.lstsq(design, y, rcond=None)
        if np.linalg.cond(design) < 1e3:
            np.testing.assert_allclose(arm.least_squares, coef, rtol=1e-8, atol=1e-9)
            rest = y - design @ coef
            np.testing.assert_allclose(arm.residual_variance * arm.dof, rest @ rest, rtol=1e-7, atol=1e-10)


def test_a_log_opens_whatever_was_erased_of_what_units_cost():
    """A redaction froze a dear arm, the unit received a cheap one, and that entry was erased later."""
    logged = Logged(eq.Problem(["a", "b"], 1, budget=60, costs={"a": 3.0, "b": 1.0}), "trace-ucb")
    dear, other = logged.ask([1.0], arm="a"), logged.ask([2.0], arm="b")
    logged.do("told", id=dear, outcome=1.0)
    logged.do("told", id=other, outcome=1.0)
    logged.redact(other)
    logged.do("received", id=dear, arm="b")
    logged.do("closed", arm="a")
    with logged.experiment.recording() as new:
        logged.experiment.change_budget(4.0)
        logged.experiment.add_arm("c")
        logged.experiment.change_budget(2.0)
    logged.log += new
    logged.redact(dear)
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)
