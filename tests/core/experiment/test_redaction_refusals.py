"""Redactions that are refused, and what is said of redacted units."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from inner_state import fingerprint
from redacted_logs import DIM, half_way, started

from equipoise.core.arms.state import SET_ASIDE, copied
from equipoise.core.experiment.history.redacting import admit_blanks, fold_redacted, redact
from equipoise.errors import (
    AssignmentClosed,
    AssignmentNotFound,
    NotRedactable,
    NotReplayable,
    StateMismatch,
)


def test_who_cannot_be_redacted_is_told_what_to_do():
    logged = started()
    ids = half_way(logged)
    experiment, id = logged.experiment, ids["pending"][0]
    before = fingerprint(experiment)
    with pytest.raises(NotRedactable, match=f"outcome of unit 'P-{id}' is awaited") as refused:
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
