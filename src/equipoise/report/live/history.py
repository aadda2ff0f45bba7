"""What happened to every unit: from the entries of a log, or from what an experiment in memory knows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from equipoise.core.experiment.experiment import Experiment
from equipoise.core.experiment.history.events import ASKED, is_by_person
from equipoise.core.experiment.reading import ExperimentReader
from equipoise.core.experiment.units.book import Details
from equipoise.core.experiment.units.unit import STATUS, is_given_by_person
from equipoise.live.log.receipts import Receipt, line_of

PENDING, TOLD, LOST, WITHDRAWN = "pending", "told", "lost", "withdrawn"
PRACTICE = "practice"
"""The mode of experiments whose units are not real."""
REDACTED = "redacted"
"""Of a unit whose data were erased, whatever had become of it before; no unit has two statuses."""
NO_RULE = "nothing: it was not at hand"
"""What the rule chose where the policy was missing."""
CERTAIN = 1.0 - 1e-9
"""Probabilities as close to 1 as this are certainty."""
# How often a log is read again while others write to it.
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a log. ``event`` is plain data with a ``kind``; None where it was erased."""

    sequence: int
    kind: str
    event: Mapping[str, Any] | None
    time: datetime | None = None
    actor: str | None = None
    reason: str | None = None
    version: str | None = None
    numerics: int | None = None
    epoch: int = 1
    mode: str | None = None
    hash: bytes | None = None


@dataclass(slots=True)
class UnitPath:
    """One unit from its assignment to its outcome."""

    id: int
    key: str | None = None
    assigned: str | None = None
    """The arm it was given; None if its entry was erased and nothing else tells."""
    received: str | None = None
    """The arm it got instead of the assigned one; None: the assigned one."""
    rule: str | None = None
    """What the rule chose where a person gave the arm; None: no person did."""
    status: str = PENDING
    time: datetime | None = None
    closed: datetime | None = None
    """When its outcome came, or it was given up."""
    corrections: int = 0
    kept: bool = False
    """Whether it is redacted and its outcome still counts, by frozen sums; a log tells, memory does not."""
    forced: bool | None = None
    """Whether its arm had to go first, to be fitted at all; None if scores were not kept."""
    restricted: bool = False
    """Whether only some arms were allowed."""
    together: bool = False
    """Whether it was assigned together with others."""
    propensity: float = float("nan")
    likeliest: float = float("nan")
    possible: int = 0
    outcome: float | None = None
    given: Mapping[str, Any] | None = None
    """Its record in the user's fields, if there is one."""

    @property
    def arm(self) -> str | None:
        """The arm it is analysed in: what it received."""
        return self.assigned if self.received is None else self.received

    @property
    def redacted(self) -> bool:
        """Whether its data were erased."""
        return self.status == REDACTED

    @property
    def counts(self) -> bool:
        """Whether its outcome is in the models."""
        return self.status == TOLD or self.kept

    @property
    def name(self) -> str:
        """Its key, or its number."""
        return f"#{self.id}" if self.key is None else self.key


@dataclass(frozen=True)
class History:
    """Entries, and what they say of every unit."""

    entries: Sequence[Entry] = ()
    """All of a log's, in their order; none for an experiment in memory."""
    units: Sequence[UnitPath] = ()
    """In the order of assignment."""
    name: str | None = None
    """Of a live experiment."""
    store: str | None = None
    """Where it is, as an address."""
    head: str | None = None
    """Receipt of the newest entry."""
    mode: str | None = None
    overdue: frozenset[int] | None = None
    """Numbers of units whose outcome is late; None where there is no deadline."""
    deadline: timedelta | None = None
    """How long an outcome may take."""

    @property
    def logged(self) -> bool:
        """Whether there is a log."""
        return bool(self.entries)

    @property
    def drawn(self) -> bool:
        """Whether lots were drawn: a unit might have gone to another arm, once its context was known."""
        return any(unit.propensity < CERTAIN for unit in self.units)

    @property
    def timed(self) -> bool:
        """Whether every unit has a time."""
        return bool(self.units) and all(unit.time is not None for unit in self.units)

    def of(self, *kinds: str) -> Iterator[Entry]:
        """Entries of these kinds."""
        return (entry for entry in self.entries if entry.kind in kinds)

    def unit(self, event: Mapping[str, Any]) -> UnitPath | None:
        """The unit that an event is about."""
        place = int(event["id"]) - 1 if "id" in event else -1
        return self.units[place] if 0 <= place < len(self.units) else None

    @property
    def versions(self) -> list[str]:
        """Versions of the library and numbers of its arithmetic that wrote the log, oldest first."""
        said = [f"{each.version}, numerics {each.numerics}" for each in self.entries if each.version]
        return list(dict.fromkeys(said))


