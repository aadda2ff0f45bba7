"""What ``equipoise plan --policy`` prints: simulated budgets and the curves behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.terminal import counted, new_table, output, print_table

if TYPE_CHECKING:
    from equipoise.lab.running.budget_curve import SimulatedBudget


def print_simulated(budgets: list[SimulatedBudget]) -> None:
    """The budgets, then every policy's curve."""
    trials, seed = budgets[0].trials, budgets[0].seed
    table = new_table("policy", "budget", "± 2 standard errors", "saved against uniform")
    for found in budgets:
        low, high = found.budget_range
        share = 100 * found.saving / found.uniform_budget
        table.add_row(
            found.policy,
            f"{found.budget:.10g}",
            f"{low:.10g} – {high:.10g}",
            f"{found.saving:.10g} ({share:.0f} %)",
        )
    print_table(table, title=f"By simulation, {counted(trials, 'trial')} a budget, seed {seed}")
    for found in budgets:
        _print_curve(found)


def _print_curve(found: SimulatedBudget) -> None:
    from equipoise.report.numbers import with_error

    table = new_table("budget", "expected error", "of the target", text_columns=0)
    for budget, loss in found.curve:
        table.add_row(f"{budget:.10g}", with_error(loss), f"{100 * loss.value / found.target:.0f} %")
    print_table(table, title=f"Budget curve of {found.policy}")
    if found.curve[0][1].value <= found.target:
        output().print(f"{found.policy} reaches the target with the smallest budget that was tried.\n")
