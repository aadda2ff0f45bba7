"""How rows hang together: every hash covers the one before, so no row can be changed, dropped or put between.

The hash covers a salted hash of the payload instead of the payload, so that a person's data can be erased and
the chain still holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from equipoise.errors import InvalidArgument
from equipoise.live.stores.names import full_name
from equipoise.live.stores.store import FIRST_EPOCH, MODES, Head, Row

HASH_BYTES = 32
SALT_BYTES = 16
_MOST = 2**63 - 1
_LATEST = 253_402_300_800_000_000
"""Microseconds up to the end of the year 9999: no later time has a date."""


def first_link(name: str) -> bytes:
    """What stands before the first row: no row can be moved to an experiment of another name."""
    return bytes(HASH_BYTES) + full_name(name).encode()


def hash_payload(salt: bytes, payload: bytes) -> bytes:
    """What the chain keeps of a payload."""
    return blake2b(salt + payload, digest_size=HASH_BYTES).digest()


def link(previous: bytes, payload_hash: bytes, header: bytes) -> bytes:
    """The hash of a row."""
    return blake2b(previous + payload_hash + header, digest_size=HASH_BYTES).digest()


class Chained(tuple[Row, ...]):
    """Rows of one moment that :func:`chained` has linked, so that nobody need compute their hashes again."""

    previous: bytes
    """The hash that the first one follows on."""

    def continues(self, head: Head) -> bool:
        """Whether they come right after a head."""
        first = self[0]
        is_next = first.sequence == head.sequence + 1 and self.previous == head.hash
        return is_next and head.updated <= first.time < _LATEST and first.time > 0


def chained(
    previous: bytes, sequence: int, time: int, parts: Iterable[tuple[bytes, bytes, bytes]]
) -> Chained:
    """Rows that follow on row ``sequence``, whose hash is ``previous``, of headers, salts and payloads."""
    rows, before = [], previous
    for header, salt, payload in parts:
        sequence += 1
        covered = hash_payload(salt, payload)
        before = link(before, covered, header)
        rows.append(Row(sequence, time, header, salt, payload, covered, before))
    made = Chained(rows)
    made.previous = previous
    return made


def empty_head(name: str, mode: str, epoch: int = FIRST_EPOCH) -> Head:
    """An experiment before its first row."""
    if mode not in MODES:
        raise InvalidArgument(f"no mode {mode!r}", hint=f"it is {' or '.join(map(repr, MODES))}")
    if not FIRST_EPOCH <= epoch <= _MOST:
        raise InvalidArgument(f"the epoch {epoch} is below {FIRST_EPOCH}")
    name = full_name(name)
    return Head(name, mode, 0, first_link(name), epoch, 0, 0)


def check_begun(head: Head) -> None:
    """Refuse an experiment without a row."""
    if not head.sequence:
        raise InvalidArgument(f"{head.name!r} would begin without a row")


def extended(head: Head, rows: Sequence[Row], epoch: int | None = None) -> Head:
    """The head after more rows; refuses rows that do not continue it."""
    if epoch is not None and not head.epoch < epoch <= _MOST:
        raise InvalidArgument(f"the epoch {epoch} does not come after {head.epoch}")
    if not rows:
        return head if epoch is None else head._replace(epoch=epoch)
    if not (isinstance(rows, Chained) and rows.continues(head)):
        _check(head, rows)
    last = rows[-1]
    return Head(
        head.name,
        head.mode,
        last.sequence,
        last.hash,
        head.epoch if epoch is None else epoch,
        rows[0].time if head.sequence == 0 else head.created,
        last.time,
    )


def _check(head: Head, rows: Sequence[Row]) -> None:
    previous, sequence, time = head.hash, head.sequence, head.updated
    for row in rows:
        sequence += 1
        wrong = _what_is_wrong(row, previous, sequence, time)
        if wrong:
            raise InvalidArgument(f"row {row.sequence} does not continue {head.name!r}: {wrong}")
        previous, time = row.hash, row.time


def _what_is_wrong(row: Row, previous: bytes, sequence: int, time: int) -> str | None:
    if row.sequence != sequence:
        return f"its number should be {sequence}"
    if not 0 < row.time < _LATEST:
        return "its time is before 1970 or after the year 9999, so the store's clock is wrong"
    if row.time < time:
        return f"its time is before that of the row before, {time}"
    if row.payload is None:
        if row.salt:
            return "its payload was erased, its salt was not"
    elif len(row.salt) != SALT_BYTES or hash_payload(row.salt, row.payload) != row.payload_hash:
        return "the hash of its payload is another one"
    if link(previous, row.payload_hash, row.header) != row.hash:
        return "its hash does not follow from the one before"
    return None