def as_entry(row: Any) -> Entry:
    """A log's own entry, or any object with the same attributes, as one of ours."""
    if isinstance(row, Entry):
        return row
    names = [field.name for field in fields(Entry)]
    return Entry(**{name: getattr(row, name) for name in names})


def foldable(entry: Any) -> dict[str, Any]:
    """The event of an entry, or its kind alone once it is erased."""
    return {"kind": entry.kind} if entry.event is None else dict(entry.event)


def history_of(experiment: ExperimentReader) -> tuple[History, Experiment]:
    """What happened, and the experiment in memory that it has led to.

    A live experiment has a log; of one in memory only what its units still say is known.
    """
    live: Any = experiment
    if not hasattr(live, "log"):
        copied = experiment.in_memory()
        return history_of_memory(copied), copied
    for _ in range(_TRIES):
        entries = list(live.log())
        copied = experiment.in_memory()
        if not any(True for _ in live.log(after=entries[-1].sequence)):
            break  # nobody has written in between
    else:
        # Others do not stop to write: the state that these entries lead to is folded from them.
        copied = Experiment.replay([foldable(entry) for entry in entries])
    return history_of_log(entries, name=live.name, store=live.store.url), copied


def history_of_log(
    rows: Iterable[Any], *, name: str | None = None, store: str | None = None, now: datetime | None = None
) -> History:
    """The history that a log tells; ``now`` is what overdue outcomes are judged by, this moment "
    "unless given."""
    entries = [as_entry(row) for row in rows]
    units, created = _units(entries), (entries[0].event or {}) if entries else {}
    last = entries[-1] if entries else None
    head = None
    if name is not None and last is not None and last.hash is not None:
        began = [entry.hash for entry in entries if entry.kind == "restored" and entry.hash is not None]
        line = line_of(began[-1]) if began else ""
        head = str(Receipt(name, last.epoch, last.sequence, last.hash, line))
    seconds = (created.get("live") or {}).get("deadline")
    deadline = None if seconds is None else timedelta(seconds=float(seconds))
    return History(
        entries=entries,
        units=units,
        name=name,
        store=store,
        head=head,
        mode=None if last is None else last.mode,
        deadline=deadline,
        overdue=None if deadline is None else _overdue(units, deadline, now or datetime.now(UTC)),
    )


def history_of_memory(experiment: Experiment) -> History:
    """What an experiment in memory still knows of its units."""
    record = experiment._snapshot()
    arms, book = record.problem.arms, record.book
    units = []
    for place, row in enumerate(record.state.rows):
        details = book.details[place]
        assigned, received = int(row["meant"]), int(row["arm"])
        known = details is not None and len(details.scores) > assigned and not details.weighed
        units.append(
            UnitPath(
                id=place + 1,
                key=book.keys[place],
                assigned=arms[assigned],
                received=None if received == assigned else arms[received],
                rule=_rule(row, details, arms),
                status=STATUS[int(row["status"])],
                forced=bool(details.scores[assigned] == math.inf) if known and details is not None else None,
                restricted=details is not None and details.eligible is not None,
                propensity=float(row["propensity"]),
                likeliest=float(row["likeliest"]),
                possible=int(row["possible"]),
                given=details.given if details is not None and isinstance(details.given, Mapping) else None,
            )
        )
    return History(units=units)


