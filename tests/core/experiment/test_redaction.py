"""Redacted units: gone from memory and from the log, while models and decisions stay as they are."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inner_state import fingerprint
from redacted_logs import Logged, is_verifiable

import equipoise as eq
from equipoise.core.arms.state import REDACTED, SET_ASIDE, copied
from equipoise.core.experiment.redacting import admit_blanks, fold_redacted, redact
from equipoise.errors import AssignmentClosed, AssignmentNotFound, NotRedactable, NotReplayable, StateMismatch

DIM = 3
MOMENTS = {"learned": None, "given": np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]])}
SPECS = [
    "trace-ucb",
    "trace-gain:chance=0.2",
    "trace-ucb:spread=unequal",
    "minimisation",
    "permuted-blocks",
    "da-optimal",
]
both_moments = pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)


def started(spec="trace-gain", moment=None, dim=DIM, budget=200, arms=("a", "b", "c")):
    problem = eq.Problem(list(arms), dim, budget=budget, moment=moment)
    return Logged(problem, spec).started_with(problem)


def half_way(logged, units=45, seed=1, scale=1.0):
    """Some units told, some lost, some withdrawn, some awaited; ids by what became of them."""
    rng = np.random.default_rng(seed)
    dim = logged.experiment.problem.dim
    ids = {"told": [], "lost": [], "withdrawn": [], "pending": []}
    for t in range(units):
        id = logged.ask(rng.normal(size=dim) + 0.5)
        y = float(scale * rng.normal())
        if t % 9 == 4:
            logged.do("lost", id=id)
            ids["lost"].append(id)
        elif t % 11 == 5:
            logged.do("told", id=id, outcome=y)
            logged.do("withdrawn", id=id)
            ids["withdrawn"].append(id)
        elif t % 7 == 6:
            ids["pending"].append(id)
        else:
            logged.do("told", id=id, outcome=y)
            ids["told"].append(id)
    return ids


def go_on(logged, units=20):
    """What is decided next, with all scores."""
    rng = np.random.default_rng(2)
    found = []
    for _ in range(units):
        id = logged.ask(rng.normal(size=logged.experiment.problem.dim) + 0.5)
        event = logged.log[-1]
        found.append((id, event["arm"], event["propensity"]))
        logged.do("told", id=id, outcome=float(rng.normal()))
    return found


def models(experiment):
    """What estimates rest on, to the last bit."""
    return [
        (
            arm.coef.tobytes(),
            arm.least_squares.tobytes(),
            arm.residual_variance,
            arm.count,
            arm.observed,
            arm.dof,
        )
        for arm in experiment.estimates()
    ]


def same_models(one, other, tolerance=1e-9):
    for mine, theirs in zip(one.estimates(), other.estimates(), strict=True):
        assert (mine.count, mine.observed, mine.dof) == (theirs.count, theirs.observed, theirs.dof)
        if theirs.least_squares is not None:
            np.testing.assert_allclose(mine.least_squares, theirs.least_squares, rtol=tolerance, atol=1e-11)
            np.testing.assert_allclose(
                mine.residual_variance, theirs.residual_variance, rtol=tolerance, atol=1e-20
            )
            np.testing.assert_allclose(
                mine.outcome_variance, theirs.outcome_variance, rtol=tolerance, atol=1e-20
            )
            np.testing.assert_allclose(mine.coef, theirs.coef, rtol=1e-7, atol=1e-11)


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
    assert [event[1:] for event in go_on(logged, 8)][:1] == [event[1:] for event in go_on(twin, 8)][:1]
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
        # Arms are given here. Who would have decided otherwise says so, and that stays in the rows.
        logged.record.state.rows["propensity"][: logged.record.step] = 1.0
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
    assert sum(event["kind"] == "redacted" and len(event) > 1 for event in logged.log) == 1
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)
    go_on(logged)
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)


def test_decisions_before_the_redaction_cannot_be_verified_and_those_after_can():
    logged = started("trace-gain")
    ids = half_way(logged)
    logged.redact(ids["told"][10])
    assert is_verifiable(logged.fold(upto=ids["told"][10] - 1))
    assert not is_verifiable(logged.fold(upto=len(logged.log) - 1))
    assert is_verifiable(logged.fold())
    # On the way it can be copied and read.
    between = copy.copy(logged.fold(upto=len(logged.log) - 1))
    assert between.estimates().redacted == 1
    assert between.predictability().units == between.asked - 1


def test_the_entry_of_an_earlier_redaction_may_be_wanting_in_between():
    """A later redaction of an earlier unit: the first one's sums have the unit, its row is yet unknown."""
    logged = started("trace-gain")
    ids = half_way(logged)
    logged.redact(ids["told"][12])
    logged.do("corrected", id=ids["told"][13], outcome=1.0)
    logged.redact(ids["told"][4])
    go_on(logged)
    assert fingerprint(logged.fold()) == fingerprint(logged.experiment)
    between = logged.fold(upto=len(logged.log) - 42)
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


# What is refused


def test_who_cannot_be_redacted_is_told_what_to_do():
    logged = started()
    ids = half_way(logged)
    experiment, id = logged.experiment, ids["pending"][0]
    before = fingerprint(experiment)
    with pytest.raises(NotRedactable, match=f"outcome of unit {id} is awaited") as refused:
        experiment.redact(id)
    assert "withdraw" in refused.value.hint
    for nobody in (0, 1000, experiment.asked + 1):
        with pytest.raises(AssignmentNotFound):
            experiment.redact(nobody)
    assert fingerprint(experiment) == before


