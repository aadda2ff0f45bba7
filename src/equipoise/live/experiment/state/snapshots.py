"""Snapshots: the state at one row as a block of bytes, so that opening folds only the rows after it.

A snapshot is never the truth. It is used if version, numerics and format are the same, the digests of its
store and of the experiment in it hold, and the log has that row with that hash; otherwise the log is folded
from its start.

Of every ``spacing`` rows one asks for a snapshot, and whoever has written that row saves it after the answer
is known, outside all locks but for the time that copying the state takes. A process saves none before twenty
times the duration of its last one has passed, so that snapshots cost at most a twentieth of its time. Whoever
writes the last row before closing, and whoever had to fold a long tail to open, saves one too.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.experiment.experiment import Experiment
from equipoise.errors import EquipoiseError
from equipoise.live.experiment.state.fold import Fold
from equipoise.live.experiment.state.moments import Moments
from equipoise.live.log.encoding import decode, encode
from equipoise.live.stores.store import Snapshot, Store
from equipoise.version import __version__

LABEL = f"4 {__version__} {NUMERICS}"
"""Format of the bytes, version and numerics: a snapshot of another label is not read."""

_LENGTH = struct.Struct("<Q")
_LEAST, _MOST = 1024, 8192
_PATIENCE = 20.0

Arrays = Mapping[str, npt.NDArray[Any]]


def spacing(sequence: int) -> int:
    """Rows between snapshots: about an eighth of the log, so that short logs have them early."""
    return min(max(1 << max(sequence.bit_length() - 3, 0), _LEAST), _MOST)


def is_crossed(first: int, last: int) -> bool:
    """Whether one of the rows from ``first`` to ``last`` asks for a snapshot."""
    every = spacing(last)
    return last // every > (first - 1) // every


def load_fold(store: Store, name: str) -> tuple[Fold, int]:
    """The state at the end of the log, and the row of the snapshot that it began with."""
    snapshot = store.load_snapshot(name)
    fold = None if snapshot is None else _unpacked(name, snapshot)
    if snapshot is not None and fold is not None:
        rows = store.read(name, snapshot.sequence - 1)
        row = next(rows, None)
        if row is not None and row.hash == snapshot.hash:
            began = fold.sequence
            fold.catch_up(rows)
            if fold.redacted:
                drop_outdated(store, name)
            return fold, began
    fold = Fold(name)
    fold.catch_up(store.read(name))
    return fold, 0


def drop_outdated(store: Store, name: str) -> None:
    """Remove snapshots that hold what was erased since; whoever may not write leaves that to others."""
    with suppress(EquipoiseError):
        store.drop_snapshots(name)
        store.scrub(wait=0.0)


class Snapshots:
    """When this process saves snapshots of an experiment, and how."""

    def __init__(self, store: Store, saved: int) -> None:
        self._store = store
        self._saved = saved
        self._not_before = 0.0
        self._nearest = 0
        """No row before it asks for a snapshot: spacings only grow, each a multiple of the one before."""

    def is_due(self, first: int, last: int) -> bool:
        """Whether whoever has written these rows saves a snapshot now."""
        if last < self._nearest:
            return False
        every = spacing(last)
        self._nearest = (last // every + 1) * every
        return is_crossed(first, last) and time.monotonic() >= self._not_before

    def is_far(self, sequence: int) -> bool:
        """Whether the last snapshot that this process knows of is far behind."""
        return sequence - self._saved >= spacing(sequence)

    def save(self, arrays: Arrays, meta: dict[str, Any], hash: bytes) -> None:
        """Save a state that was copied."""
        began = time.monotonic()
        self._saved = int(meta["sequence"])
        self._store.save_snapshot(meta["name"], self._saved, hash, LABEL, pack(arrays, meta))
        now = time.monotonic()
        self._not_before = now + _PATIENCE * (now - began)


def copied(fold: Fold) -> tuple[Arrays, dict[str, Any], bytes]:
    """A state as arrays that no longer change, and what else is to be known of it."""
    meta = {
        "name": fold.name,
        "sequence": fold.sequence,
        "time": fold.time,
        "mode": fold.mode,
        "deadline": None if fold.deadline is None else fold.deadline.total_seconds(),
    }
    meta["lines"] = list(fold.lines)
    return {**fold.experiment.snapshot(), "live_moments": fold.moments.table()}, meta, fold.hash


def pack(arrays: Arrays, meta: dict[str, Any]) -> bytes:
    """One block of bytes: how it is laid out, then the arrays as they lie in memory."""
    parts = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    layout = [
        [name, np.lib.format.dtype_to_descr(array.dtype), list(array.shape)] for name, array in parts.items()
    ]
    head = encode({"meta": meta, "arrays": layout})
    head += b" " * (-(len(head) + _LENGTH.size) % 64)
    pieces: list[Any] = [_LENGTH.pack(len(head)), head]
    for array in parts.values():
        pieces += [array.tobytes(), bytes(-array.nbytes % 64)]
    return b"".join(pieces)


def unpack(blob: bytes) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """The arrays and what else was known, or ValueError."""
    (length,) = _LENGTH.unpack_from(blob)
    place = _LENGTH.size + length
    head = decode(blob[_LENGTH.size : place])
    arrays = {}
    for name, descr, shape in head["arrays"]:
        kind = np.lib.format.descr_to_dtype(_tuples(descr))
        count = int(np.prod(shape, dtype=np.int64))
        # A copy may be written to; compiled code tells arrays that may not apart, and would be compiled anew.
        arrays[name] = np.frombuffer(blob, kind, count, place).reshape(shape).copy()
        size = count * kind.itemsize
        place += size + -size % 64
    return arrays, head["meta"]


def _unpacked(name: str, snapshot: Snapshot) -> Fold | None:
    """The state that a snapshot holds; None where anything does not fit."""
    if snapshot.label != LABEL:
        return None
    try:
        arrays, meta = unpack(snapshot.blob)
        if (meta["name"], meta["sequence"]) != (name, snapshot.sequence):
            return None
        moments = arrays.pop("live_moments")
        fold = Fold(name)
        fold.begin(Experiment.restore(arrays), meta["lines"])
    except (EquipoiseError, LookupError, TypeError, ValueError, struct.error):
        return None
    fold.moments = Moments(moments)
    fold.sequence, fold.hash = snapshot.sequence, snapshot.hash
    fold.time, fold.mode = meta["time"], meta["mode"]
    deadline = meta["deadline"]
    fold.deadline = None if deadline is None else timedelta(seconds=deadline)
    return fold


def _tuples(descr: Any) -> Any:
    """The description of a record's fields, as NumPy wants it."""
    if isinstance(descr, list):
        return [(name, kind, *map(tuple, rest)) for name, kind, *rest in descr]
    return descr
