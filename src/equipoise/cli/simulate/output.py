"""What ``equipoise simulate`` prints: losses, differences and units, each with its error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.cli.losses import print_course, print_differences, print_end, print_units
from equipoise.cli.terminal import new_table, print_table
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.lab.results.simulation import SimulationResult


def print_result(result: SimulationResult, *, files: Sequence[Path], again: str) -> None:
    """Every table, the files that were written, and the line to run it again."""
    _print_losses(result)
    if len(result.policies) > 1:
        print_differences(result)
    print_units(result)
    print_course(result)
    library = f"equipoise {result.version}, NUMERICS {result.numerics}"
    settings = f"{library}, seed {result.seed}, {counted(result.trials, 'trial')}"
    print_end(files, settings, again=again)


def _print_losses(result: SimulationResult) -> None:
    from equipoise.lab.results.words import LOSSES, loss_heading
    from equipoise.report.numbers import percent

    chosen = ["features\nexact"] if any(p.chooses_features for p in result.policies.values()) else []
    heading = "coverage" if result.intervals == "classical" else f"{result.intervals}\ncoverage"
    table = new_table("policy", *map(loss_heading, LOSSES), heading, *chosen)
    for name, policy in result.policies.items():
        losses = [str(getattr(policy, loss)()) for loss in LOSSES]
        shares = [policy.coverage(), *([policy.recovery()] if chosen else [])]
        table.add_row(name, *losses, *map(percent, shares))
    scenario = result.scenario
    budget = f"a budget of {scenario.budget:.10g}"
    if scenario.costs is None:
        budget = counted(int(scenario.budget), "unit")
    sizes = [counted(len(scenario.noise), "arm"), counted(scenario.dim, "feature"), budget]
    print_table(table, title=f"Squared errors (± standard error): {', '.join(sizes)}")
