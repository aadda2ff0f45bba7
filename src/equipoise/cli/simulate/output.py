"""What ``equipoise simulate`` prints: losses, differences and units, each with its error."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.cli.losses import folded, print_course, print_differences, print_end, print_units
from equipoise.cli.terminal import new_table, print_table

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
    settings = f"{library}, seed {result.seed}, {result.trials} trials"
    print_end(files, settings, again=again)


def _print_losses(result: SimulationResult) -> None:
    from equipoise.lab.results.words import LOSSES, loss_heading
    from equipoise.report.numbers import with_error

    chosen = ["features\nexact"] if any(p.chooses_features for p in result.policies.values()) else []
    heading = "coverage" if result.intervals == "classical" else f"{result.intervals}\ncoverage"
    table = new_table("policy", *map(loss_heading, LOSSES), heading, *chosen)
    for name, policy in result.policies.items():
        losses = [with_error(getattr(policy, loss)()) for loss in LOSSES]
        shares = [policy.coverage(), *([policy.recovery()] if chosen else [])]
        table.add_row(name, *losses, *(_percent(share.value) for share in shares))
    scenario = result.scenario
    title = f"Squared errors (± standard error): {len(scenario.noise)} arms, {scenario.dim} features, " + (
        f"{scenario.budget} units" if scenario.costs is None else f"a budget of {scenario.budget:.10g}"
    )
    print_table(folded(table), title=title)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %" if share == share else "–"
