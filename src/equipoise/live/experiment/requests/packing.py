"""Answers as bytes, on the board that processes share.

An answer holds the rows that tell of a request, from which the one who asked makes the same answer that it
would have got by itself. Where rows are too long for the board, it reads them from the log.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from equipoise.live.experiment.requests.answer import Answer
from equipoise.live.stores.board import LONGEST_ANSWER
from equipoise.live.stores.chain import HASH_BYTES
from equipoise.live.stores.store import Row

_HEAD = struct.Struct("<?")
"""Whether rows follow; else they are in the log alone."""
_OUTCOME = struct.Struct(f"<?qH{HASH_BYTES}s")
"""Whether a request was done, the last row then, how many rows tell of it, and the hash of the last row."""
_ROW = struct.Struct(f"<qqIBI{HASH_BYTES}s{HASH_BYTES}s")


class Outcome(NamedTuple):
    """What a request that was done has come to."""

    last: int
    """The last row that it has written, or that there was."""
    link: bytes
    """Its hash."""
    told_by: int
    """How many rows tell of it."""
    rows: Sequence[Row] | None
    """These rows; None: they are in the log alone."""


def fit(requests: int) -> bool:
    """Whether the outcomes of so many requests fit into an answer, without their rows."""
    return _HEAD.size + requests * _OUTCOME.size <= LONGEST_ANSWER


def packed(answers: Sequence[tuple[Answer | None, BaseException | None] | None]) -> bytes:
    """What requests have come to. One that failed, or asked for what is known already, is not done."""
    outcomes, rows = [], []
    for given in answers:
        answer, error = given or (None, None)
        # A value can be made of rows alone; of an outcome that was known already there is none.
        if answer is None or error is not None or not (answer.rows or answer.value is None):
            outcomes.append(_OUTCOME.pack(False, 0, 0, b""))
            rows.append(b"")
        else:
            last = answer.receipt
            outcomes.append(_OUTCOME.pack(True, last.sequence, len(answer.rows), last.hash))
            rows.append(b"".join(map(_packed_row, answer.rows)))
    whole = _HEAD.pack(True) + b"".join(outcomes) + b"".join(rows)
    return whole if len(whole) <= LONGEST_ANSWER else _HEAD.pack(False) + b"".join(outcomes)


def unpacked(data: bytes, requests: int) -> Iterator[Outcome | None]:
    """What so many requests have come to; None for one that was not done."""
    (has_rows,) = _HEAD.unpack_from(data)
    place = _HEAD.size + requests * _OUTCOME.size
    for number in range(requests):
        is_done, last, count, link = _OUTCOME.unpack_from(data, _HEAD.size + number * _OUTCOME.size)
        rows: list[Row] | None = [] if has_rows else None
        if rows is not None:
            for _ in range(count):
                row, place = _unpacked_row(data, place)
                rows.append(row)
        yield Outcome(last, link, count, rows) if is_done else None


def _packed_row(row: Row) -> bytes:
    payload = row.payload or b""
    sizes = len(row.header), len(row.salt), len(payload)
    head = _ROW.pack(row.sequence, row.time, *sizes, row.payload_hash, row.hash)
    return head + row.header + row.salt + payload


def _unpacked_row(data: bytes, place: int) -> tuple[Row, int]:
    """A row, and where the next one begins."""
    sequence, time, header_size, salt_size, payload_size, covered, link = _ROW.unpack_from(data, place)
    header = place + _ROW.size
    salt = header + header_size
    payload = salt + salt_size
    end = payload + payload_size
    return (
        Row(sequence, time, data[header:salt], data[salt:payload], data[payload:end], covered, link),
        end,
    )
