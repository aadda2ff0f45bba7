"""What clients saw, held against the log, in Jepsen's manner: a reader that knows nothing of the library.

It reads the archive of a log, which is text, with ``json`` and ``hashlib`` alone. The rules:

- ``chain``     every hash is what the documented format says, numbers have no gaps, times do not go back;
- ``lost``      an acknowledged call is in the log;
- ``doubled``   a unit is asked for once and told of once, whatever was repeated;
- ``ids``       ids are 1, 2, 3, … in the order of the log;
- ``answer``    arm, id and context of a unit are those of its row, for every client and for ever;
- ``receipt``   a receipt names a row that is there, with its hash and epoch: of ``ask`` the unit's own row,
  of ``tell`` one that is not before it;
- ``invented``  nothing is in the log that nobody called, or whose only caller was told that it was not
  stored;
- ``order``     a call that ended before another began comes first.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

ROW_OF = {"ask": "asked", "tell": "told"}


@dataclass(frozen=True)
class Call:
    """One call of one client. Times are of a clock that all clients share."""

    client: str
    act: str
    """``"ask"`` or ``"tell"``."""
    unit: str
    value: Any
    """The context, or the outcome."""
    begin: float
    end: float = inf
    """Infinite: the client was killed before it heard anything."""
    answer: dict[str, Any] | None = None
    """``arm``, ``id`` and ``receipt`` of an ask, ``receipt`` of a tell; None unless acknowledged."""
    refused: bool = False
    """Whether the client was told that nothing was stored."""


@dataclass(frozen=True)
class LogRow:
    """One row, as the archive has it."""

    sequence: int
    time: int
    header: str
    salt: str | None
    payload: str | None
    payload_hash: str
    hash: str


class Finding(NamedTuple):
    """A rule that was broken."""

    rule: str
    what: str


@dataclass
class _Event:
    """A row that some call must have written."""

    row: LogRow
    kind: str
    actor: str
    fields: dict[str, Any]
    calls: list[Call] = field(default_factory=list)


def read_archive(path: str | Path) -> tuple[str, list[LogRow]]:
    """The name of an experiment, and its rows."""
    raw = Path(path).read_bytes()
    text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    first, *lines, last = map(json.loads, text.decode("ascii").splitlines())
    assert last == {"end": len(lines)}, "the archive is cut off"
    return first["name"], [LogRow(**line) for line in lines]


def check_history(name: str, calls: list[Call], rows: list[LogRow]) -> None:
    """Raise AssertionError with what is wrong, if anything is."""
    found = findings(name, calls, rows)
    listed = "\n".join(f"{rule}: {what}" for rule, what in found[:20])
    assert not found, f"{len(found)} things are wrong with this history:\n{listed}"


def findings(name: str, calls: list[Call], rows: list[LogRow]) -> list[Finding]:
    """All that is wrong with a history; rows that neither an ask nor a tell writes are only chained."""
    found = _chain(name, rows)
    if found:
        return found  # what such rows say is worth nothing
    events = list(_events(rows))
    places: dict[tuple[str, str], list[_Event]] = defaultdict(list)
    for event in events:
        places[event.kind, event.fields.get("unit", "")].append(event)
    for (kind, unit), same in places.items():
        if len(same) > 1:
            found.append(Finding("doubled", f"{kind} {unit!r} is in rows {[e.row.sequence for e in same]}"))
    ids = [event.fields["id"] for event in events if event.kind == "asked"]
    if ids != list(range(1, len(ids) + 1)):
        found.append(Finding("ids", f"they are not 1, 2, 3, …: {_first_gap(ids)}"))
    by_sequence = {row.sequence: row for row in rows}
    for call in calls:
        for event in places.get((ROW_OF[call.act], call.unit), []):
            event.calls.append(call)
        found += _of_call(name, call, places, by_sequence)
    for event in events:
        found += _explained(event, places)
    return found + _order(events)


def _chain(name: str, rows: list[LogRow]) -> list[Finding]:
    previous, before = bytes(32) + name.encode(), 0
    for number, row in enumerate(rows, 1):
        header = json.loads(row.header)
        if row.payload is not None:
            salted = bytes.fromhex(row.salt or "") + row.payload.encode()
            if _hash(salted).hex() != row.payload_hash:
                return [Finding("chain", f"row {number}: its payload is not what was hashed")]
        previous = _hash(previous + bytes.fromhex(row.payload_hash) + row.header.encode())
        if previous.hex() != row.hash:
            return [Finding("chain", f"row {number}: its hash does not follow")]
        if not row.sequence == header["sequence"] == number:
            return [Finding("chain", f"row {number} says that it is {row.sequence}")]
        if row.time != header["time"] or row.time < before:
            return [Finding("chain", f"row {number}: its time is another one, or goes back")]
        before = row.time
    return []


def _hash(text: bytes) -> bytes:
    return blake2b(text, digest_size=32).digest()


def _events(rows: list[LogRow]):
    for row in rows:
        header = json.loads(row.header)
        kind = {"asked_together": "asked"}.get(header["kind"], header["kind"])
        if kind in ROW_OF.values() and row.payload is not None:
            yield _Event(row, kind, header["actor"], json.loads(row.payload))


def _first_gap(ids: list[int]) -> str:
    wrong = next((i for i, (a, b) in enumerate(pairwise([0, *ids])) if b != a + 1), 0)
    return f"{ids[max(wrong - 2, 0) : wrong + 3]} around place {wrong + 1}"


def _of_call(name, call, places, by_sequence) -> list[Finding]:
    """What an acknowledged call was told, against what is there."""
    if call.answer is None:
        return []
    said = f"{call.client}: {call.act} {call.unit!r}"
    same = places.get((ROW_OF[call.act], call.unit), [])
    if not same:
        return [Finding("lost", f"{said} was acknowledged, and is not in the log")]
    found, event = [], same[0]
    if call.act == "ask":
        wanted = {"arm": call.answer["arm"], "id": call.answer["id"], "x": call.value}
    else:
        wanted = {"outcome": call.value}
    there = {key: event.fields.get(key) for key in wanted}
    if there != wanted:
        found.append(Finding("answer", f"{said}: {wanted} was acknowledged, the log has {there}"))
    return found + _receipt(name, said, call, event.row, by_sequence)


def _receipt(name, said, call, row, by_sequence) -> list[Finding]:
    where, _, rest = call.answer["receipt"].rpartition("@")
    epoch, sequence, link = rest.split(":")
    named = by_sequence.get(int(sequence))
    if where != name or named is None or named.hash != link:
        return [Finding("receipt", f"{said}: {call.answer['receipt']} names no row that is there")]
    if epoch.partition("-")[0] != str(json.loads(named.header)["epoch"]):
        return [Finding("receipt", f"{said}: {call.answer['receipt']} is of another epoch than its row")]
    if named.sequence < row.sequence or (call.act == "ask" and named is not row):
        return [Finding("receipt", f"{said}: it names row {sequence}, the call is in row {row.sequence}")]
    return []


def _explained(event, places) -> list[Finding]:
    """Whether somebody has called what a row says, who was not told that it was not stored."""
    said = f"row {event.row.sequence}, {event.kind} {event.fields.get('unit')!r} by {event.actor}"
    value = event.fields["x"] if event.kind == "asked" else event.fields["outcome"]
    if not any(
        call.client == event.actor and call.value == value and not call.refused for call in event.calls
    ):
        return [Finding("invented", f"{said}: nobody has called that")]
    if event.kind == "told":
        asked = places.get(("asked", event.fields.get("unit", "")), [])
        if not asked or asked[0].row.sequence > event.row.sequence:
            return [Finding("order", f"{said}: it was told before it was asked")]
        if asked[0].fields["id"] != event.fields["id"]:
            return [Finding("answer", f"{said}: its id is {event.fields['id']}, the unit's is another")]
    return []


def _order(events: list[_Event]) -> list[Finding]:
    """A moment for every row, in the order of the log and inside of the calls that wrote and saw it."""
    moment, holder = -inf, None
    for event in events:
        writers = [c for c in event.calls if c.client == event.actor and not c.refused]
        begin = min((call.begin for call in writers), default=-inf)
        end = min((call.end for call in event.calls if call.answer is not None), default=inf)
        if begin > moment:
            moment, holder = begin, event
        if end < moment:
            return [
                Finding(
                    "order",
                    f"row {event.row.sequence} was acknowledged before row {holder.row.sequence} was begun",
                )
            ]
    return []
