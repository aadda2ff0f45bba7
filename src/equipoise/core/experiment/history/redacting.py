"""A person's data removed for good, while models and decisions to come stay as they are, bit for bit.

A redacted unit keeps its row: its arm, the probability of it, its place in the budget. Its context and its
outcome are 0 from then on, and what they have given to sums over units is kept (arms/baseline.py).

A log that is folded from the start has to arrive at the same bits without the unit's data. So what a
redaction writes into the log holds the sums of that moment, *frozen*:

``ids``     the units that were redacted
``rows``    what is known of them, and of units redacted before, where that entry of the log goes, too
``frozen``  arrays of the state, exactly

The fold admits a blank row for a unit whose entry is gone (:func:`admit_blanks`), leaves out what is entered
about it, and goes on with the others. Its sums lack that unit. At the redaction the frozen ones take their
place (:func:`fold_redacted`), and from there on everything is as it was. Decisions in between cannot be made
again to the bit: :func:`lacks_data` tells when that is so.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arms import least_squares as kernel
from equipoise.core.arms.baseline import keep, with_baselines
from equipoise.core.arms.state import (
    BASELINES,
    LOST,
    NO_ARM_YET,
    PENDING,
    REDACTED,
    ROW,
    SET_ASIDE,
    TOLD,
    WITHDRAWN,
    State,
)
from equipoise.core.experiment.record import Record, draft
from equipoise.core.plain import from_plain, to_plain
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.errors import NotRedactable, StateMismatch

_WORDS = {
    PENDING: "pending",
    TOLD: "told",
    LOST: "lost",
    WITHDRAWN: "withdrawn",
    SET_ASIDE: "set aside",
    REDACTED: "redacted",
}
_STATUSES = {word: status for status, word in _WORDS.items()}
# The context and the outcome of a unit stand elsewhere, and how rows are linked follows from their arms.
_TOLD_OF_ROWS = [name for name in ROW.names or () if name not in ("arm", "status", "previous")]
_RECORDS = ("arms", "trial", "baselines")
_FROZEN = (
    *("arms", "trial", "factors", "coefs", "gains", "seen_factor", "spreads", "memory"),
    *BASELINES,
)
_FROZEN_OF_STAGES = ("needed", "needed_in_all", "screened", "held")


def redact(
    record: Record, rows: Sequence[int], *, again: Iterable[int] = ()
) -> tuple[Record, dict[str, Any]]:
    """Remove contexts and outcomes of rows: the record without them, and what the log is to hold of it.

    Parameters
    ----------
    record
        What an experiment knows; it stays as it is.
    rows
        Rows with an outcome, lost or withdrawn, none of them redacted.
    again
        Other rows whose entries in the log are erased together with theirs, such as units that were redacted
        before, where the entry of that redaction goes, too. What is known of them is told again.
    """
    if isinstance(record.policy, AbsentPolicy) and record.policy.traits.get("weighs"):
        raise record.policy.refuse_to_freeze()
    for row in rows:
        _check(record, row)
    changed = _with_own_contexts(record)
    state, was = changed.state, {row: int(record.state.rows["status"][row]) for row in rows}
    learned = bool(state.trial["learns_moment"][0])
    if any(status == TOLD or (status == LOST and learned) for status in was.values()):
        state = with_baselines(state)
        for row in rows:
            keep(state, row)
    for array in (changed.contexts, state.contexts, state.outcomes):
        array[list(rows)] = 0.0
    state.rows["status"][list(rows)] = REDACTED
    state.rows["lot"][list(rows)] = 0  # a hash of the key
    _forget_what_nobody_reads(state)
    changed = replace(changed, stage=replace(changed.stage, state=state))
    told = [{**_told_of(changed, row), "was": _WORDS[was[row]]} for row in rows]
    told += [_told_of(changed, row) for row in again]
    for row in rows:
        changed.book.forget(row)
    return changed, {"ids": [row + 1 for row in rows], "rows": told, "frozen": _frozen(changed)}


def admit_blanks(record: Record, units: int) -> Record:
    """The record with so many units, those that it lacks as rows of which nothing is known."""
    step = record.step
    if units <= step:
        return record
    if units > record.problem.units:
        raise _unfitting(f"it has {units} units, and the budget {record.problem.units}")
    changed = draft(record, units - step)
    state, new = changed.state, slice(step, units)
    for array in (changed.contexts, state.contexts, state.outcomes):
        array[new] = 0.0
    state.rows[new] = np.zeros((), ROW)
    state.rows["arm"][new], state.rows["status"][new] = NO_ARM_YET, REDACTED
    state.rows["previous"][new], state.rows["propensity"][new] = -1, np.nan
    for row in range(step, units):
        changed.book.write(row, None, None)
    state.trial["step"] = units
    return changed


def is_redacted(record: Record, row: int) -> bool:
    """Whether a row is there and redacted: a fold leaves out what is entered about it."""
    return row < record.step and bool(record.state.rows["status"][row] == REDACTED)


def lacks_data(record: Record) -> bool:
    """Whether there are rows that a later redaction is to tell of, so that sums are not what they were."""
    return bool(np.any(record.state.rows["arm"][: record.step] == NO_ARM_YET))


def fold_redacted(record: Record, data: Mapping[str, Any]) -> Record:
    """The record after a redaction, from what the log holds of it; ``record`` stays as it is."""
    try:
        frozen = data["frozen"]
        units = int(_decoded(frozen["trial"]["step"], np.dtype("i8"), (1,))[0])
        if record.step > units:
            raise _unfitting(f"it has {units} units, and the fold {record.step}")
        changed = _with_own_contexts(admit_blanks(record, units))
        for told in data["rows"]:
            _tell_row(changed, told)
        for unit in data["ids"]:
            if not is_redacted(changed, unit - 1):
                raise _unfitting(f"nothing is told of unit {unit}")
        return _thawed(changed, frozen)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, StateMismatch):
            raise
        raise _unfitting(f"{type(error).__name__}, {error}") from error


def _check(record: Record, row: int) -> None:
    """Refuse rows whose data would be missed later."""
    status, state = int(record.state.rows["status"][row]), record.state
    if row >= record.step or status == REDACTED:
        raise ValueError(f"row {row} has nothing to redact")
    unit = record.book.keys[row] or row + 1
    if status == PENDING:
        raise NotRedactable(
            f"the outcome of unit {unit!r} is awaited, and would come to nobody",
            hint=f"withdraw({unit!r}) or lose({unit!r}) first, then redact it",
        )
    leaves_nothing = status == WITHDRAWN or (status == LOST and not state.trial["learns_moment"][0])
    if not record.stage.whole and not leaves_nothing:
        raise NotRedactable(
            f"unit {unit!r} still counts, and a policy that chooses features needs every unit's own data",
            hint=f"withdraw({unit!r}) first, then redact it",
        )


def _with_own_contexts(record: Record) -> Record:
    """The same record in arrays of its own, contexts included, and without what scratch holds."""
    changed = draft(record)
    own = changed.state.contexts.copy()
    state = changed.state._replace(contexts=own)
    for name in ("z", "f", "g", "scratch"):
        getattr(state, name)[...] = 0.0
    contexts = own if changed.stage.whole else changed.contexts.copy()
    return replace(changed, stage=replace(changed.stage, state=state), contexts=contexts)


def _forget_what_nobody_reads(state: State) -> None:
    """Clear what is left over from earlier units and would be written before it is read again."""
    arms, trial = state.arms, state.trial
    kernel.is_settled(state)  # averages over arms, as they are without what has left
    trial["top"] = trial["chosen"] = trial["possible"] = 0
    trial["propensity"] = trial["likeliest"] = arms["leverage"] = 0.0
    idle = arms["gain_row"] < 0
    arms["gain_scale"][idle], state.gains[idle] = 0.0, 0.0
    unknown = arms["design_ready"] == 0
    arms["trace_sum"][unknown], arms["trace_checked"][unknown], arms["trace_age"][unknown] = np.inf, 0.0, 0
    arms["provisional_sum"][arms["provisional"] == 0] = 0.0
    for name in ("log_variance", "log_spread", "log_weight"):
        arms[name][arms["dof"] == 0] = 0.0
    for i, arm in enumerate(arms):
        if not arm["provisional"] and not (arm["pending"] and arm["design_ready"]):
            state.factors[i, 1 - arm["buffer"]] = 0.0


def _told_of(record: Record, row: int) -> dict[str, Any]:
    """A row in plain words; with context and outcome, unless it is redacted."""
    line = record.state.rows[row]
    told = {
        "id": row + 1,
        "arm": record.problem.arms[line["arm"]],
        "status": _WORDS[int(line["status"])],
        **{name: to_plain(line[name].item()) for name in _TOLD_OF_ROWS},
    }
    if line["status"] == REDACTED:
        return told
    return {**told, "x": record.contexts[row].tolist(), "outcome": float(record.state.outcomes[row])}


def _tell_row(record: Record, told: dict[str, Any]) -> None:
    """Write a row as it was told."""
    row, state = told["id"] - 1, record.state
    if not 0 <= row < record.step:
        raise _unfitting(f"it tells of unit {told['id']}, and there are {record.step}")
    line = state.rows[row]
    line["arm"], line["status"] = record.problem.index(told["arm"]), _STATUSES[told["status"]]
    for name in _TOLD_OF_ROWS:
        line[name] = from_plain(told[name])
    context = np.array(told.get("x", np.zeros(record.problem.dim)), float)
    record.contexts[row] = context
    state.contexts[row] = context[record.stage.columns]
    state.outcomes[row] = told.get("outcome", 0.0)
    if line["status"] == REDACTED:
        record.book.forget(row)


def _frozen(record: Record) -> dict[str, Any]:
    """Arrays of the state as plain data; where features are chosen first, what the stage has counted, too."""
    state, stage = record.state, record.stage
    data: dict[str, Any] = {
        name: {part: _coded(getattr(state, name)[part]) for part in getattr(state, name).dtype.names}
        if name in _RECORDS
        else _coded(_without_padding(state, name))
        for name in _FROZEN
    }
    if not stage.whole:
        counted = {name: getattr(stage, name) for name in _FROZEN_OF_STAGES}
        aside = np.flatnonzero(state.rows["status"][: record.step] == SET_ASIDE)
        data["stage"] = {
            **{name: np.asarray(value).tolist() for name, value in counted.items()},
            "set_aside": (aside + 1).tolist(),
        }
    return data


def _thawed(record: Record, frozen: dict[str, Any]) -> Record:
    """The record with frozen arrays in the place of its own, rows linked anew."""
    state, stage, m = record.state, record.stage, len(record.problem.arms)
    if frozen["baseline_coefs"]["shape"][0]:
        state = with_baselines(state)
    for name in _FROZEN:
        own = _without_padding(state, name)
        if name == "memory" and isinstance(record.policy, AbsentPolicy):
            continue  # of a design that is not at hand
        if name in _RECORDS:
            for part in own.dtype.names or ():
                own[part] = _decoded(frozen[name][part], own.dtype[part], own.shape)
        else:
            own[...] = _decoded(frozen[name], own.dtype, own.shape)
    rows = state.rows[: record.step]
    rows["previous"] = -1
    for i in range(m):
        mine = np.flatnonzero(rows["arm"] == i)
        rows["previous"][mine[1:]] = mine[:-1]
    if not stage.whole:
        counted = frozen["stage"]
        aside = np.array(counted["set_aside"], np.int64) - 1
        rows["status"][rows["status"] == SET_ASIDE] = TOLD
        rows["status"][aside] = SET_ASIDE
        held = counted["held"]
        stage = replace(
            stage,
            needed=np.array(counted["needed"], np.int64),
            needed_in_all=counted["needed_in_all"],
            screened=counted["screened"],
            held=None if held is None else np.array(held, np.int64),
        )
    return replace(record, stage=replace(stage, state=state))


def _without_padding(state: State, name: str) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = getattr(state, name)
    return array[..., : state.coefs.shape[1]] if name == "factors" else array


def _coded(array: npt.NDArray[Any]) -> dict[str, Any]:
    """An array as plain data, to the last bit, the same on every machine."""
    little = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"))
    text = base64.b64encode(little.tobytes()).decode("ascii")
    return {"dtype": little.dtype.str, "shape": list(array.shape), "data": text}


def _decoded(coded: dict[str, Any], kind: np.dtype[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    if coded["dtype"] != kind.newbyteorder("<").str or tuple(coded["shape"]) != shape:
        raise _unfitting(f"it has {coded['dtype']} of shape {coded['shape']}, not {kind} of {list(shape)}")
    return np.frombuffer(base64.b64decode(coded["data"], validate=True), coded["dtype"]).reshape(shape)


def _unfitting(what: str) -> StateMismatch:
    return StateMismatch(
        f"a redaction does not fit the events before it: {what}",
        hint="verify the log; fold it with the version that wrote it",
    )
