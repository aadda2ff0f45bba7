"""The demo's figure: where the units went, and what that did to the arms' errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equipoise.cli.demo.trial import Comparison
from equipoise.files import write_whole
from equipoise.studies.colours import GRID, INK, PAPER, QUIET, policy_looks
from equipoise.studies.drawing import house_style


def save_plot(comparison: Comparison, path: Path, *, version: str) -> None:
    """Draw ``comparison`` into a PNG file that also carries its settings."""
    from matplotlib.figure import Figure

    chosen = comparison.chosen
    settings = (
        f"equipoise {version} · policy {chosen.policy} · seed {comparison.seed} · "
        f"{comparison.budget} units · {len(chosen.arms)} arms · {comparison.dim} features · "
        "standard normal contexts, one simulated trial"
    )
    with house_style():
        figure = Figure(figsize=(10.5, 5.4), dpi=150)
        units, errors = figure.subplots(1, 2, sharey=True)
        figure.subplots_adjust(left=0.12, right=0.975, top=0.79, bottom=0.165, wspace=0.08)
        _draw_units(units, comparison)
        _draw_errors(errors, comparison)
        units.set_ylim(len(chosen.arms) - 0.4, -0.6)  # the first arm on top
        figure.text(0.02, 0.935, title(comparison), fontsize=13, fontweight="bold")
        figure.legend(
            *units.get_legend_handles_labels(),
            loc="center left",
            bbox_to_anchor=(0.01, 0.885),
            ncols=3,
            frameon=False,
            handletextpad=0.3,
            columnspacing=1.8,
        )
        figure.text(0.02, 0.022, settings, fontsize=7.5, color=QUIET)
        metadata = {"Title": title(comparison), "Description": settings}
        write_whole(path, lambda file: figure.savefig(file, format="png", metadata=metadata))


def title(comparison: Comparison) -> str:
    """What one sees, whichever way it went."""
    chosen, uniform = comparison.chosen, comparison.uniform
    name = chosen.policy.partition(":")[0]
    if chosen.worst_expected < uniform.worst_expected:
        return (
            f"More units for noisy arms: {name} cuts the worst expected error "
            f"from {uniform.worst_expected:.2g} to {chosen.worst_expected:.2g}"
        )
    return (
        f"The worst expected error is {chosen.worst_expected:.2g} with {name}, "
        f"{uniform.worst_expected:.2g} with uniform"
    )


def _draw_units(axes: Any, comparison: Comparison) -> None:
    rows = range(len(comparison.optimal_units))
    chosen, uniform = comparison.chosen, comparison.uniform
    _draw_pairs(axes, comparison, [arm.units for arm in chosen.arms], [arm.units for arm in uniform.arms])
    axes.scatter(
        comparison.optimal_units,
        rows,
        marker="|",
        s=260,
        linewidths=2,
        color=INK,
        label="optimal for known noise",
        zorder=2,
    )
    axes.set_xlim(left=0)
    axes.set_xlabel("units given to the arm")
    axes.set_title("Where the units went", loc="left", fontsize=11)
    axes.set_ylabel("arm and its true noise variance σ²")
    axes.set_yticks(rows, [f"{arm.arm}\nσ² = {arm.true_noise:g}" for arm in chosen.arms])


def _draw_errors(axes: Any, comparison: Comparison) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    chosen, uniform = comparison.chosen, comparison.uniform
    axes.set_xscale("log")
    _draw_pairs(
        axes,
        comparison,
        [arm.expected_error for arm in chosen.arms],
        [arm.expected_error for arm in uniform.arms],
    )
    if math.isfinite(comparison.optimal_loss):
        axes.axvline(comparison.optimal_loss, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        axes.annotate(
            f"optimal for known noise: {comparison.optimal_loss:.2g}",
            (comparison.optimal_loss, -0.35),
            xytext=(-6, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize=9,
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 2},
        )
    axes.xaxis.set_major_locator(LogLocator(numticks=8))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.tick_params(axis="x", which="minor", length=0)
    axes.set_xlabel("expected squared error (outcome units², log scale)")
    axes.set_title("What it did to the arms' errors", loc="left", fontsize=11)


def _draw_pairs(axes: Any, comparison: Comparison, chosen: Sequence[float], uniform: Sequence[float]) -> None:
    rows = range(len(chosen))
    axes.hlines(rows, uniform, chosen, color=GRID, linewidth=3.0, zorder=1)
    mine, even = policy_looks([comparison.chosen.policy, "uniform"])
    axes.scatter(chosen, rows, s=64, label=comparison.chosen.policy, zorder=4, **mine.point)
    axes.scatter(uniform, rows, s=50, label="uniform", zorder=3, **even.point)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="y", visible=False)
    axes.tick_params(axis="y", length=0)
