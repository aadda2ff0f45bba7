"""What simulations and replays print alike: differences, units an arm, and the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.cli.terminal import new_table, output, print_table
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.lab.results.simulation import SimulationResult

# More rows would push the losses off the screen; the report and --json have them all.
MOST_ARMS = 24


def print_differences(result: SimulationResult) -> None:
    """Paired differences to the first policy, and what they are."""
    from equipoise.lab.results.words import LOSSES, loss_heading

    first, *others = result.policies
    table = new_table("policy", *map(loss_heading, LOSSES))
    for name in others:
        table.add_row(name, *(str(result.difference(name, first, loss)) for loss in LOSSES))
    print_table(table, title=f"Errors minus those of {first} on the same trials (± standard error)")
    output().print(
        f"Below 0 is better than {first}. Medians are of the trials' own differences, which is not the "
        "difference of two medians.\n"
    )


def print_units(result: SimulationResult) -> None:
    """Mean units of every arm."""
    from equipoise.report.simulation import optimal_units

    optimal = optimal_units(result)
    table = new_table("arm", "noise", *(["optimal"] if optimal else []), *result.policies)
    pulls = [policy.pulls() for policy in result.policies.values()]
    arms = result.scenario.arms
    for i, arm in enumerate(arms[:MOST_ARMS]):
        best = [str(optimal[i])] if optimal else []
        noise = f"{result.scenario.noise[i]:.4g}"
        table.add_row(arm, noise, *best, *(f"{units[i].value:.1f}" for units in pulls))
    known = "; optimal is the best static split for known noise" if optimal else ""
    print_table(table, title=f"Mean units an arm{known}")
    if len(arms) > MOST_ARMS:
        output().print(f"{counted(len(arms) - MOST_ARMS, 'further arm')}: with --json or --output DIR\n")


def print_course(result: SimulationResult) -> None:
    """How many units trials took, how long, and how many a target ended, where that differs."""
    from equipoise.report.course import course_table

    found = course_table(result)
    if found is None:
        return
    title, headings, rows = found
    table = new_table(*headings)
    for row in rows:
        table.add_row(*row)
    print_table(table, title=title)


def print_end(files: Sequence[Path], settings: str, *, again: str) -> None:
    """The files that were written, what the numbers depend on, and the line to run it again."""
    console = output()
    # Lines that are meant to be copied are never wrapped.
    for file in files:
        console.print(f"Written: {file}", soft_wrap=True)
    console.print(settings, soft_wrap=True)
    console.print(f"Run it again: {again}", soft_wrap=True)