def _rule(row: Any, details: Details | None, arms: Sequence[str]) -> str | None:
    """What the rule chose where a person gave the arm; without details, which arm had the highest score."""
    if not is_given_by_person(row, details):
        return None
    return arms[int(row["top"])] if details is None else details.chosen or NO_RULE


def _overdue(units: Sequence[UnitPath], deadline: timedelta, now: datetime) -> frozenset[int]:
    late = [unit for unit in units if unit.time is not None and now - unit.time > deadline]
    return frozenset(unit.id for unit in late if unit.status == PENDING)


def _units(entries: Sequence[Entry]) -> list[UnitPath]:
    """Every unit's path, told by the entries in their order."""
    units: list[UnitPath] = []
    arms: list[str] = []
    for entry in entries:
        event: Mapping[str, Any] = entry.event or {}
        if entry.kind == "created":
            arms = [*event.get("problem", {}).get("arms", ())]
        elif entry.kind == "arm_added":
            arms.append(event["arm"])
        elif entry.kind in ASKED:
            unit = _asked(event, entry, len(units) + 1, arms)
            unit.together = entry.kind == "asked_together"
            units.append(unit)
        elif entry.kind == "redacted":
            for number in event.get("ids", ()):
                units[number - 1].status = REDACTED
            for row in event.get("rows", ()):
                _told_again(units[row["id"] - 1], row, arms)
        elif "id" in event and int(event["id"]) <= len(units):
            _entered(units[int(event["id"]) - 1], entry, event)
    return units


def _asked(event: Mapping[str, Any], entry: Entry, number: int, arms: Sequence[str]) -> UnitPath:
    scores = event.get("scores")
    arm = event.get("arm")
    forced = None
    if scores is not None and arm in arms and not event.get("weighed"):
        place = arms.index(arm)
        forced = place < len(scores) and float(scores[place]) == math.inf
    given = event.get("given")
    return UnitPath(
        id=int(event.get("id", number)),
        key=event.get("unit"),
        assigned=arm,
        rule=(event["chosen"] or NO_RULE) if is_by_person(event) else None,
        time=entry.time,
        forced=forced,
        restricted=event.get("eligible") is not None,
        propensity=_number(None if is_by_person(event) else event.get("propensity")),
        likeliest=_number(event.get("likeliest")),
        possible=int(event.get("possible") or 0),
        given=given if isinstance(given, Mapping) else None,
    )


def _entered(unit: UnitPath, entry: Entry, event: Mapping[str, Any]) -> None:
    """Take in what an entry says of a unit that was assigned."""
    if entry.kind in ("told", "corrected"):
        unit.corrections += entry.kind == "corrected"
        if unit.status != TOLD:
            unit.closed = entry.time
        unit.status, unit.outcome = TOLD, _number(event.get("outcome"))
    elif entry.kind in (LOST, WITHDRAWN):
        unit.status, unit.closed = entry.kind, entry.time
    elif entry.kind == "received":
        unit.received = None if event["arm"] == unit.assigned else event["arm"]


def _told_again(unit: UnitPath, row: Mapping[str, Any], arms: Sequence[str]) -> None:
    """Take in what a redaction still tells of a unit whose entries are gone."""
    unit.assigned = arms[row["meant"]]
    unit.received = None if row["arm"] == unit.assigned else row["arm"]
    unit.status = REDACTED
    unit.kept = unit.kept or row.get("was") == TOLD
    unit.propensity, unit.likeliest = _number(row["propensity"]), _number(row["likeliest"])
    unit.possible = int(row["possible"])
    if unit.received is None and not math.isfinite(unit.propensity):
        unit.rule = arms[row["top"]]  # only an arm that a person gave has no probability


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
