"""``equipoise tell`` and ``equipoise correct``: outcomes, one or many."""

from __future__ import annotations

import re
from typing import Any

import click

from equipoise.cli.live.common.answers import receipt_option
from equipoise.cli.live.common.arguments import (
    argument,
    experiment_argument,
    id_option,
    named_unit,
    reason_option,
    unit_argument,
    writing_options,
)
from equipoise.cli.live.common.bulk import at_line, file_option
from equipoise.cli.live.common.opening import opened
from equipoise.cli.live.units.entering import (
    Entered,
    check_one_way,
    lines_by_unit,
    options,
    rehearsal,
    rehearsal_option,
    say_entered,
    unit_column_option,
)
from equipoise.cli.values import typed
from equipoise.errors import EquipoiseError, InvalidOutcome, InvalidTable
from equipoise.words import counted

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


_outcome_options = options(
    experiment_argument,
    unit_argument(needed=False),
    argument("value", "[VALUE]", "Its outcome.", required=False, callback=typed(_outcome)),
    file_option,
    unit_column_option,
    click.option(
        "--outcome-column", default="outcome", show_default=True, metavar="COLUMN",
        help="Column of --file with outcomes; an empty cell is not known yet.",
    ),
)  # fmt: skip
_other_options = options(rehearsal_option, id_option, receipt_option, writing_options)


@click.command("tell", cls=_WithNumber, short_help="Enter the outcome of a unit, or many from a file.")
@_outcome_options
@_other_options
def tell(
    name: str, unit: str | None, value: float | None, dry_run: bool, with_receipt: bool, store: str,
    actor: str | None, as_json: bool, **file: Any,
) -> None:  # fmt: skip
    """Enter the outcome VALUE of UNIT in the experiment NAME.

    With --file all of its outcomes or none. The same value again changes nothing, so that a line or a file
    may be run again; for another value there is 'equipoise correct'.

    \b
    Examples:
      equipoise tell trial-1 P-017 3.2
      equipoise tell trial-1 --file outcomes.csv
    """
    outcomes, blank = _given("tell", name, unit, value, **file)
    with opened(name, store, actor) as experiment:
        new = (rehearsal(experiment) if dry_run else experiment).tell_many(outcomes)
        entered = Entered("outcome", "stored", "known", new, len(outcomes) - new, _left_out(blank))
        facts = _facts(unit, value, outcomes, blank)
        say_entered(experiment, entered, facts, dry_run=dry_run, as_json=as_json, with_receipt=with_receipt)


@click.command("correct", cls=_WithNumber, short_help="Replace the outcome of a unit, or many from a file.")
@_outcome_options
@reason_option(needed=True)
@_other_options
def correct(
    name: str, unit: str | None, value: float | None, reason: str, dry_run: bool, with_receipt: bool,
    store: str, actor: str | None, as_json: bool, **file: Any,
) -> None:  # fmt: skip
    """Make VALUE the outcome of UNIT in the experiment NAME, whatever it was: told, pending or lost.

    The old value stays in the log. Decisions that were made with it stay as they are. With --file all of its
    outcomes or none; those that are as they should be already are left alone.

    \b
    Examples:
      equipoise correct trial-1 P-017 2.3 --reason "digits swapped on the form"
      equipoise correct trial-1 --file corrected.csv --reason "audit of March"
    """
    outcomes, blank = _given("correct", name, unit, value, **file)
    with opened(name, store, actor) as experiment:
        target = rehearsal(experiment, reason, "correct outcomes") if dry_run else experiment
        new = target.correct_many(outcomes, reason)
        single = None if unit is None else f"{unit} has the outcome {value:.10g} now."
        entered = Entered("outcome", "corrected", "known", new, len(outcomes) - new, _left_out(blank), single)
        facts = {**_facts(unit, value, outcomes, blank), "reason": reason}
        say_entered(experiment, entered, facts, dry_run=dry_run, as_json=as_json, with_receipt=with_receipt)


def _given(
    command: str, name: str, unit: str | None, value: float | None, *, source: str | None, unit_column: str,
    outcome_column: str, by_id: bool,
) -> tuple[dict[str | int, float], int]:  # fmt: skip
    """The outcomes that are typed or in a file, and how many lines have none."""
    missing = "UNIT and VALUE are" if unit is None else "VALUE is" if value is None else ""
    check_one_way(unit, source, missing, f"equipoise {command} {name} {unit or 'P-017'} 3.2")
    if source is not None:
        return _outcomes(source, unit_column, outcome_column, by_id=by_id)
    assert unit is not None
    assert value is not None
    return {named_unit(unit, by_id=by_id): value}, 0


def _outcomes(
    source: str, unit_column: str, outcome_column: str, *, by_id: bool
) -> tuple[dict[str | int, float], int]:
    """The outcomes that a file has, and how many of its lines have none."""
    lines = lines_by_unit(source, unit_column, (outcome_column,), by_id=by_id)
    found: dict[str | int, float] = {}
    for unit, line in lines.items():
        value = line.values[outcome_column]
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        try:
            found[unit] = _outcome(value.strip()) if line.is_text else value
        except EquipoiseError as error:
            raise at_line(line, error) from None
    if not found:
        raise InvalidTable(f"no line has an {outcome_column!r}", hint="there is nothing to enter")
    return found, len(lines) - len(found)


def _facts(
    unit: str | None, value: float | None, outcomes: dict[str | int, float], blank: int
) -> dict[str, Any]:
    if unit is not None:
        return {"unit": unit, "outcome": value}
    return {"outcomes": len(outcomes), "without_outcome": blank}


def _left_out(blank: int) -> str:
    return f" {counted(blank, 'line')} without an outcome left out." if blank else ""
