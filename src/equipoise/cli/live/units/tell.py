"""``equipoise tell`` and ``equipoise correct``: outcomes, one or many."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.live.common.answers import answer, receipt_option
from equipoise.cli.live.common.arguments import (
    argument,
    experiment_argument,
    id_option,
    named_unit,
    reason_option,
    unit_argument,
    writing_options,
)
from equipoise.cli.live.common.bulk import at_line, file_option, keyed, read_lines
from equipoise.cli.live.common.changing import Said, changing
from equipoise.cli.live.common.opening import opened
from equipoise.cli.terminal import print_json, say
from equipoise.cli.values import typed
from equipoise.errors import EquipoiseError, InvalidArgument, InvalidOutcome, InvalidTable
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.live.experiment.experiment import LiveExperiment

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


def _outcome(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise InvalidOutcome(
            f"the outcome {text!r} is not a number", hint="type a number, with a point for decimals, e.g. 3.2"
        )
    return float(text)


class _WithNumber(click.Command):
    """A command whose last argument may be a number below 0, which is no option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as usual, numbers last."""
        below = [word for word in args if word.startswith("-") and _NUMBER.fullmatch(word)]
        if below and "--" not in args:
            args = [*(word for word in args if word not in below), "--", *below]
        return super().parse_args(ctx, args)


@click.command("tell", cls=_WithNumber, short_help="Enter the outcome of a unit, or many from a file.")
@experiment_argument
@unit_argument(needed=False)
@argument("value", "[VALUE]", "Its outcome.", required=False, callback=typed(_outcome))
@file_option
@click.option(
    "--unit-column", default="unit", show_default=True, metavar="COLUMN", help="Column of --file with units."
)
@click.option(
    "--outcome-column", default="outcome", show_default=True, metavar="COLUMN",
    help="Column of --file with outcomes; an empty cell is not known yet.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only check, and say what would be entered.")
@id_option
@receipt_option
@writing_options
def tell(
    name: str, unit: str | None, value: float | None, source: str | None, unit_column: str,
    outcome_column: str, dry_run: bool, by_id: bool, with_receipt: bool, store: str, actor: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Enter the outcome VALUE of UNIT in the experiment NAME.

    With --file all of its outcomes or none. The same value again changes nothing, so that a line or a file
    may be run again; for another value there is 'equipoise correct'.

    \b
    Examples:
      equipoise tell trial-1 P-017 3.2
      equipoise tell trial-1 --file outcomes.csv
    """
    outcomes: dict[str | int, float]
    if source is None:
        if unit is None or value is None:
            missing = "VALUE is" if unit is not None else "UNIT and VALUE are"
            raise InvalidArgument(
                f"{missing} missing", hint=f"e.g. equipoise tell {name} {unit or 'P-017'} 3.2"
            )
        outcomes = {named_unit(unit, by_id=by_id): value}
        blank = 0
    else:
        if unit is not None:
            raise InvalidArgument("--file and UNIT do not go together", hint="leave one out")
        outcomes, blank = _outcomes(source, unit_column, outcome_column, by_id=by_id)
    with opened(name, store, actor) as experiment:
        target = experiment.in_memory() if dry_run else experiment  # a copy finds whatever is wrong
        new = target.tell_many(outcomes)
        known = len(outcomes) - new
        facts: dict[str, Any] = {"outcomes": len(outcomes), "without_outcome": blank}
        if source is None:
            facts = {"unit": unit, "outcome": value}
        facts |= {"new": new, "known": known}
        if dry_run:
            sentence = f"{counted(new, 'outcome')} would be stored; nothing was." + _others(known, blank)
            if as_json:
                print_json({"experiment": experiment.name, "dry_run": True, **facts})
            else:
                say(sentence)
            return
        sentence = f"{counted(new, 'outcome')} stored." + _others(known, blank)
        answer(experiment, sentence, facts, as_json=as_json, with_receipt=with_receipt)


@changing("correct", "Replace the outcome of a unit.", kind=_WithNumber)
@unit_argument()
@argument("value", "VALUE", "Its outcome.", callback=typed(_outcome))
@reason_option(needed=True)
@id_option
def correct(experiment: LiveExperiment, unit: str, value: float, reason: str, by_id: bool) -> Said:
    """Make VALUE the outcome of UNIT in the experiment NAME, whatever it was: told, pending or lost.

    The old value stays in the log. Decisions that were made with it stay as they are.
    """
    experiment.correct(named_unit(unit, by_id=by_id), value, reason=reason)
    facts = {"unit": unit, "outcome": value, "reason": reason}
    return f"{unit} has the outcome {value:.10g} now.", facts


def _outcomes(
    source: str, unit_column: str, outcome_column: str, *, by_id: bool
) -> tuple[dict[str | int, float], int]:
    """The outcomes that a file has, and how many of its lines have none."""
    lines = keyed(read_lines(source, needed=(unit_column, outcome_column)), unit_column)
    found: dict[str | int, float] = {}
    for key, line in lines.items():
        value = line.values[outcome_column]
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        try:
            unit = named_unit(key, by_id=by_id)
            if unit in found:
                raise InvalidTable(f"unit {unit} is on another line already", hint="leave one out")
            found[unit] = _outcome(value.strip()) if line.is_text else value
        except EquipoiseError as error:
            raise at_line(line, error) from None
    if not found:
        raise InvalidTable(f"no line has an {outcome_column!r}", hint="there is nothing to enter")
    return found, len(lines) - len(found)


def _others(known: int, blank: int) -> str:
    """What became of the rest of a file."""
    words = f" {counted(known, 'outcome was', 'outcomes were')} known already." if known else ""
    return words + (f" {counted(blank, 'line')} without an outcome left out." if blank else "")
