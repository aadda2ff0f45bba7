"""``equipoise tell`` and ``equipoise correct``: outcomes, one or many."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

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
from equipoise.cli.live.common.bulk import Line, at_line, file_option
from equipoise.cli.live.common.opening import opened
from equipoise.cli.live.common.rehearsing import rehearsal, rehearsal_option
from equipoise.cli.live.units.entering import (
    Entered,
    check_one_way,
    lines_by_unit,
    options,
    say_entered,
    unit_column_option,
)
from equipoise.cli.values import typed
from equipoise.errors import EquipoiseError, InvalidOutcome, InvalidTable
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
    """A command whose arguments may be numbers below 0, which are no options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse options first, then all that is none, in the order in which it was typed."""
        with_value = {
            name
            for option in self.get_params(ctx)
            if isinstance(option, click.Option) and not option.is_flag and not option.count
            for name in option.opts
        }
        options: list[str] = []
        others: list[str] = []
        words = iter(args)
        for word in words:
            if word == "--":
                others += words
            elif word == "-" or not word.startswith("-") or _NUMBER.fullmatch(word):
                others.append(word)
            else:
                options += [word, *islice(words, word in with_value)]
        if options and options[-1] in with_value and args[-1] == options[-1]:
            return super().parse_args(ctx, args)  # its value is missing, and "--" would be taken for it
        return super().parse_args(ctx, [*options, "--", *others])


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
    given = _given("tell", name, unit, value, **file)
    with opened(name, store, actor) as experiment:
        given.check(experiment)
        new = (rehearsal(experiment) if dry_run else experiment).tell_many(given.outcomes)
        entered = Entered("outcome", "stored", "known", new, given.count - new, _left_out(given.blank))
        facts = _facts(unit, value, given)
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
    given = _given("correct", name, unit, value, **file)
    with opened(name, store, actor) as experiment:
        given.check(experiment)
        target = rehearsal(experiment, reason, "correct outcomes") if dry_run else experiment
        new = target.correct_many(given.outcomes, reason)
        single = None if unit is None else f"{unit} has the outcome {value:.10g} now."
        known, rest = given.count - new, _left_out(given.blank)
        entered = Entered("outcome", "corrected", "known", new, known, rest, single)
        facts = {**_facts(unit, value, given), "reason": reason}
        say_entered(experiment, entered, facts, dry_run=dry_run, as_json=as_json, with_receipt=with_receipt)


@dataclass(frozen=True)
class _Given:
    """The outcomes that are typed or in a file."""

    outcomes: dict[str | int, Any]
    lines: Mapping[str | int, Line]
    """Where in the file they are; nothing of one that is typed."""
    blank: int = 0
    """How many lines have none."""

    @property
    def count(self) -> int:
        return len(self.outcomes)

    def check(self, experiment: LiveExperiment) -> None:
        """Refuse what can be no outcome, and name its line."""
        from equipoise.core.problem.inputs import checked_outcome

        field = experiment.problem.outcome
        for unit, line in self.lines.items():
            try:
                checked_outcome(self.outcomes[unit], field)
            except EquipoiseError as error:
                raise at_line(line, error) from None


def _given(
    command: str, name: str, unit: str | None, value: float | None, *, source: str | None, unit_column: str,
    outcome_column: str, by_id: bool,
) -> _Given:  # fmt: skip
    """The outcome that is typed, or those of a file."""
    missing = "UNIT and VALUE are" if unit is None else "VALUE is" if value is None else ""
    check_one_way(unit, source, missing, f"equipoise {command} {name} {unit or 'P-017'} 3.2")
    if source is not None:
        return _in_file(source, unit_column, outcome_column, by_id=by_id)
    assert unit is not None
    assert value is not None
    return _Given({named_unit(unit, by_id=by_id): value}, {})


def _in_file(source: str, unit_column: str, outcome_column: str, *, by_id: bool) -> _Given:
    lines = lines_by_unit(source, unit_column, (outcome_column,), by_id=by_id)
    found: dict[str | int, Any] = {}
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
    return _Given(found, {unit: lines[unit] for unit in found}, len(lines) - len(found))


def _facts(unit: str | None, value: float | None, given: _Given) -> dict[str, Any]:
    if unit is not None:
        return {"unit": unit, "outcome": value}
    return {"outcomes": given.count, "without_outcome": given.blank}


def _left_out(blank: int) -> str:
    return f" {counted(blank, 'line')} without an outcome left out." if blank else ""
