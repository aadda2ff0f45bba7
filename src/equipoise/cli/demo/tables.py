"""What the demo prints: a table a policy, what they mean, and the settings behind them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from equipoise.cli.terminal import new_table, output, print_table
from equipoise.words import counted

if TYPE_CHECKING:
    from rich.table import Table

    from equipoise.cli.demo.trial import Comparison, TrialResult


def print_comparison(comparison: Comparison) -> None:
    """Both tables and the verdict."""
    for result in (comparison.chosen, comparison.uniform):
        title = f"{result.policy}: noise variances and squared errors of the arms"
        print_table(_table(result, comparison.dim), title=title)
    output().print(verdict(comparison), end="\n\n")


def print_settings(comparison: Comparison, *, version: str, again: str) -> None:
    """Everything that is needed to get the same numbers again."""
    noise = ", ".join(f"{variance:g}" for variance in comparison.noise)
    print_lines(
        f"equipoise {version}, seed {comparison.seed}, {counted(comparison.budget, 'unit')}, "
        f"{len(comparison.noise)} arms, {comparison.dim} features",
        f"Scenario: noise variances {noise}; contexts and true coefficients standard normal",
        f"Run it again: {again}",
    )


def print_lines(*lines: str) -> None:
    """Lines that are meant to be copied, so they are never wrapped."""
    console = output()
    for line in lines:
        console.print(line, soft_wrap=True)


def verdict(comparison: Comparison) -> str:
    """Two sentences that compare the worst arms, and a warning about single trials."""
    chosen, uniform = comparison.chosen, comparison.uniform
    actual = _change(chosen.worst_actual, uniform.worst_actual)
    expected = _change(chosen.worst_expected, uniform.worst_expected)
    return (
        f"The worst arm's actual squared error is {chosen.worst_actual:.3g} with {chosen.policy} and "
        f"{uniform.worst_actual:.3g} with uniform: {actual}. "
        f"By the estimates alone, the worst expected error is {chosen.worst_expected:.3g} against "
        f"{uniform.worst_expected:.3g}, {expected}; {_oracle(comparison.optimal_loss)}. "
        "One trial is one draw: other seeds give other numbers."
    )


def _change(value: float, reference: float) -> str:
    if value == reference:
        return "the same"
    percent = 100.0 * abs(value / reference - 1.0)
    return f"{percent:.0f} % {'lower' if value < reference else 'higher'}"


def _oracle(loss: float) -> str:
    if math.isinf(loss):
        return "at this budget even an allocation that knows the noise can expect no finite error"
    return f"an allocation that knows the noise would expect {loss:.3g}"


def _table(result: TrialResult, dim: int) -> Table:
    table = new_table(
        "arm",
        "units",
        "true\nnoise",
        "estimated\nnoise",
        f"{100 * result.confidence:g} %\ninterval",
        "expected\nerror",
        "actual\nerror",
        "intervals\ncovering",
    )
    for arm in result.arms:
        low, high = arm.noise_interval
        table.add_row(
            arm.arm,
            str(arm.units),
            f"{arm.true_noise:g}",
            f"{arm.estimated_noise:.3g}",
            f"{low:.2g} – {high:.2g}",
            f"{arm.expected_error:.3g}",
            f"{arm.actual_error:.3g}",
            f"{arm.covered} of {dim}",
        )
    covered, intervals = sum(arm.covered for arm in result.arms), dim * len(result.arms)
    table.add_section()
    table.add_row(
        "all", str(sum(arm.units for arm in result.arms)), "", "", "", "", "", f"{covered} of {intervals}"
    )
    return table
