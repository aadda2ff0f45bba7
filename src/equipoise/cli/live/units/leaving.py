"""``equipoise lose``, ``equipoise withdraw``, ``equipoise received``: units that go another way."""

from __future__ import annotations

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
from equipoise.cli.live.common.bulk import file_option
from equipoise.cli.live.common.changing import Said, changing
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

if TYPE_CHECKING:
    from equipoise.live.experiment.experiment import LiveExperiment

_leaving_options = options(
    experiment_argument,
    unit_argument(needed=False),
    file_option,
    unit_column_option,
    reason_option(needed=True),
    rehearsal_option,
    id_option,
    receipt_option,
    writing_options,
)


@click.command("lose", short_help="Say that an outcome will never come, or many from a file.")
@_leaving_options
def lose(
    name: str, unit: str | None, reason: str, dry_run: bool, store: str, actor: str | None, as_json: bool,
    with_receipt: bool, **file: Any,
) -> None:  # fmt: skip
    """Say that the outcome of UNIT in the experiment NAME will never come.

    Its context no longer counts; its place in the budget stays used. An outcome that comes after all brings
    it back. With --file all of its units or none; those that are lost already stay so.

    \b
    Examples:
      equipoise lose trial-1 P-017 --reason "moved away"
      equipoise lose trial-1 --file moved.csv --reason "the site was closed"
    """
    units = _given("lose", name, unit, **file)
    with opened(name, store, actor) as experiment:
        target = rehearsal(experiment, reason, "declare units lost") if dry_run else experiment
        new = target.lose_many(units, reason)
        single = None if unit is None else f"{unit} is lost."
        entered = Entered("unit", "declared lost", "lost", new, len(units) - new, single=single)
        facts = _facts(unit, units, "lost", reason)
        say_entered(experiment, entered, facts, dry_run=dry_run, as_json=as_json, with_receipt=with_receipt)


@click.command("withdraw", short_help="Take a unit out for good, or many from a file.")
@_leaving_options
def withdraw(
    name: str, unit: str | None, reason: str, dry_run: bool, store: str, actor: str | None, as_json: bool,
    with_receipt: bool, **file: Any,
) -> None:  # fmt: skip
    """Take UNIT out of the experiment NAME, outcome and context, as if it had never been assigned.

    Its place in the budget stays used, and its data stay in the log; 'equipoise redact' erases them. With
    --file all of its units or none; those that are withdrawn already stay so.

    \b
    Examples:
      equipoise withdraw trial-1 P-017 --reason "consent withdrawn"
      equipoise withdraw trial-1 --file withdrawn.csv --reason "consent withdrawn"
    """
    units = _given("withdraw", name, unit, **file)
    with opened(name, store, actor) as experiment:
        target = rehearsal(experiment, reason, "withdraw units") if dry_run else experiment
        new = target.withdraw_many(units, reason)
        single = None if unit is None else f"{unit} is withdrawn."
        entered = Entered("unit", "withdrawn", "withdrawn", new, len(units) - new, single=single)
        facts = _facts(unit, units, "withdrawn", reason)
        say_entered(experiment, entered, facts, dry_run=dry_run, as_json=as_json, with_receipt=with_receipt)


def _given(
    command: str, name: str, unit: str | None, *, source: str | None, unit_column: str, by_id: bool
) -> list[str | int]:
    """The unit that is typed, or those of a file."""
    missing = "UNIT is" if unit is None else ""
    check_one_way(unit, source, missing, f"equipoise {command} {name} P-017 --reason TEXT")
    if source is not None:
        return list(lines_by_unit(source, unit_column, by_id=by_id))
    assert unit is not None
    return [named_unit(unit, by_id=by_id)]


def _facts(unit: str | None, units: list[str | int], status: str, reason: str) -> dict[str, Any]:
    about = {"units": units} if unit is None else {"unit": unit}
    return {**about, "status": status, "reason": reason}


@changing("received", "Say that a unit got another arm than assigned.")
@unit_argument()
@argument("arm", "ARM", "The arm that it got in fact.")
@reason_option(needed=True)
@id_option
def received(experiment: LiveExperiment, unit: str, arm: str, reason: str, by_id: bool) -> Said:
    """Say that UNIT of the experiment NAME got ARM, whatever it was assigned to.

    Estimates are as treated; units, exports and reports show both.
    """
    experiment.received(named_unit(unit, by_id=by_id), arm, reason=reason)
    return f"{unit} received {arm}.", {"unit": unit, "arm": arm, "reason": reason}
