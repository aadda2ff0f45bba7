"""Which numbers are estimated together: all coefficients, all arms' means, all contrasts.

Intervals of a family hold all at once, so a family is what one table shows: whoever writes up only the
contrasts with a control asks for these, and gets narrower intervals than with all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.inference.arm_table import coefficient_units
from equipoise.core.estimates.inference.combinations import (
    Combined,
    combined,
    combined_coefficients,
    joined,
    less,
)
from equipoise.core.estimates.inference.places import AVERAGE, places_of
from equipoise.core.estimates.inference.quantities import Inference
from equipoise.errors import InvalidArgument, InvalidFeatures
from equipoise.version import __version__

if TYPE_CHECKING:
    from equipoise.core.estimates.arm_estimate import ArmEstimate

COLUMNS, FIELDS = "columns", "fields"
Pairs = Sequence[tuple["ArmEstimate", "ArmEstimate"]]


def coefficient_family(arms: Sequence[ArmEstimate], units: str) -> Inference:
    """Every coefficient of the arms: as estimated, and by least squares, which intervals belong to."""
    names, rows = _coefficients(arms[0], units)
    found = joined([combined_coefficients(arm, rows) for arm in arms])
    return Inference(
        {"arm": [arm.arm for arm in arms for _ in names], "feature": names * len(arms)},
        found,
        value="least_squares",
        beside={"estimate": np.concatenate([rows @ arm.coef for arm in arms])},
        confidence=arms[0].confidence,
        metadata=_metadata(arms),
        notes=[_shrunk(arms), *coefficient_units(arms[0], undone=units == FIELDS), *_notes(arms)],
    )


def mean_family(arms: Sequence[ArmEstimate], at: Any, average: Vector | None) -> Inference:
    """The expected outcome of every arm at every context."""
    names, rows = places_of(arms[0].features, at, average)
    return Inference(
        {"arm": [arm.arm for arm in arms for _ in names], "context": names * len(arms)},
        joined([combined(arm, rows) for arm in arms]),
        value="least_squares",
        beside={"estimate": np.concatenate([rows @ arm.coef for arm in arms])},
        confidence=arms[0].confidence,
        metadata={**_metadata(arms), "contexts": rows.tolist()},
        notes=[_shrunk(arms), *_at(names, arms[0].unit), *_notes(arms)],
        tested=False,
    )


def contrast_family(pairs: Pairs, at: Any, average: Vector | None, units: str) -> Inference:
    """Differences of two arms each: of all coefficients, or of expected outcomes at contexts."""
    first, parts = pairs[0][0], combined
    if at is None:
        names, rows = _coefficients(first, units)
        parts = combined_coefficients
        said = coefficient_units(first, undone=units == FIELDS)
    else:
        if units != COLUMNS:
            raise InvalidArgument(
                "expected outcomes at a context have no units to choose", hint="leave units or at out"
            )
        names, rows = places_of(first.features, at, average)
        said = _at(names, first.unit)
    places = names * len(pairs)
    what = "feature" if at is None else "context"
    shown = {"contrast": [f"{arm.arm} − {other.arm}" for arm, other in pairs for _ in names]}
    if names != [AVERAGE]:
        shown[what] = places
    arms = list(dict.fromkeys([*(other for _, other in pairs), *(arm for arm, _ in pairs)]))
    known: dict[str, Combined] = {arm.arm: parts(arm, rows) for arm in arms}
    return Inference(
        {
            "arm": [arm.arm for arm, _ in pairs for _ in names],
            "against": [other.arm for _, other in pairs for _ in names],
            what: places,
        },
        joined([less(known[arm.arm], known[other.arm]) for arm, other in pairs]),
        value="difference",
        confidence=first.confidence,
        metadata=_metadata(arms) | ({} if at is None else {"contexts": rows.tolist()}),
        notes=["Differences are of least squares.", *said, *_notes(arms)],
        for_readers=shown,
    )


def _coefficients(arm: ArmEstimate, units: str) -> tuple[list[str], Matrix]:
    """Names of coefficients, and the combinations of the columns' coefficients that they are."""
    if units == COLUMNS:
        return list(arm.features.names), np.eye(arm.features.dim)
    if units != FIELDS:
        raise InvalidArgument(f"units={units!r} are no units", hint="use 'columns' or 'fields'")
    unscaled = getattr(arm.features, "unscaled", None)
    if unscaled is None:
        raise InvalidFeatures(
            "the problem has columns and no fields, so there is no centre or scale to undo",
            hint="build the problem with features=eq.Features(…)",
        )
    names, field_units, matrix = unscaled()
    return [
        f"{name} [{unit}]" if unit else name for name, unit in zip(names, field_units, strict=True)
    ], matrix.T


def _metadata(arms: Sequence[ArmEstimate]) -> dict[str, Any]:
    return {
        "version": __version__,
        "numerics": NUMERICS,
        "estimator": arms[0].estimator,
        "intervals": "robust" if any(arm.robust for arm in arms) else "classical",
        "observed": {arm.arm: arm.observed for arm in arms},
    }


def _shrunk(arms: Sequence[ArmEstimate]) -> str:
    kinds = ", ".join(dict.fromkeys(arm.estimator for arm in arms))
    return f"Estimates are shrunk ({kinds}); standard errors and intervals belong to least squares."


def _at(names: Sequence[str], unit: str | None) -> list[str]:
    """Where expected outcomes are compared, and in which unit."""
    notes = ["At the mean context of all units seen."] if list(names) == [AVERAGE] else []
    return [*notes, f"In {unit}."] if unit else notes


def _notes(arms: Sequence[ArmEstimate]) -> list[str]:
    """What readers must know of the intervals."""
    notes = []
    if any(arm.robust for arm in arms):
        notes.append("Intervals allow for noise that depends on the context (robust).")
    if any(arm.chosen for arm in arms):
        notes.append("The outcomes have chosen the features: no interval allows for that choice.")
    outcomes = ", ".join(f"{arm.arm} {arm.observed}" for arm in arms)
    return [*notes, f"Outcomes: {outcomes}."]
