"""Balance: the contexts that every arm got, against those of all units.

A straight line that is fitted to the wrong people is the wrong line, if the truth is bent. How long contexts
are is what matters most: r = xᵀΣ⁻¹x is d on average over all units, and an arm that gets short or long ones
sees another part of a curve than its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.diagnosis.evidence import Evidence
from equipoise.core.estimates.by_arm import ByArm


@dataclass(frozen=True, eq=False)
class ArmBalance:
    """One arm's contexts against those of all units."""

    arm: str
    units: int
    """Units that count: assigned, neither lost nor withdrawn."""
    length: float
    """Mean of r = xᵀΣ⁻¹x over the arm's contexts."""
    length_of_all: float
    """Mean of r over all contexts."""
    length_difference: float
    """Their difference in standard deviations of r."""
    means: Vector = field(repr=False)
    """Mean of every feature."""
    spreads: Vector = field(repr=False)
    """Standard deviation of every feature."""
    differences: Vector = field(repr=False)
    """Means less those of all units, in standard deviations of all units; 0 for features that do not vary."""
    p_value: float
    """Chance of so much imbalance, in r or in the means, if arms were dealt without a look at contexts."""

    @property
    def largest_difference(self) -> float:
        """The standardised difference that is farthest from 0."""
        if not len(self.differences):
            return 0.0
        return float(self.differences[np.argmax(np.abs(self.differences))])

    def record(self) -> dict[str, Any]:
        """Plain values, lists instead of arrays."""
        return {
            "arm": self.arm,
            "units": self.units,
            "length": self.length,
            "length_of_all": self.length_of_all,
            "length_difference": self.length_difference,
            "largest_difference": self.largest_difference,
            "p_value": self.p_value,
            "means": self.means.tolist(),
            "spreads": self.spreads.tolist(),
            "differences": self.differences.tolist(),
        }


class Balance(ByArm[ArmBalance]):
    """The arms' contexts against those of all units."""

    def __init__(
        self,
        arms: Sequence[ArmBalance],
        means: Vector,
        spreads: Vector,
        features: Sequence[int],
        names: Sequence[str],
    ) -> None:
        super().__init__(arms)
        self.features = tuple(features)
        """Features that means, spreads and differences are of, counted from 0."""
        self.names = tuple(names)
        """What these are called."""
        self.means = means
        """Mean of every feature over all units."""
        self.spreads = spreads
        """Standard deviation of every feature over all units."""

    def _table(self) -> tuple[list[str], list[list[str]]]:
        header = ["arm", "units", "mean r", "of all", "r, standardised", "largest difference", "p value"]
        rows = [
            [
                arm.arm,
                str(arm.units),
                f"{arm.length:.4g}",
                f"{arm.length_of_all:.4g}",
                f"{arm.length_difference:+.2f}",
                f"{arm.largest_difference:+.2f}",
                f"{arm.p_value:.2g}",
            ]
            for arm in self
        ]
        return header, rows


def balance_of(evidence: Evidence) -> Balance:
    """Compare every arm's contexts with all of them."""
    contexts, lengths = evidence.contexts, evidence.lengths()
    count, dim = contexts.shape
    means = contexts.mean(axis=0) if count else np.zeros(dim)
    spreads = contexts.std(axis=0) if count else np.zeros(dim)
    scale = np.where(spreads > 1e-12 * np.abs(means), spreads, np.inf)
    standard = (contexts - means) / scale
    directions = _directions(standard)
    arms = [
        _arm_balance(
            name, contexts[mine], standard[mine] @ directions, standard[mine], lengths[mine], lengths
        )
        for i, name in enumerate(evidence.names)
        for mine in [(evidence.arms == i) & evidence.counts]
    ]
    return Balance(arms, means, spreads, evidence.columns.tolist(), evidence.features)


def _directions(standard: Matrix) -> Matrix:
    """Combinations of the features that are uncorrelated and have variance 1, as columns."""
    if not standard.size:
        return np.zeros((standard.shape[1], 0))
    values, vectors = np.linalg.eigh(standard.T @ standard / len(standard))
    kept = values > 1e-9 * max(float(values[-1]), 1e-300)
    directions: Matrix = vectors[:, kept] / np.sqrt(values[kept])
    return directions


def _arm_balance(
    name: str, contexts: Matrix, along: Matrix, standard: Matrix, lengths: Vector, all_lengths: Vector
) -> ArmBalance:
    units, count, dim = len(contexts), len(all_lengths), contexts.shape[1]
    if units == 0:
        nothing = np.full(dim, np.nan)
        typical = float(all_lengths.mean()) if count else np.nan
        return ArmBalance(name, 0, np.nan, typical, 0.0, nothing, nothing, np.zeros(dim), 1.0)
    deviation = float(all_lengths.std())
    varies = deviation > 1e-9 * float(all_lengths.mean())
    shift = float(lengths.mean() - all_lengths.mean()) / deviation if varies else 0.0
    return ArmBalance(
        arm=name,
        units=units,
        length=float(lengths.mean()),
        length_of_all=float(all_lengths.mean()),
        length_difference=shift,
        means=contexts.mean(axis=0),
        spreads=contexts.std(axis=0),
        differences=standard.mean(axis=0),
        p_value=_p_value(shift, along.mean(axis=0), units, count),
    )


def _p_value(shift: float, along: Vector, units: int, count: int) -> float:
    """By the variance that means of ``units`` of all contexts have when they are dealt like cards."""
    from scipy.special import chdtrc, ndtr

    free = (1.0 / units - 1.0 / count) * count / max(count - 1, 1)
    if free <= 0.0:
        return 1.0
    by_length = 2.0 * float(ndtr(-abs(shift) / np.sqrt(free)))
    by_means = float(chdtrc(len(along), float(along @ along) / free)) if len(along) else 1.0
    return min(1.0, 2.0 * min(by_length, by_means))
