"""An experiment as plain data, and back: for pickles and copies.

The data name the version that wrote them, and how its records are laid out. Data of another layout, or with
values that no experiment can have, are refused: compiled code would take them for addresses and counts.
What follows from other data is not stored, but computed again.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.arms.state import (
    ARM,
    BASELINE,
    BASELINES,
    LOST,
    NO_ARM_YET,
    PENDING,
    REDACTED,
    ROW,
    SET_ASIDE,
    TOLD,
    TRIAL,
    State,
    copied,
)
from equipoise.core.experiment.record import FIRST_CAPACITY, Record
from equipoise.core.experiment.units.book import UnitBook
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.settings import score_settings
from equipoise.core.problem.costs import ROUNDING
from equipoise.core.problem.features.contexts import Contexts
from equipoise.core.problem.inputs import LARGEST, checked_seed
from equipoise.core.problem.problem import Problem
from equipoise.core.sparse import Recovery
from equipoise.core.stages.fresh import trial_state
from equipoise.core.stages.stage import Stage, acting_policy
from equipoise.errors import EquipoiseError, StateMismatch
from equipoise.version import __version__

FORMAT = 5
"""Raised when the shape of the data below changes."""

T = TypeVar("T")

# Scratch is not kept, and the contexts of a stage are columns of the contexts. What a policy remembers of
# assignments would follow from them, were none redacted.
_KEPT = (
    *("arms", "trial", "factors", "coefs", "gains", "whitener", "seen_factor", "outcomes", "rows"),
    *("spreads", "memory", *BASELINES),
)
_FOLLOWS = ("problem", "policy", "whole", "state", "recovery")
_PARTS = ("problem", "policy", "seed", "stage", "recovery", "arrays", "contexts", "book", "paused")
_STAGE = [field.name for field in dataclasses.fields(Stage) if field.name not in _FOLLOWS]


def to_data(record: Record, *, details: bool = True) -> dict[str, Any]:
    """A record that no longer changes, as plain data; without ``details`` units have keys alone."""
    stage = record.stage
    data = {
        **signature(record.policy),
        "problem": _fields(record.problem),
        "policy": record.policy,
        "seed": record.seed,
        "stage": {name: getattr(stage, name) for name in _STAGE},
        "recovery": None if stage.recovery is None else _fields(stage.recovery),
        "arrays": {name: getattr(record.state, name) for name in _KEPT},
        "contexts": record.contexts,
        "book": record.book.to_plain(record.step, details=details),
        "paused": record.paused,
    }
    return {**data, "digest": _digest({name: data[name] for name in _PARTS})}


def from_data(data: Any) -> Record:
    """The record that data tell of, in arrays of its own, or StateMismatch."""
    if not isinstance(data, dict) or "format" not in data:
        raise _mismatch(None, "it does not say how it is laid out")
    check_signature(data, data.get("policy"))
    record = possible_record(data)
    if data.get("digest") != _digest({name: data[name] for name in _PARTS}):
        raise damaged("its numbers are not those that were saved")
    return record


def check_signature(data: Mapping[str, Any], policy: Any) -> None:
    """Refuse data that another version has laid out."""
    written_by = data.get("version")
    if data.get("format") != FORMAT:
        raise _mismatch(written_by, f"its format is {data.get('format')!r}, not {FORMAT}")
    for name, ours in signature(policy).items():
        theirs = data.get(name)
        if name != "version" and theirs != ours:
            raise _mismatch(written_by, _difference(name, theirs, ours))


def possible_record(data: dict[str, Any]) -> Record:
    """The record of data whose layout is this version's, in arrays of its own, if there can be such a one."""
    try:
        record = _record(data)
        wrong = next(_impossible(record), None)
    except (EquipoiseError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise damaged(f"{type(error).__name__}, {error}") from error
    if wrong is not None:
        raise damaged(wrong)
    step, units = record.step, record.problem.units
    capacity = max(step, min(units, FIRST_CAPACITY))
    seen = np.ascontiguousarray(record.contexts[:, record.stage.columns])
    state = copied(record.state._replace(contexts=seen), capacity)
    contexts = state.contexts
    if not record.stage.whole:
        contexts = np.zeros((capacity, record.problem.dim))
        contexts[:step] = record.contexts
    return dataclasses.replace(
        record, stage=dataclasses.replace(record.stage, state=state), contexts=contexts
    )


def signature(policy: Any) -> dict[str, Any]:
    """What must be the same where data are written and where they are read, and the version."""
    records = {"ARM": ARM, "TRIAL": TRIAL, "ROW": ROW, "BASELINE": BASELINE}
    return {
        "format": FORMAT,
        "version": __version__,
        "numerics": NUMERICS,
        **{
            name: [list(field) for field in np.lib.format.dtype_to_descr(kind)]
            for name, kind in records.items()
        },
        "State": list(State._fields),
        "Problem": [field.name for field in dataclasses.fields(Problem)],
        "Stage": _STAGE,
        "Policy": [field.name for field in dataclasses.fields(policy)]
        if dataclasses.is_dataclass(policy)
        else [],
    }


def _digest(value: Any) -> str:
    """Of everything in plain data, to the last bit."""
    digest = hashlib.blake2b(digest_size=16)
    if isinstance(value, dict):
        parts = [f"{name}\0{_digest(value[name])}" for name in sorted(value)]
    elif isinstance(value, list | tuple):
        parts = [_digest(item) for item in value]
    elif isinstance(value, np.ndarray):
        parts = [f"{np.lib.format.dtype_to_descr(value.dtype)}{value.shape}"]
        digest.update(value.tobytes())
    elif isinstance(value, Policy):
        fields: dict[str, Any] = _fields(value) if dataclasses.is_dataclass(value) else {}
        parts = [type(value).__qualname__, _digest(fields)]
    else:
        parts = [repr(value)]
    digest.update("\0".join([type(value).__name__, *parts]).encode(errors="surrogatepass"))
    return digest.hexdigest()


def _difference(name: str, theirs: Any, ours: Any) -> str:
    """In words, which of two lists has what the other has not."""
    if not isinstance(theirs, list) or not isinstance(ours, list):
        return f"its {name} is {theirs!r}, not {ours!r}"
    lacks = [field for field in ours if field not in theirs]
    more = [field for field in theirs if field not in ours]
    if lacks or more:
        return f"its {name} lacks {lacks!r} and has {more!r} more"
    return f"its {name} has its fields in another order"


def _mismatch(written_by: Any, what: str) -> StateMismatch:
    earlier = written_by is None or written_by == __version__  # while it was made
    theirs = "an earlier version of equipoise" if earlier else f"equipoise {written_by}"
    return StateMismatch(
        f"{theirs} wrote this experiment, and {__version__} cannot read it: {what}",
        hint="load it with the version that wrote it, or ask and tell its history anew",
    )


def damaged(what: str) -> StateMismatch:
    """Data that no experiment can have."""
    return StateMismatch(
        f"this saved experiment is damaged: {what}",
        hint="load another copy, or ask and tell its history anew",
    )


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}


