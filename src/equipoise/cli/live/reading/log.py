"""``equipoise log``: what happened, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli import completion
from equipoise.cli.live.common.arguments import experiment_argument, reading_options, show_seed_option
from equipoise.cli.live.common.opening import opened
from equipoise.cli.live.common.times import shown
from equipoise.cli.options import value_option
from equipoise.cli.terminal import new_table, print_json, print_table, say
from equipoise.cli.values import whole_number
from equipoise.errors import InvalidArgument
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.live.log.entries import LogEntry

_MOST_ROWS = 50
_SCORES = ("scores", "top", "likeliest")
"""What helps to guess the next arm."""


@click.command("log", short_help="What happened, row by row.")
@experiment_argument
@value_option("--after", whole_number("--after", "100", least=0), "SEQUENCE", "Only rows after this one.")
@click.option("--kind", metavar="KIND", help="Only rows of this kind, e.g. told.")
@click.option("--unit", metavar="UNIT", help="Only rows about this unit.", shell_complete=completion.units)
@click.option("--all", "everything", is_flag=True, help=f"Show more than the last {_MOST_ROWS}.")
@click.option("--scores", is_flag=True, help="With --json: scores, too; they help to guess arms.")
@show_seed_option
@reading_options
def command(
    name: str, after: int | None, kind: str | None, unit: str | None, everything: bool, scores: bool,
    show_seed: bool, store: str, as_json: bool,
) -> None:  # fmt: skip
    """The log of the experiment NAME: when, what, who and why.

    --json has every event in full, but for scores and the seed, which are shown if they are asked for.
    """
    kind = None if kind is None else _known_kind(kind)
    with opened(name, store) as experiment:
        number = None if unit is None else experiment[unit].id
        rows = [
            entry
            for entry in experiment.log(after or 0)
            if (kind is None or entry.kind == kind) and (number is None or _is_about(entry, number))
        ]
    if as_json:
        hidden: tuple[str, ...] = () if scores else _SCORES
        hidden += () if show_seed else ("seed",)
        print_json({"experiment": name, "rows": [_plain(entry, hidden) for entry in rows]})
        return
    if not rows:
        say("No rows.")
        return
    latest = rows if everything else rows[-_MOST_ROWS:]
    table = new_table("row", "time", "what", "who", "why", text_columns=5)
    for entry in latest:
        when = shown(entry.time).removesuffix(" UTC")
        table.add_row(str(entry.sequence), when, _what(entry), entry.actor, entry.reason or "")
    of = f"; the last {len(latest)}, all with --all" if len(latest) < len(rows) else ""
    print_table(table, title=f"{counted(len(rows), 'row')}{of} (times are UTC)")


def _known_kind(typed: str) -> str:
    """A kind of row, also as the table shows it."""
    from equipoise.core.experiment.history.events import KINDS

    kind = typed.strip().replace(" ", "_")
    if kind not in KINDS:
        raise InvalidArgument(f"no row is of the kind {typed!r}", hint=f"the kinds are {', '.join(KINDS)}")
    return kind


def _is_about(entry: LogEntry, number: int) -> bool:
    return any(unit.get("id") == number for unit in _units(entry.event))


def _units(event: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    if event is not None:
        yield event
        yield from event.get("units", ())


def _what(entry: LogEntry) -> str:
    """An event in a few words."""
    kind, event = entry.kind.replace("_", " "), entry.event
    if event is None:
        return f"{kind} (redacted)"
    if "units" in event:
        return f"{kind}: {counted(len(event['units']), 'unit')}"
    unit = event.get("unit", event.get("id"))
    words = [str(event[name]) for name in ("arm", "outcome", "budget", "text") if event.get(name) is not None]
    about = [] if unit is None else [str(unit)]
    return f"{kind}: {' → '.join([*about, *words])}" if about or words else kind


def _plain(entry: LogEntry, hidden: tuple[str, ...]) -> dict[str, Any]:
    event = entry.event
    if event is not None:
        event = _without(event, hidden)
        if "units" in event:
            event["units"] = [_without(unit, hidden) for unit in event["units"]]
    return {
        "sequence": entry.sequence,
        "time": entry.time.isoformat(),
        "kind": entry.kind,
        "actor": entry.actor,
        "reason": entry.reason,
        "version": entry.version,
        "numerics": entry.numerics,
        "epoch": entry.epoch,
        "hash": entry.hash.hex(),
        "event": event,
    }


def _without(event: dict[str, Any], hidden: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in hidden}
