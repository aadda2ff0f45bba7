"""Entries about one unit that is typed, or about many in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.live.common.answers import answer
from equipoise.cli.live.common.arguments import named_unit
from equipoise.cli.live.common.bulk import Line, at_line, keyed, read_lines
from equipoise.cli.live.common.rehearsing import say_rehearsed
from equipoise.errors import EquipoiseError, InvalidArgument, InvalidTable
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.live.experiment.experiment import LiveExperiment

unit_column_option = click.option(
    "--unit-column", default="unit", show_default=True, metavar="COLUMN", help="Column of --file with units."
)


def options(*listed: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several arguments and options as one decorator, in the order of the help."""

    def decorated(command: Any) -> Any:
        for option in reversed(listed):
            command = option(command)
        return command

    return decorated


def check_one_way(unit: str | None, source: str | None, missing: str, example: str) -> None:
    """Refuse a unit beside a file, and neither of both."""
    if unit is not None and source is not None:
        raise InvalidArgument("--file and UNIT do not go together", hint="leave one out")
    if source is None and missing:
        raise InvalidArgument(f"{missing} missing", hint=f"e.g. {example}, or --file FILE")


def lines_by_unit(
    source: str, column: str, needed: tuple[str, ...] = (), *, by_id: bool
) -> dict[str | int, Line]:
    """The lines of a file by what the library calls their unit, which no two may share."""
    found: dict[str | int, Line] = {}
    for key, line in keyed(read_lines(source, needed=(column, *needed)), column).items():
        try:
            unit = named_unit(key, by_id=by_id)
            if unit in found:
                raise InvalidTable(f"unit {unit} is on another line already", hint="leave one out")
        except EquipoiseError as error:
            raise at_line(line, error) from None
        found[unit] = line
    return found


@dataclass(frozen=True)
class Entered:
    """What became of the entries of one command."""

    noun: str
    verb: str
    """What happened to the new ones: "stored", "withdrawn"."""
    known_as: str
    """What the others were already."""
    new: int
    known: int
    rest: str = ""
    """What else there is to say of a file."""
    single: str | None = None
    """The sentence about one unit that was typed."""

    def sentence(self, *, dry_run: bool) -> str:
        """All of it for people."""
        if self.single is not None and not dry_run:
            return self.single
        words = f"{counted(self.new, self.noun)} " + (
            f"would be {self.verb}; nothing was." if dry_run else f"{self.verb}."
        )
        if self.known:
            others = counted(self.known, f"{self.noun} was", f"{self.noun}s were")
            words += f" {others} {self.known_as} already."
        return words + self.rest


def say_entered(
    experiment: LiveExperiment,
    entered: Entered,
    facts: Mapping[str, Any],
    *,
    dry_run: bool,
    as_json: bool,
    with_receipt: bool,
) -> None:
    """Say what was entered, or would be."""
    facts = {**facts, "new": entered.new, "known": entered.known}
    sentence = entered.sentence(dry_run=dry_run)
    if dry_run:
        say_rehearsed(experiment.name, sentence, facts, as_json=as_json)
    else:
        answer(experiment, sentence, facts, as_json=as_json, with_receipt=with_receipt)
