"""``equipoise budget``, ``equipoise pause``, ``equipoise resume``, ``equipoise note``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from equipoise.cli import completion
from equipoise.cli.live.common.arguments import (
    argument,
    parse_budget,
    reason_option,
)
from equipoise.cli.live.common.changing import Said, changing
from equipoise.cli.values import typed
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.live.experiment.experiment import LiveExperiment


@changing("budget", "Change the budget.")
@argument(
    "amount",
    "N",
    "The new budget in all: units, or money where arms have costs.",
    callback=typed(parse_budget),
)
@reason_option(needed=False)
def budget(experiment: LiveExperiment, amount: float, reason: str | None) -> Said:
    """Make N the budget of the experiment NAME, in all and not on top."""
    experiment.change_budget(amount, reason=reason)
    left = experiment.remaining
    facts = {"budget": experiment.problem.budget, "remaining": left}
    sentence = f"The budget is {experiment.problem.budget:.10g}: {counted(left, 'unit')} left."
    return sentence, facts


@changing("pause", "Assign no units until 'resume'.")
@reason_option(needed=False)
def pause(experiment: LiveExperiment, reason: str | None) -> Said:
    """Assign no further units of the experiment NAME until 'equipoise resume'. Outcomes still come in."""
    experiment.pause(reason=reason)
    sentence = f"{experiment.name} is paused; 'equipoise resume {experiment.name}' goes on."
    return sentence, {"paused": True}


@changing("resume", "Assign units again after 'pause'.")
@reason_option(needed=False)
def resume(experiment: LiveExperiment, reason: str | None) -> Said:
    """Assign units of the experiment NAME again."""
    experiment.resume(reason=reason)
    left = experiment.remaining
    sentence = f"{experiment.name} goes on: {counted(left, 'unit')} left."
    facts = {"paused": False, "remaining": left}
    return sentence, facts


@changing("note", "Write a note into the log.")
@argument("text", "TEXT", "The note; everything that is written stays in the log.")
@click.option("--unit", metavar="UNIT", help="The unit that it is about.", shell_complete=completion.units)
def note(experiment: LiveExperiment, text: str, unit: str | None) -> Said:
    """Write TEXT into the log of the experiment NAME."""
    experiment.note(text, unit=unit)
    facts = {"text": text, "unit": unit}
    return "Noted.", facts
