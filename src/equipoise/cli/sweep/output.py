"""What ``equipoise sweep`` prints: a loss at every point, and how policies differ there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.cli.losses import print_end
from equipoise.cli.terminal import new_table, output, print_table

if TYPE_CHECKING:
    from equipoise.lab.results.estimate import Estimate
    from equipoise.studies.sweep import SweepResult

_CELL = 17  # of a number with its error, and the blanks beside it
# More rows would push the rest off the screen; the files have them all.
_MOST_ROWS = 60


def print_sweep(result: SweepResult, loss: str, *, files: Sequence[Path], kept: Path, again: str) -> None:
    """Tables, the files that were written, and the line to run it again."""
    from equipoise.extras import is_installed
    from equipoise.lab.results.words import LOSSES, loss_words
    from equipoise.studies.sweep.drawing import settings_line
    from equipoise.studies.sweep.result import loss_at

    name = loss_words(loss)
    _print_points(
        result,
        result.policies,
        lambda place, policy: loss_at(result.results[place], policy, loss),
        title=f"{name[0].upper()}{name[1:]} (± standard error)",
    )
    first, *others = result.policies
    if others and loss in LOSSES:
        _print_points(
            result,
            others,
            lambda place, policy: result.results[place].difference(policy, first, loss),
            title=f"{name[0].upper()}{name[1:]} minus that of {first}, paired by trial; below 0 is better",
        )
    if not is_installed("matplotlib"):
        output().print("No figure: it needs matplotlib, pip install 'equipoise[plot]'", soft_wrap=True)
    output().print(
        f"Kept: trials in {kept}; with more trials, points or policies only those run", soft_wrap=True
    )
    print_end(files, settings_line(result), again=again)


def _print_points(
    result: SweepResult, policies: Sequence[str], number: Callable[[int, str], Estimate], *, title: str
) -> None:
    """A row a point and a column a policy; where that is too wide, a row a point and policy."""
    from equipoise.report.numbers import with_error

    axes = list(result.axes)
    widest = sum(max(len(str(value)) for value in [name, *result.axes[name]]) + 2 for name in axes)
    wide = widest + sum(max(_CELL, len(policy) + 2) for policy in policies)
    rows: list[list[Any]]
    if wide <= output().width:
        table = new_table(*axes, *policies, text_columns=len(axes))
        rows = [
            [*map(_word, at.values()), *(with_error(number(place, policy)) for policy in policies)]
            for place, at in enumerate(result.places)
        ]
    else:
        table = new_table(*axes, "policy", "value", text_columns=len(axes) + 1)
        rows = [
            [*map(_word, at.values()), policy, with_error(number(place, policy))]
            for place, at in enumerate(result.places)
            for policy in policies
        ]
    for row in rows[:_MOST_ROWS]:
        table.add_row(*row)
    print_table(table, title=title)
    if len(rows) > _MOST_ROWS:
        output().print(f"{len(rows) - _MOST_ROWS} further rows: in the files, or with --json\n")


def _word(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
