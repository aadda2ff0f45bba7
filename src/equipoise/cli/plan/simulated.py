"""What ``equipoise plan --policy`` prints: simulated budgets with their curves, or simulated errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.terminal import new_table, output, print_table
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.core.theory.plan import Plan
    from equipoise.lab.running.budget_curve import SimulatedBudget


def print_simulated(plan: Plan) -> None:
    """A row a policy, then every policy's curve, if there are curves."""
    from equipoise.lab.running.budget_curve import SimulatedBudget
    from equipoise.lab.running.planned_error import SimulatedError

    curves = [found for found in plan.simulated if isinstance(found, SimulatedBudget)]
    errors = [found for found in plan.simulated if isinstance(found, SimulatedError)]
    headings = plan.simulated[0].headings()
    table = new_table("policy", *headings[1:])
    for found in plan.simulated:
        table.add_row(*found.cells())
    first = (curves or errors)[0]
    trials = counted(first.trials, "trial") + (" a budget" if curves else "")
    print_table(table, title=f"By simulation, {trials}, seed {first.seed}")
    for remark in plan.simulation_remarks:
        output().print(f"{remark}\n")
    for found in curves:
        _print_curve(found)


def _print_curve(found: SimulatedBudget) -> None:
    from equipoise.report.numbers import with_error

    table = new_table("budget", "expected error", "of the target", text_columns=0)
    for budget, loss in found.curve:
        table.add_row(f"{budget:.10g}", with_error(loss), f"{100 * loss.value / found.target:.0f} %")
    print_table(table, title=f"Budget curve of {found.policy}")
    if found.curve[0][1].value <= found.target:
        output().print(f"{found.policy} reaches the target with the smallest budget that was tried.\n")
