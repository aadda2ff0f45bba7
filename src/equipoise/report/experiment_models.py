"""Models and contrasts in the report of an experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from equipoise.core.diagnosis.weighted import WeightedEstimate
from equipoise.core.estimates.arm_estimate import LASSO, ArmEstimate
from equipoise.core.estimates.estimates import Estimates
from equipoise.core.estimates.inference.arm_table import coefficient_units
from equipoise.core.estimates.inference.places import AVERAGE
from equipoise.extras import is_installed
from equipoise.report.document import Block, Table, Text
from equipoise.report.numbers import shortened, with_interval
from equipoise.words import counted

# Longer tables are for programs, which find all numbers in the page's data.
MOST_ARMS, MOST_FEATURES = 60, 40
# Pairs of more arms than these make long tables, and wide intervals.
_MOST_PAIRED = 6


def model_blocks(estimates: Estimates) -> list[Block]:
    """Every arm's coefficients with their intervals."""
    arms, shown = estimates[:MOST_ARMS], _features_shown(estimates)
    level = f"{100 * estimates[0].confidence:g} % intervals"
    if not shown:
        return [Text("No model has a feature yet.")]
    bounded = any(np.isfinite(arm.intervals[shown]).any() for arm in estimates)
    if bounded:
        text = (
            "Coefficients are shrunk as far as the data justify; intervals surround least squares, which is "
            "what keeps them honest, and promise their coverage where outcomes are linear in the features"
        )
        text += ", if the outcomes chose the right ones." if any(arm.chosen for arm in estimates) else "."
    elif all(arm.estimator == LASSO for arm in estimates):
        text = "Coefficients are a lasso's, which has no intervals."
    else:
        text = "No interval is determined yet."
    text += "".join(f" {note}" for note in coefficient_units(estimates[0]))
    text += further(len(estimates) - len(arms), "arm")
    text += further(estimates.problem.dim - len(shown), "feature")
    caption = f"Estimates; below them least squares with {level}." if bounded else "Estimates."
    blocks: list[Block] = [Text(text)]
    if bounded and is_installed("matplotlib"):
        from equipoise.report.experiment_figures import FIGURE_ARMS, FIGURE_FEATURES, models_figure

        if len(estimates) <= FIGURE_ARMS and len(shown) <= FIGURE_FEATURES:
            blocks.append(models_figure(estimates, shown))
    return [
        *blocks,
        coefficient_cells(arms, shown, estimates.problem.feature_names, caption),
    ]


def contrast_blocks(estimates: Estimates) -> list[Block]:
    """Differences of expected outcomes: all pairs of few arms, else every arm with the first."""
    if len(estimates) < 2 or estimates.average is None:
        return [Text("There is nothing to compare yet.")]
    control = None if len(estimates) <= _MOST_PAIRED else estimates[0].arm
    shown = estimates.contrasts(control, at=AVERAGE).for_readers
    text = (
        "How much the expected outcomes of two arms differ. Each interval by itself is for whoever planned "
        "to look at that one; who looks at all and picks needs the simultaneous ones."
    )
    rows = shown.rows[:MOST_ARMS]
    left = further(len(shown.rows) - len(rows), "contrast")
    return [Text(text + left), Table(shown.header, rows, caption=" ".join(shown.notes))]


def coefficient_cells(
    arms: Sequence[ArmEstimate] | Sequence[WeightedEstimate],
    features: Sequence[int],
    called: Sequence[str],
    caption: str,
) -> Table:
    """Coefficients above their intervals; whatever is more, arms or features, stands in rows."""
    cells = {
        (arm.arm, j): _cell(arm, j, *ends[j]) if math.isfinite(arm.coef[j]) else "–"
        for arm in arms
        for ends in [arm.intervals]
        for j in features
    }
    names = [arm.arm for arm in arms]
    if len(names) > len(features):
        rows = [[name, *(cells[name, j] for j in features)] for name in names]
        return Table(["", *(called[j] for j in features)], rows, caption=caption)
    rows = [[called[j], *(cells[name, j] for name in names)] for j in features]
    return Table(["", *map(shortened, names)], rows, caption=caption)


def _cell(arm: ArmEstimate | WeightedEstimate, j: int, low: float, high: float) -> str:
    """An estimate above what its interval belongs to."""
    shown, ends = with_interval(arm.coef[j], low, high)
    if isinstance(arm, ArmEstimate) and arm.least_squares is not None and arm.noise_known:
        ends = "{} ({})".format(*with_interval(arm.least_squares[j], low, high))
    return f"{shown}\n{ends}"


def _features_shown(estimates: Estimates) -> list[int]:
    used: set[int] = set()
    for arm in estimates:
        used |= set(range(len(arm.coef)) if arm.columns is None else arm.columns.tolist())
    return sorted(used)[:MOST_FEATURES]


def further(number: int, noun: str) -> str:
    """That a table does not show everything."""
    return (
        f" {counted(number, f'further {noun} is', f'further {noun}s are')} not shown." if number > 0 else ""
    )