def test_nothing_is_entered_about_a_redacted_unit():
    logged = started()
    ids = half_way(logged)
    experiment = logged.experiment
    for id in (ids["told"][0], ids["lost"][0], ids["withdrawn"][0]):
        experiment.redact(id)
        before = fingerprint(experiment)
        experiment.redact(id)
        for change, *outcome in (("tell", 1.0), ("correct", 1.0), ("lose",), ("withdraw",)):
            with pytest.raises(AssignmentClosed, match=f"unit {id} was redacted"):
                getattr(experiment, change)(id, *outcome)
        assert fingerprint(experiment) == before
    assert ids["told"][0] not in experiment.pending


def test_a_replay_of_the_lots_is_refused():
    logged = started("trace-gain:chance=0.3")
    for x in np.random.default_rng(6).normal(size=(40, DIM)):
        logged.do("told", id=logged.ask(x), outcome=1.0 + float(x[0]))
    logged.experiment.redact(3)
    with pytest.raises(NotReplayable, match="unit 3 was redacted"):
        logged.experiment.randomisation_test(draws=10)


def test_where_features_are_chosen_first_only_withdrawn_units_go():
    logged = started("sparse-trace-ucb:screen=6:sparsity=1", dim=6, budget=120)
    rng = np.random.default_rng(7)
    for _ in range(40):
        x = rng.normal(size=6)
        logged.do("told", id=logged.ask(x), outcome=float(3.0 * x[1] + 0.1 * rng.normal()))
    stage = logged.record.stage
    assert stage.chosen
    aside = int(np.flatnonzero(logged.record.state.rows["status"] == SET_ASIDE)[0]) + 1
    for id in (aside, 39):
        with pytest.raises(NotRedactable, match="policy that chooses features"):
            logged.experiment.redact(id)
    logged.experiment.withdraw(aside)
    logged.experiment.withdraw(39)
    before = models_of_arrays(logged.record)
    changed, data = redact(logged.record, [aside - 1, 38])
    assert models_of_arrays(changed) == before
    assert not changed.contexts[[aside - 1, 38]].any()
    # A fold that has gone astray on the way, as one without these units does.
    astray = copied(logged.record.state, len(logged.record.contexts))
    astray.arms["set_aside"] = 0
    astray.rows["status"][: changed.step][astray.rows["status"][: changed.step] == SET_ASIDE] = 1
    astray.factors[..., : changed.state.coefs.shape[1]] = 7.0
    lost = replace(stage, state=astray, screened=1, needed_in_all=2, held=np.ones(3, np.int64))
    folded = fold_redacted(replace(logged.record, stage=lost), json.loads(json.dumps(data)))
    ends = [copy.copy(logged.experiment) for _ in range(2)]
    ends[0]._record, ends[1]._record = changed, folded
    assert fingerprint(ends[0]) == fingerprint(ends[1])
    assert ends[1]._record.stage.held is None
    assert len(ends[0].estimates()) == 3


def models_of_arrays(record):
    return record.state.coefs.tobytes(), record.state.arms["rss"].tobytes()


def test_estimates_say_how_many_were_redacted():
    logged = started("trace-ucb", np.eye(DIM))
    ids = half_way(logged)
    plain = logged.experiment.estimates(intervals="robust")
    assert "edacted" not in str(plain)
    logged.redact(*ids["told"][:2])
    estimates = logged.experiment.estimates(intervals="robust")
    assert estimates.redacted == 2
    assert "Redacted units: 2; models keep what they gave" in str(estimates)
    for mine, theirs in zip(estimates, plain, strict=True):
        np.testing.assert_allclose(mine.outcome_variance, theirs.outcome_variance, rtol=1e-12)
        widths = [np.diff(np.array(arm.intervals), axis=1) for arm in (mine, theirs)]
        assert np.all((widths[0] < 1.6 * widths[1]) & (widths[1] < 1.6 * widths[0]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("frozen"), "KeyError"),
        (lambda data: data["frozen"].pop("factors"), "KeyError"),
        (lambda data: data["frozen"]["coefs"].update(shape=[2, 3]), "shape"),
        (lambda data: data["frozen"]["coefs"].update(data="!"), "does not fit"),
        (lambda data: data["frozen"]["arms"].pop("dof"), "dof"),
        (lambda data: data["rows"][0].update(arm="z"), "z"),
        (lambda data: data["rows"][0].update(id=99), "unit 99"),
        (lambda data: data["rows"].clear(), "nothing is told of unit"),
    ],
)
def test_a_redaction_that_does_not_fit_is_refused(change, message):
    logged = started("trace-ucb")
    ids = half_way(logged)
    before = copy.copy(logged.experiment)._record
    _, data = redact(before, [ids["told"][0] - 1])
    change(data)
    with pytest.raises(StateMismatch, match=message):
        fold_redacted(before, data)


def test_a_redaction_of_more_units_than_there_can_be_is_refused():
    logged = started("trace-ucb", budget=50)
    with pytest.raises(StateMismatch, match="51 units, and the budget 50"):
        admit_blanks(logged.record, 51)
    ids = half_way(logged, units=30)
    _, data = redact(logged.record, [ids["told"][0] - 1])
    logged.ask(np.ones(DIM))
    with pytest.raises(StateMismatch, match="30 units, and the fold 31"):
        fold_redacted(logged.record, data)


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
