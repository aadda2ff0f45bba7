"""What ``equipoise replay`` prints: the table, losses, units saved, differences and pulls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.cli.losses import LOSSES, folded, print_differences, print_end, print_units
from equipoise.cli.terminal import counted, new_table, output, print_table

if TYPE_CHECKING:
    from equipoise.lab.replay import ReplayResult


def print_results(results: Sequence[ReplayResult], *, files: Sequence[Path], again: str) -> None:
    """Every table, the files that were written, and the line to run it again."""
    _print_table(results[0])
    for result in results:
        _print_losses(result)
        if len(result.policies) > 1:
            print_differences(result)
        print_units(result)
    first = results[0]
    library = f"equipoise {first.version}, NUMERICS {first.numerics}"
    settings = f"{library}, seed {first.seed}, {counted(first.trials, 'trial')}"
    print_end(files, f"{settings}, table {first.table.digest}", again=again)


def _print_table(result: ReplayResult) -> None:
    table, console = result.table, output()
    console.print(
        f"{table.table}: {counted(table.rows, 'row')}, {counted(len(table.contexts), 'context column')}, "
        f"{counted(len(table.targets), 'target')}",
        style="bold",
    )
    if table.dropped:
        console.print(f"Left out, as they miss a value: {counted(table.dropped, 'row')}.")
    if table.redundant:
        console.print(
            f"Left out, as combinations of other columns say nothing new: {', '.join(table.redundant)}."
        )
    console.print()


def _print_losses(result: ReplayResult) -> None:
    from equipoise.report.numbers import with_error

    saved = [] if not result.saved else ["units\nsaved"]
    table = new_table("policy", "expected\nmax", "median\nmax", "mean", *saved)
    notes = []
    for name, policy in result.policies.items():
        cells = [with_error(getattr(policy, loss)()) for loss in LOSSES]
        if saved:
            own = result.saved.get(name)
            cells.append("–" if own is None else str(own).partition(":")[0])
            if own is not None and own.limit is not None:
                notes.append(f"{name}: {own}.")
        table.add_row(name, *cells)
    print_table(
        folded(table),
        title=f"Squared errors on held-out rows (± standard error): {result.table.budget} units",
    )
    if saved:
        console = output()
        console.print(
            "Units saved: the budget with which uniform reaches the same "
            f"{'median max' if result.table.objective == 'max' else 'mean'}, minus {result.table.budget}."
        )
        for note in notes:
            console.print(note)
        console.print()