def _record(data: dict[str, Any]) -> Record:
    """The record as it stands in the data; values are looked at later."""
    problem, policy, seed = _problem(data["problem"]), data["policy"], checked_seed(data["seed"])
    if not isinstance(policy, Policy):
        raise TypeError(f"{policy!r} is not a policy")
    parts = {name: data["stage"][name] for name in _STAGE}
    columns = _array("columns", parts.pop("columns"), np.dtype(np.int64), (None,))
    if columns.size and not 0 <= columns.min() <= columns.max() < problem.dim:
        raise ValueError("columns that the contexts have not")
    acting = acting_policy(policy, columns if parts["chosen"] else None)
    part = problem if acting is policy else problem.on_columns(columns)
    fresh = trial_state(part, acting, seed, capacity=len(data["arrays"]["rows"]))
    arrays = {}
    for name in _KEPT:
        expected, stored = getattr(fresh, name), data["arrays"][name]
        shape = expected.shape
        if name in BASELINES and np.shape(stored)[:1] != (0,):
            shape = (1 + len(problem.arms), *shape[1:])
        arrays[name] = _array(name, stored, expected.dtype, shape)
    settings = score_settings(acting, part)
    stored = _array("settings", parts["settings"], settings.dtype, settings.shape)
    if stored.tobytes() != settings.tobytes():
        raise ValueError(f"settings of {acting.label} are others than they were")
    recovery = data["recovery"]
    stage = Stage(
        **{
            **parts,
            "columns": columns,
            "settings": settings,
            "needed": _array("needed", parts["needed"], np.dtype(np.int64), (len(problem.arms),)),
            "held": None
            if parts["held"] is None
            else _array("held", parts["held"], np.dtype(np.int64), (len(problem.arms),)),
        },
        problem=part,
        policy=acting,
        whole=acting is policy,
        state=fresh._replace(**arrays),
        recovery=None if recovery is None else Recovery(**recovery),
    )
    shape = (len(arrays["rows"]), problem.dim)
    contexts = _array("contexts", data["contexts"], np.dtype(float), shape)
    book = UnitBook.from_plain(data["book"], shape[0])
    return Record(problem, policy, seed, stage, contexts, book, bool(data["paused"]))


