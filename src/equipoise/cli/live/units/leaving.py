"""``equipoise lose``, ``equipoise withdraw``, ``equipoise received``: units that go another way."""

from __future__ import annotations

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
from equipoise.cli.live.common.opening import opened


@click.command("lose", short_help="Say that an outcome will never come.")
@experiment_argument
@unit_argument()
@reason_option(needed=True)
@id_option
@receipt_option
@writing_options
def lose(
    name: str, unit: str, reason: str, by_id: bool, with_receipt: bool, store: str, actor: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Say that the outcome of UNIT in the experiment NAME will never come.

    Its context no longer counts; its place in the budget stays used. An outcome that comes after all brings
    it back.
    """
    with opened(name, store, actor) as experiment:
        experiment.lose(named_unit(unit, by_id=by_id), reason=reason)
        facts = {"unit": unit, "status": "lost", "reason": reason}
        answer(experiment, f"{unit} is lost.", facts, as_json=as_json, with_receipt=with_receipt)


@click.command("withdraw", short_help="Take a unit out for good.")
@experiment_argument
@unit_argument()
@reason_option(needed=True)
@id_option
@receipt_option
@writing_options
def withdraw(
    name: str, unit: str, reason: str, by_id: bool, with_receipt: bool, store: str, actor: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Take UNIT out of the experiment NAME, outcome and context, as if it had never been assigned.

    Its place in the budget stays used, and its data stay in the log; 'equipoise redact' erases them.
    """
    with opened(name, store, actor) as experiment:
        experiment.withdraw(named_unit(unit, by_id=by_id), reason=reason)
        facts = {"unit": unit, "status": "withdrawn", "reason": reason}
        answer(experiment, f"{unit} is withdrawn.", facts, as_json=as_json, with_receipt=with_receipt)


@click.command("received", short_help="Say that a unit got another arm than assigned.")
@experiment_argument
@unit_argument()
@argument("arm", "ARM", "The arm that it got in fact.")
@reason_option(needed=True)
@id_option
@receipt_option
@writing_options
def received(
    name: str, unit: str, arm: str, reason: str, by_id: bool, with_receipt: bool, store: str,
    actor: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Say that UNIT of the experiment NAME got ARM, whatever it was assigned to.

    Estimates are as treated; units, exports and reports show both.
    """
    with opened(name, store, actor) as experiment:
        experiment.received(named_unit(unit, by_id=by_id), arm, reason=reason)
        facts = {"unit": unit, "arm": arm, "reason": reason}
        answer(experiment, f"{unit} received {arm}.", facts, as_json=as_json, with_receipt=with_receipt)
