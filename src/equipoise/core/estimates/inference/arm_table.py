"""The table of all arms, and an arm in words: units, outcomes, noise and errors, squared and not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.tables.tidy import ForReaders, TidyTable
from equipoise.version import __version__

if TYPE_CHECKING:
    from equipoise.core.estimates.arm_estimate import ArmEstimate

_COLUMNS = (
    "arm",
    "units",
    "outcomes",
    "pending",
    "noise_variance",
    "noise_low",
    "noise_high",
    "noise_deviation",
    "expected_error",
    "error_bound",
    "root_error",
    "r_squared",
    "adjusted_r_squared",
    "estimator",
    "ridge",
)
_UNKNOWN = "unknown"


def arm_table(arms: Sequence[ArmEstimate], notes: Sequence[str]) -> TidyTable:
    """One row an arm."""
    rows = [
        (
            arm.arm,
            arm.count,
            arm.observed,
            arm.pending,
            arm.noise_variance,
            *arm.noise_interval,
            arm.noise_deviation,
            arm.expected_error,
            arm.error_bound,
            arm.root_error,
            arm.r_squared,
            arm.adjusted_r_squared,
            arm.estimator,
            arm.ridge,
        )
        for arm in arms
    ]
    # Short words: eleven columns have to stand side by side in 100 letters.
    header = ["arm", "units", "told", "pending", "noise", "interval", "s.d."]
    header += ["error", "at most", "root", "R²"]
    unit = [
        "Noise: the noise variance, its interval and standard deviation.",
        "Error: the expected squared error, its bound and its root. R² is adjusted.",
    ]
    unit += [f"Standard deviation and root in {arms[0].unit}."] if arms[0].unit else []
    shown = [
        [
            arm.arm,
            str(arm.count),
            str(arm.observed),
            str(arm.pending),
            _digits(arm.noise_variance),
            _between(*arm.noise_interval),
            *map(_digits, (arm.noise_deviation, arm.expected_error, arm.error_bound, arm.root_error)),
            f"{arm.adjusted_r_squared:.2f}" if math.isfinite(arm.adjusted_r_squared) else _UNKNOWN,
        ]
        for arm in arms
    ]
    metadata = {"version": __version__, "numerics": NUMERICS, "confidence": arms[0].confidence}
    return TidyTable(_COLUMNS, rows, metadata, ForReaders(header, shown, 1, [*unit, *_youth(arms), *notes]))


def heading(arm: ArmEstimate) -> str:
    """One arm in a line."""
    parts = [f"{arm.arm}: {_counted(arm.count, 'unit')}, {_counted(arm.observed, 'outcome')} known"]
    if arm.pending:
        parts.append(f"{arm.pending} pending")
    unit = f" {arm.unit}" if arm.unit else ""
    if math.isfinite(arm.noise_variance):
        parts.append(f"noise variance {arm.noise_variance:.4g} (s.d. {arm.noise_deviation:.3g}{unit})")
    else:
        parts.append("noise unknown")
    if math.isfinite(arm.expected_error):
        parts.append(f"expected error {arm.expected_error:.4g} (root {arm.root_error:.3g}{unit})")
    if math.isfinite(arm.adjusted_r_squared):
        parts.append(f"adjusted R² {arm.adjusted_r_squared:.2f}")
    return ", ".join(parts)


def shrinkage(arm: ArmEstimate) -> str:
    """What the estimate is, what the interval belongs to, and what is measured in what."""
    units = "".join(f" {note}" for note in coefficient_units(arm))
    if arm.least_squares is None:
        kind = f"Estimate: {arm.estimator}"
        kind += "; there is no least squares yet." if arm.observed <= len(arm.coef) else "."
        return kind + units
    if math.isinf(arm.ridge):
        where = "the outcomes of other arms" if arm.center.any() else "0"
        shrunk = f"shrunk all the way to {where}, as the data do not tell it from there"
    else:
        shrunk = f"shrunk with λ = {arm.ridge:.3g}"
    belong = "Standard error and interval belong to least squares."
    return f"Estimate: {arm.estimator}, {shrunk}. {belong}{units}"


def coefficient_units(arm: ArmEstimate, *, undone: bool = False) -> list[str]:
    """What coefficients are measured in: a slope of ten years is ten times that of one."""
    notes = []
    if undone:
        outcome = f"In {arm.unit}, per" if arm.unit else "Per"
        notes.append(f"{outcome} unit in brackets where there is one.")
    else:
        notes += [f"In {arm.unit}."] if arm.unit else []
        encodings = getattr(arm.features, "encodings", ())
        notes += [f"Encoded: {', '.join(encodings)}."] if encodings else []
    return notes


def _youth(arms: Sequence[ArmEstimate]) -> list[str]:
    """Why numbers are unknown."""
    notes = []
    young = [arm for arm in arms if arm.dof < 1 and arm.least_squares is None and not math.isnan(arm.ridge)]
    if young:
        names = ", ".join(f"{arm.arm} {arm.observed}" for arm in young)
        need = len(young[0].coef if young[0].columns is None else young[0].columns) + 1
        notes.append(
            f"Unknown yet: a model and its noise need {need} outcomes an arm, at contexts that differ "
            f"(so far {names})."
        )
    return notes


def _digits(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else _UNKNOWN


def _between(low: float, high: float) -> str:
    return f"{low:.3g}–{high:.3g}" if math.isfinite(high) else _UNKNOWN


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
