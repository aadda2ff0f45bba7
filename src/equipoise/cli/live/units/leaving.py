"""``equipoise lose``, ``equipoise withdraw``, ``equipoise received``: units that go another way."""

from __future__ import annotations

from collections.abc import Mapping
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
from equipoise.errors import EquipoiseError

if TYPE_CHECKING:
    from equipoise.core.problem.problem import Problem

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


@click.command("received", short_help="Say that a unit got another arm, or many from a file.")
@experiment_argument
@unit_argument(needed=False)
@argument("arm", "[ARM]", "The arm that it got in fact.", required=False)
@file_option
@unit_column_option
@click.option(
    "--arm-column", default="arm", show_default=True, metavar="COLUMN",
    help="Column of --file with the arms that units got.",
)  # fmt: skip
@reason_option(needed=True)
@rehearsal_option
@id_option
@receipt_option
@writing_options
def received(
    name: str, unit: str | None, arm: str | None, source: str | None, unit_column: str, arm_column: str,
    reason: str, dry_run: bool, by_id: bool, with_receipt: bool, store: str, actor: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Say that UNIT of the experiment NAME got ARM, whatever it was assigned to.

    Estimates are as treated; units, exports and reports show both. With --file, of units and arms, all of its
    units or none; those that got that arm already, by their assignment or as it was said before, stay there.

    \b
    Examples:
      equipoise received trial-1 P-017 low --reason "boxes were mixed up"
      equipoise received trial-1 --file received.csv --reason "boxes were mixed up"
    """
    missing = "UNIT and ARM are" if unit is None else "ARM is" if arm is None else ""
    check_one_way(unit, source, missing, f"equipoise received {name} {unit or 'P-017'} ARM --reason TEXT")
    lines = {} if source is None else lines_by_unit(source, unit_column, (arm_column,), by_id=by_id)
    with opened(name, store, actor) as experiment:
        if unit is not None and arm is not None:
            arms = {named_unit(unit, by_id=by_id): arm}
        else:
            arms = {key: _arm(line, arm_column, experiment.problem) for key, line in lines.items()}
        to = "note that units received other arms"
        target = rehearsal(experiment, reason, to) if dry_run else experiment
        new = target.received_many(arms, reason)
        single = None if unit is None else f"{unit} received {arm}."
        entered = Entered("other arm", "noted", "known", new, len(arms) - new, single=single)
        about = {"unit": unit, "arm": arm} if unit is not None else {"units": _listed(arms)}
        facts = {**about, "reason": reason}
        say_entered(experiment, entered, facts, dry_run=dry_run, as_json=as_json, with_receipt=with_receipt)


def _arm(line: Line, column: str, problem: Problem) -> str:
    try:
        return line.arm(column, problem, "every line needs the arm that its unit got")
    except EquipoiseError as error:
        raise at_line(line, error) from None


def _listed(arms: Mapping[str | int, str]) -> list[dict[str, str | int]]:
    return [{"unit": unit, "arm": arm} for unit, arm in arms.items()]
