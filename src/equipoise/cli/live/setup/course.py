"""``equipoise budget``, ``equipoise pause``, ``equipoise resume``, ``equipoise note``."""

from __future__ import annotations

import click

from equipoise.cli import completion
from equipoise.cli.live.common.answers import answer, receipt_option
from equipoise.cli.live.common.arguments import (
    argument,
    experiment_argument,
    parse_budget,
    reason_option,
    writing_options,
)
from equipoise.cli.live.common.opening import opened
from equipoise.cli.values import typed
from equipoise.words import counted


@click.command("budget", short_help="Change the budget.")
@experiment_argument
@argument(
    "amount",
    "N",
    "The new budget in all: units, or money where arms have costs.",
    callback=typed(parse_budget),
)
@reason_option(needed=False)
@receipt_option
@writing_options
def budget(
    name: str, amount: float, reason: str | None, with_receipt: bool, store: str, actor: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Make N the budget of the experiment NAME, in all and not on top."""
    with opened(name, store, actor) as experiment:
        experiment.change_budget(amount, reason=reason)
        left = experiment.remaining
        facts = {"budget": experiment.problem.budget, "remaining": left}
        sentence = f"The budget is {experiment.problem.budget:.10g}: {counted(left, 'unit')} left."
        answer(experiment, sentence, facts, as_json=as_json, with_receipt=with_receipt)


@click.command("pause", short_help="Assign no units until 'resume'.")
@experiment_argument
@reason_option(needed=False)
@receipt_option
@writing_options
def pause(
    name: str, reason: str | None, with_receipt: bool, store: str, actor: str | None, as_json: bool
) -> None:
    """Assign no further units of the experiment NAME until 'equipoise resume'. Outcomes still come in."""
    with opened(name, store, actor) as experiment:
        experiment.pause(reason=reason)
        sentence = f"{experiment.name} is paused; 'equipoise resume {experiment.name}' goes on."
        answer(experiment, sentence, {"paused": True}, as_json=as_json, with_receipt=with_receipt)


@click.command("resume", short_help="Assign units again after 'pause'.")
@experiment_argument
@reason_option(needed=False)
@receipt_option
@writing_options
def resume(
    name: str, reason: str | None, with_receipt: bool, store: str, actor: str | None, as_json: bool
) -> None:
    """Assign units of the experiment NAME again."""
    with opened(name, store, actor) as experiment:
        experiment.resume(reason=reason)
        left = experiment.remaining
        sentence = f"{experiment.name} goes on: {counted(left, 'unit')} left."
        facts = {"paused": False, "remaining": left}
        answer(experiment, sentence, facts, as_json=as_json, with_receipt=with_receipt)


@click.command("note", short_help="Write a note into the log.")
@experiment_argument
@argument("text", "TEXT", "The note; everything that is written stays in the log.")
@click.option("--unit", metavar="UNIT", help="The unit that it is about.", shell_complete=completion.units)
@receipt_option
@writing_options
def note(
    name: str, text: str, unit: str | None, with_receipt: bool, store: str, actor: str | None, as_json: bool
) -> None:
    """Write TEXT into the log of the experiment NAME."""
    with opened(name, store, actor) as experiment:
        experiment.note(text, unit=unit)
        facts = {"text": text, "unit": unit}
        answer(experiment, "Noted.", facts, as_json=as_json, with_receipt=with_receipt)
