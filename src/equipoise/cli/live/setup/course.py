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
    from equipoise.cli.live.common.changing import Changed


@changing("budget", "Change the budget.")
@argument(
    "amount",
    "N",
    "The new budget in all: units, or money where arms have costs.",
    callback=typed(parse_budget),
)
@reason_option(needed=False)
def budget(experiment: Changed, name: str, amount: float, reason: str | None) -> Said:
    """Make N the budget of the experiment NAME, in all and not on top."""
    experiment.change_budget(amount, reason=reason)
    left = experiment.remaining
    facts = {"budget": experiment.problem.budget, "remaining": left}
    total, units = f"{experiment.problem.budget:.10g}", f"{counted(left, 'unit')} left"
    would = f"The budget would be {total}: {units}; nothing was changed."
    return Said(f"The budget is {total}: {units}.", would, facts)


@changing("pause", "Assign no units until 'resume'.")
@reason_option(needed=False)
def pause(experiment: Changed, name: str, reason: str | None) -> Said:
    """Assign no further units of the experiment NAME until 'equipoise resume'. Outcomes still come in."""
    experiment.pause(reason=reason)
    done = f"{name} is paused; 'equipoise resume {name}' goes on."
    return Said(done, f"{name} would be paused; nothing was changed.", {"paused": True})


@changing("resume", "Assign units again after 'pause'.")
@reason_option(needed=False)
def resume(experiment: Changed, name: str, reason: str | None) -> Said:
    """Assign units of the experiment NAME again."""
    experiment.resume(reason=reason)
    left = experiment.remaining
    units = f"{counted(left, 'unit')} left"
    facts = {"paused": False, "remaining": left}
    return Said(f"{name} goes on: {units}.", f"{name} would go on: {units}; nothing was changed.", facts)


@changing("note", "Write a note into the log.")
@argument("text", "TEXT", "The note; everything that is written stays in the log.")
@click.option("--unit", metavar="UNIT", help="The unit that it is about.", shell_complete=completion.units)
def note(experiment: Changed, name: str, text: str, unit: str | None) -> Said:
    """Write TEXT into the log of the experiment NAME."""
    experiment.note(text, unit=unit)
    facts = {"text": text, "unit": unit}
    return Said("Noted.", "It would be noted; nothing was.", facts)