def _problem(data: dict[str, Any]) -> Problem:
    # Not by Problem(...), which would refuse a problem that arms have joined.
    problem: Problem = object.__new__(Problem)
    arms, dim = data["arms"], data["dim"]
    if (
        not isinstance(arms, tuple)
        or not all(isinstance(arm, str) for arm in arms)
        or len({*arms}) < len(arms)
    ):
        raise ValueError(f"arms {arms!r}")
    for name, value in data.items():
        if name in ("weights", "costs", "floors", "caps"):
            value = _array(name, value, np.dtype(float), (len(arms),)).copy()
        elif name == "moment" and value is not None:
            value = _array(name, value, np.dtype(float), (dim, dim)).copy()
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        object.__setattr__(problem, name, value)
    if not (isinstance(problem.units, int) and 0 <= problem.units and isinstance(dim, int) and 0 < dim):
        raise ValueError(f"{problem.units!r} units of {dim!r} features")
    if not isinstance(problem.features, Contexts) or problem.features.dim != dim:
        raise ValueError(f"features {problem.features!r} of {dim} columns")
    return problem


def _array(name: str, value: Any, kind: np.dtype[Any], shape: tuple[int | None, ...]) -> npt.NDArray[Any]:
    """An array of that type and shape; None: of any length."""
    if not isinstance(value, np.ndarray) or value.dtype != kind:
        raise TypeError(f"{name} is not an array of {kind}")
    if len(value.shape) != len(shape) or any(
        wanted not in (None, found) for found, wanted in zip(value.shape, shape, strict=True)
    ):
        raise ValueError(f"{name} has shape {value.shape}, not {shape}")
    # Files do not say that a record is aligned, and compiled code tells such types apart.
    return np.ascontiguousarray(value).view(kind)


def _impossible(record: Record) -> Iterator[str]:
    """What no experiment can have, in words."""
    state, problem = record.state, record.problem
    arms, trial, rows, m = state.arms, state.trial[0], state.rows, len(problem.arms)
    step = len(rows)
    if trial["step"] != step or step > problem.units:
        yield f"step {trial['step']} with {step} rows and {problem.units} units"
    fresh = trial_state(record.stage.problem, record.stage.policy, record.seed, capacity=0)
    for name in _FIXED_IN_TRIAL:
        if trial[name] != fresh.trial[name][0]:
            yield f"{name} {trial[name]} of the trial is not {fresh.trial[name][0]}"
    fresh.arms["floor"] = record.stage.floors
    for name in _FIXED_IN_ARMS:
        if not np.array_equal(arms[name], fresh.arms[name]):
            yield f"{name} {arms[name].tolist()} of the arms is not {fresh.arms[name].tolist()}"
    if not np.array_equal(np.sort(arms["order"]), np.arange(m)):
        yield f"order {arms['order'].tolist()} of the arms"
    for name in _FLAGS:
        if not np.isin(arms[name], (0, 1)).all():
            yield f"{name} {arms[name].tolist()} of the arms"
    for name in ("top", "chosen"):
        if not 0 <= trial[name] < m:
            yield f"{name} {trial[name]} of {m} arms"
    if (
        trial["limited"] not in (0, 1)
        or trial["moment_ready"] not in (0, 1)
        or not 0 <= trial["seen"] <= step
    ):
        yield "a trial with impossible flags"
    if not np.isin(rows["status"], range(6)).all():
        yield "a status that is not known"
    for name in ("top", "meant"):
        if step and not 0 <= rows[name].min() <= rows[name].max() < m:
            yield "a unit of an arm that is not there"
            return
    placed = (rows["arm"] >= 0) | ((rows["arm"] == NO_ARM_YET) & (rows["status"] == REDACTED))
    if step and not (placed.all() and rows["arm"].max() < m):
        yield "a unit of an arm that is not there"
        return
    if len({len(getattr(state, name)) for name in BASELINES}) > 1:
        yield "redacted units of which only a part is kept"
        return
    for name in ("gain_row", "last_row"):
        if not np.all((arms[name] >= -1) & (arms[name] < max(step, 1))):
            yield f"{name} {arms[name].tolist()} of the arms"
    if not np.all((rows["previous"] >= -1) & (rows["previous"] < np.arange(step))):
        yield "rows in an order that cannot be"
    if not np.any(rows["arm"] == NO_ARM_YET):
        yield from _miscounted(arms, state.baselines, rows, m)
    yield from _mistaken_rows(rows)
    if not np.all(np.abs(record.contexts) < LARGEST) or not np.all(np.abs(state.outcomes) < LARGEST):
        yield "contexts or outcomes that are not finite numbers"
    if state.factors[..., state.coefs.shape[1] :].any():
        yield "factors with something beyond their columns"


