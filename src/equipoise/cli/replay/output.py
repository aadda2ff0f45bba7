"""What ``equipoise replay`` prints: the table, losses, units saved, differences and pulls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.cli.losses import MOST_ARMS, print_differences, print_end, print_units
from equipoise.cli.terminal import new_table, output, print_table, say
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.lab.replay import ReplayResult, TableDescription

# More would push the losses off the screen; --dry-run and the report have them all.
_MOST_NAMES = 12


def print_results(results: Sequence[ReplayResult], *, files: Sequence[Path], again: str) -> None:
    """Every table, the files that were written, and the line to run it again."""
    _print_table(results[0])
    for result in results:
        _print_losses(result)
        _print_targets(result)
        if len(result.policies) > 1:
            print_differences(result)
        print_units(result)
    first = results[0]
    library = f"equipoise {first.version}, NUMERICS {first.numerics}"
    settings = f"{library}, seed {first.seed}, {counted(first.trials, 'trial')}"
    print_end(files, f"{settings}, table {first.table.digest}", again=again)


def print_description(told: TableDescription) -> None:
    """The columns, and what a replay would make of them."""
    console = output()
    table = new_table(*told.heads, text_columns=3)
    for row in told.rows_of_text():
        table.add_row(*row)
    print_table(table, title=f"{told.name}: {told.rows:,} rows, {len(told.columns)} columns")
    for sentence in told.sentences():
        console.print(sentence)


def _print_table(result: ReplayResult) -> None:
    table, console = result.table, output()
    console.print(
        f"{table.table}: {counted(table.rows, 'row')}, {counted(len(table.contexts), 'context column')}, "
        f"{counted(len(table.targets), 'target')}",
        style="bold",
    )
    console.print(f"Contexts: {_listed(table.contexts)}. Targets: {_listed(table.targets)}.")
    for note in table.notes:
        console.print(note)
    if table.redundant:
        console.print(
            f"Left out, as combinations of other columns say nothing new: {_listed(table.redundant)}."
        )
    if table.split_words is not None:
        console.print(table.split_words)
    console.print()


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (", ".join(names[:_MOST_NAMES]) or "none") + more


def _print_losses(result: ReplayResult) -> None:
    from equipoise.lab.replay.result import NOT_ASKED
    from equipoise.lab.results.words import LOSSES, loss_heading, loss_words
    from equipoise.report.numbers import with_error

    asked = result.saved or result.unsaved != NOT_ASKED
    table = new_table("policy", *map(loss_heading, LOSSES), *(["units\nsaved"] if asked else []))
    notes = []
    for name, policy in result.policies.items():
        cells = [with_error(getattr(policy, loss)()) for loss in LOSSES]
        if asked:
            own = result.saved.get(name)
            cells.append("–" if own is None else str(own).partition(":")[0])
            if own is not None and own.limit is not None:
                notes.append(f"{name}: {own}.")
        table.add_row(name, *cells)
    unit = "as shares of each target's variance" if result.table.scale == "targets" else "squared"
    print_table(
        table,
        title=f"Errors on held-out rows, {unit} (± standard error): {result.table.budget} units",
    )
    console = output()
    if result.saved:
        console.print(
            "Units saved: the budget with which uniform reaches the same "
            f"{loss_words(next(iter(result.saved.values())).loss)}, minus {result.table.budget}."
        )
        for note in notes:
            console.print(note)
    elif asked:
        console.print(f"Units saved cannot be said: {result.unsaved}.")
    if asked:
        console.print()
    for warning in (result.warning, result.caution):
        if warning is not None:
            say(warning, err=True, label="Warning:", fg="yellow", bold=True)


def _print_targets(result: ReplayResult) -> None:
    """Every target's error as a share of its variance, beside the best that a linear model could do."""
    shares = {(row["policy"], row["target"]): row["share"] for row in result.by_target()}
    table = new_table("target", "standard\ndeviation", "best\nlinear", *result.policies)
    known = result.table
    for i, target in enumerate(known.targets[:MOST_ARMS]):
        best = known.noise[i] / known.variances[i] if known.variances[i] > 0.0 else math.nan
        cells = [_percent(best), *(_percent(shares[name, target]) for name in result.policies)]
        table.add_row(target, f"{known.spreads[i]:.4g}", *cells)
    print_table(table, title="Mean error of every target on held-out rows, in % of its variance")


def _percent(share: float) -> str:
    return f"{100 * share:.3g}" if math.isfinite(share) else "–"
