"""Everything that persons did to the course of an experiment, with date, name and reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import count
from typing import Any

from equipoise.core.experiment.history.events import ASKED, is_by_person
from equipoise.report.document import Block, Table, Text
from equipoise.report.live.history import NO_RULE, Entry, History
from equipoise.words import counted

_MOST = 400
DECISIONS = ("arm_closed", "arm_reopened", "arm_added", "budget_changed", "paused", "resumed", "restored")
"""What changes the experiment itself."""
_ERASED = {
    "lost": "outcome lost",
    "withdrawn": "unit withdrawn",
    "received": "received another arm",
    "corrected": "outcome corrected",
}
"""What is left to say of entries whose data are gone."""


def deviation_blocks(history: History) -> list[Block]:
    """A table of all entries that are no ordinary ask or tell."""
    if not history.logged:
        lost = Counter(unit.status for unit in history.units)
        return [
            Text(
                "This experiment was kept in memory, without a log: who did what, when and why is not "
                f"known. {counted(lost['lost'], 'outcome was', 'outcomes were')} declared lost, "
                f"{counted(lost['withdrawn'], 'unit was', 'units were')} withdrawn. "
                "A live experiment (eq.create_experiment) keeps all of it."
            )
        ]
    found = list(deviations(history))
    if not found:
        return [Text("None: every unit went where the rule sent it, and nothing was taken back or changed.")]
    kinds = Counter(row[1].split(":")[0] for row in found)
    text = (
        "Arms given by persons, arms received instead of the assigned ones, corrections, losses, "
        "withdrawals, "
        "erasures, changes to arms and budget, pauses, restored backups and notes, all of them: "
        + ", ".join(f"{number} × {kind}" for kind, number in kinds.items())
        + "."
    )
    shown = found[:_MOST]
    if len(found) > _MOST:
        text += f" The first {_MOST} are shown; `equipoise export` writes all."
    return [
        Text(text),
        Table(["date (UTC)", "what", "unit", "by", "reason"], shown, text_columns=5),
    ]


def deviations(history: History) -> Iterator[list[str]]:
    """Cells of every entry that is no ordinary ask or tell: date, what, unit, actor, reason."""
    outcomes: dict[int, Any] = {}
    lost: set[int] = set()
    numbers = count(1)
    for entry in history.entries:
        event = entry.event or {}
        if entry.kind in ASKED:
            unit = history.units[next(numbers) - 1]
            if is_by_person(event):
                rule = event["chosen"] or NO_RULE
                what = f"arm given by a person: {event['arm']}; the rule chose {rule}"
                yield _row(entry, what, unit.name)
            elif not event and unit.rule is not None:
                yield _row(entry, "arm given by a person: data erased", unit.name)
            elif entry.reason is not None:
                arm = f"{event['arm']}, by the rule" if event else "data erased"
                yield _row(entry, f"assigned with a reason: {arm}", unit.name)
        elif entry.kind == "told":
            number = event.get("id", 0)
            outcomes[number] = event.get("outcome")
            if number in lost:
                lost.discard(number)
                yield _row(entry, "outcome came after it was lost", _unit(history, event))
        elif entry.kind != "created" and entry.kind != "features_chosen":
            yield _row(entry, _words(history, entry, outcomes), _unit(history, event))
            if entry.kind == "corrected":
                outcomes[event.get("id", 0)] = event.get("outcome")
            elif entry.kind == "lost" and "id" in event:
                lost.add(event["id"])


def when(time: datetime | None) -> str:
    """A date and time, to the minute."""
    return "–" if time is None else f"{time:%Y-%m-%d %H:%M}"


def _row(entry: Entry, what: str, unit: str) -> list[str]:
    return [when(entry.time), what, unit, entry.actor or "–", entry.reason or "–"]


def _unit(history: History, event: Any) -> str:
    if "ids" in event:
        units = [history.units[number - 1] for number in event["ids"] if number <= len(history.units)]
        return ", ".join(unit.name for unit in units)
    path = history.unit(event)
    return event.get("unit") or "–" if path is None else path.name


def _words(history: History, entry: Entry, outcomes: dict[int, Any]) -> str:
    event, kind = entry.event, entry.kind
    if event is None:
        return f"{_ERASED.get(kind, kind)}: data erased"
    if kind == "corrected":
        before = outcomes.get(event.get("id", 0))
        was = "none yet" if before is None else f"{before:g}"
        return f"outcome corrected: {was} → {event['outcome']:g}"
    if kind == "received":
        path = history.unit(event)
        assigned = "" if path is None else f", assigned {path.assigned}"
        return f"received another arm: {event['arm']}{assigned}"
    if kind == "arm_added":
        details = [f"{name} {event[name]:g}" for name in ("weight", "cost") if event.get(name, 1.0) != 1.0]
        details += [f"{name} {event[name]}" for name in ("floor", "cap") if event.get(name)]
        return f"arm added: {event['arm']}{' (' + ', '.join(details) + ')' if details else ''}"
    words = {
        "lost": "outcome lost",
        "withdrawn": "unit withdrawn",
        "redacted": "data erased",
        "arm_closed": f"arm closed: {event.get('arm')}",
        "arm_reopened": f"arm reopened: {event.get('arm')}",
        "budget_changed": f"budget changed: {_plain(event.get('budget'))}",
        "paused": "paused",
        "resumed": "resumed",
        "restored": "restored from a backup: a new epoch",
        "note": f"note: {event.get('text')}",
    }
    return words.get(kind, kind.replace("_", " "))


def _plain(value: Any) -> str:
    return f"{value:,.10g}" if isinstance(value, int | float) else str(value)