_FIXED_IN_TRIAL = (
    *("arms", "dim", "budget", "money", "exponent", "forced_start", "learns_moment", "looks", "pools"),
    *("seed", "chance"),
)
_FIXED_IN_ARMS = ("position", "cost", "floor", "cap")
_FLAGS = ("design_ready", "data_ready", "buffer", "provisional", "open", "eligible")


def _mistaken_rows(rows: npt.NDArray[Any]) -> Iterator[str]:
    """Probabilities and times that no unit can have."""
    chosen = rows["propensity"][~np.isnan(rows["propensity"])]
    if not np.all((chosen > 0.0) & (chosen <= 1.0 + ROUNDING)):
        yield "a unit whose arm had an impossible probability"
    likeliest, possible = rows["likeliest"], rows["possible"]
    if not np.all((likeliest >= 0.0) & (likeliest <= 1.0 + ROUNDING) & (possible >= 0)):
        yield "a unit that could have gone to impossible arms"
    closed, closed_at = np.isin(rows["status"], (TOLD, LOST, SET_ASIDE)), rows["closed_at"]
    before = np.where(closed, closed_at <= np.arange(len(rows)), closed_at < 0)
    if np.any(before | (closed_at > len(rows)) | ((rows["status"] == PENDING) & (closed_at != 0))):
        yield "an outcome that came before its unit, or when it was awaited"


def _miscounted(
    arms: npt.NDArray[Any], baselines: npt.NDArray[Any], rows: npt.NDArray[Any], m: int
) -> Iterator[str]:
    """Counts and links that the rows, and what redacted ones have left, do not bear out."""

    def count(*statuses: int) -> npt.NDArray[np.int64]:
        return np.bincount(rows["arm"][np.isin(rows["status"], statuses)], minlength=m)

    last, previous = np.full(m, -1), np.full(len(rows), -1)
    for i in range(m):
        mine = np.flatnonzero(rows["arm"] == i)
        if len(mine):
            last[i], previous[mine[1:]] = mine[-1], mine[:-1]
    kept = baselines["count"][1:] if len(baselines) else np.zeros(m, np.int64)
    if np.any(baselines["count"] < 0) or np.any(kept > count(REDACTED)):
        yield f"{kept.tolist()} outcomes of redacted units, of which there are {count(REDACTED).tolist()}"
    expected = {
        "assigned": np.bincount(rows["arm"], minlength=m),
        "count": count(PENDING, TOLD) + kept,
        "observed": count(TOLD) + kept,
        "pending": count(PENDING),
        "set_aside": count(SET_ASIDE),
        "last_row": last,
    }
    for name, values in expected.items():
        if not np.array_equal(arms[name], values):
            yield f"{name} {arms[name].tolist()} of the arms, and rows that say {values.tolist()}"
    if not np.array_equal(rows["previous"], previous):
        yield "rows in an order that cannot be"
