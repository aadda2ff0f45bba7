"""What support recovery asks of Σ, the coefficients and the rows: conditions C1 to C5, measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from equipoise.core.text_tables import text_table
from equipoise.core.theory.recovery import smallest_above
from equipoise.core.theory.static import checked_noise
from equipoise.core.theory.support import (
    Geometry,
    checked_coef,
    checked_moment,
    checked_support,
    extreme_eigenvalues,
    lengths,
    positive,
    whole,
)
from equipoise.errors import InvalidArgument


@dataclass(frozen=True)
class RecoveryConditions:
    """Conditions C1 to C5 of the sparse appendix, measured for one Σ, one M and L rows an arm.

    They are asymptotic. For one problem C2 and C3 only say that Σ can be inverted, C4 that there is a
    penalty, and o(1) in C5 has no meaning: here C5 holds if the ratio is below 1. λ_k as printed does
    not change with the units of outcomes and contexts, so C5 does: give outcomes of about unit scale,
    or an f(d) in squared units of outcome times context.
    """

    arms: int
    dim: int
    support: tuple[int, ...]
    """S: features with a coefficient other than zero in some arm, counted from 0."""
    pulls: int
    """L, rows an arm."""
    largest_noise: float
    """σ²_max."""
    incoherence: float
    """γ = 1 − |||Σ_{SᶜS}·Σ_SS⁻¹|||_∞; 1 where one of the two sets is empty."""
    smallest_eigenvalue: float
    """C_min of Σ; 0 if it cannot be told from rounding."""
    largest_eigenvalue: float
    """C_max of Σ."""
    inverse_norm: float
    """D_max = |||Σ_SS⁻¹|||_∞, the largest sum of absolute values in a row."""
    weakest_signal: float
    """b*_min: the smallest length, over arms, of the coefficients of a feature in S; ∞ if S is empty."""
    overlap: float
    """ψ, see :func:`sparsity_overlap`."""
    conditional_variance: float
    """ρ_u: the largest variance of a feature outside S given those in S; 0 if there is none outside."""
    penalty: float
    """λ_k = √(f(d)·log d/L)."""
    coefficient_error: float
    """ρ(L, s, λ_k) of C5, within which coefficients are found; ∞ if C_min is 0."""

    @property
    def sparsity(self) -> int:
        """s, the number of features in S."""
        return len(self.support)

    @property
    def overlap_bounds(self) -> tuple[float, float]:
        """s/(m·C_max) ≤ ψ ≤ s/C_min.

        The paper prints C_min on both sides. The lower one is then wrong: m = 1 and Σ = diag(1, 4) have
        ψ = 1.25, below s/C_min = 2.
        """
        s = self.sparsity
        most = s / self.smallest_eigenvalue if self.smallest_eigenvalue > 0.0 else math.inf
        return s / (self.arms * self.largest_eigenvalue), most if s else 0.0

    @property
    def error_ratio(self) -> float:
        """ρ(L, s, λ_k)/b*_min; 0 if S is empty."""
        return self.coefficient_error / self.weakest_signal if self.support else 0.0

    @property
    def c1(self) -> bool:
        """C1: no feature outside S is mistaken for those inside, γ in (0, 1]."""
        return 0.0 < self.incoherence <= 1.0

    @property
    def c2(self) -> bool:
        """C2: the eigenvalues of Σ stay off 0 and ∞."""
        return 0.0 < self.smallest_eigenvalue <= self.largest_eigenvalue < math.inf

    @property
    def c3(self) -> bool:
        """C3: D_max is finite."""
        return self.inverse_norm < math.inf

    @property
    def c4(self) -> bool:
        """C4: there is a penalty, λ_k > 0; with d = 1 there is none. C5 says whether it is small enough."""
        return 0.0 < self.penalty < math.inf

    @property
    def c5(self) -> bool:
        """C5: the weakest signal stands out of the error, ρ(L, s, λ_k) < b*_min."""
        return self.error_ratio < 1.0

    @property
    def hold(self) -> bool:
        """Whether all five hold."""
        return self.c1 and self.c2 and self.c3 and self.c4 and self.c5

    def pulls_needed(self, margin: float = 0.1) -> float:
        """As :func:`recovery_pulls`, for what was measured here."""
        return smallest_above(
            overlap=self.overlap,
            incoherence=self.incoherence,
            conditional_variance=self.conditional_variance,
            outside=self.dim - self.sparsity,
            margin=margin,
        )

    def record(self) -> dict[str, Any]:
        """Plain values; None for what is infinite."""
        numbers = {
            "largest_noise": self.largest_noise,
            "incoherence": self.incoherence,
            "smallest_eigenvalue": self.smallest_eigenvalue,
            "largest_eigenvalue": self.largest_eigenvalue,
            "inverse_norm": self.inverse_norm,
            "weakest_signal": self.weakest_signal,
            "overlap": self.overlap,
            "conditional_variance": self.conditional_variance,
            "penalty": self.penalty,
            "coefficient_error": self.coefficient_error,
            "error_ratio": self.error_ratio,
            "pulls_needed": self.pulls_needed(),
        }
        return {
            "arms": self.arms,
            "dim": self.dim,
            "support": list(self.support),
            "pulls": self.pulls,
            **{name: _finite(number) for name, number in numbers.items()},
            "overlap_bounds": [_finite(end) for end in self.overlap_bounds],
            "holds": {name: getattr(self, name) for name in ("c1", "c2", "c3", "c4", "c5")},
            "hold": self.hold,
        }

    def __str__(self) -> str:
        eigenvalues = f"{self.smallest_eigenvalue:.4g} to {self.largest_eigenvalue:.4g}"
        rows = [
            ("C1 incoherence γ", f"{self.incoherence:.4g}", "above 0", self.c1),
            ("C2 eigenvalues of Σ", eigenvalues, "off 0 and ∞", self.c2),
            ("C3 norm of Σ_SS⁻¹, D_max", f"{self.inverse_norm:.4g}", "finite", self.c3),
            ("C4 penalty λ", f"{self.penalty:.4g}", "above 0", self.c4),
            ("C5 error over weakest signal", f"{self.error_ratio:.4g}", "below 1", self.c5),
        ]
        low, high = self.overlap_bounds
        needed = self.pulls_needed()
        asked = f"recovery asks for {needed:.0f}" if math.isfinite(needed) else "no number is enough"
        table = text_table(
            ["condition", "measured", "asked", "holds"],
            [[name, value, asked, "yes" if holds else "no"] for name, value, asked, holds in rows],
        )
        return (
            f"{table}\n"
            f"{self.sparsity} of {self.dim} features, {self.arms} arms, {self.pulls} rows an arm "
            f"({asked})\n"
            f"overlap ψ {self.overlap:.4g} ({low:.4g} to {high:.4g}), "
            f"conditional variance ρ_u {self.conditional_variance:.4g}"
        ).replace("-", "−")


def recovery_conditions(
    *,
    moment: npt.ArrayLike,
    coef: npt.ArrayLike,
    noise: npt.ArrayLike,
    pulls: int,
    support: Sequence[int] | None = None,
    growth: float | None = None,
) -> RecoveryConditions:
    """Measure conditions C1 to C5 for coefficients that are known or guessed.

    Parameters
    ----------
    moment
        Σ, the same for every arm.
    coef
        M, one row of d coefficients an arm. (The paper's M has arms in columns.)
    noise
        Noise variance of every arm.
    pulls
        L, rows an arm.
    support
        S, which must be the features whose column of ``coef`` is not all zeros; they are found if it
        is left out.
    growth
        f(d) of C4. The paper only asks that it grow without limit; log d unless given.

    >>> import numpy as np
    >>> coef = np.zeros((3, 20))
    >>> coef[:, :2] = 4.0
    >>> conditions = recovery_conditions(moment=np.eye(20), coef=coef, noise=[1.0, 1.0, 2.0], pulls=40)
    >>> conditions.hold, round(conditions.overlap, 4), conditions.pulls_needed()
    (True, 0.6667, 5)
    """
    signals = checked_coef(coef)
    arms, dim = signals.shape
    variances = checked_noise(noise)
    if len(variances) != arms:
        raise InvalidArgument(
            f"{len(variances)} noise variances for {arms} arms", hint="coef has one row an arm"
        )
    rows = whole("pulls", pulls, least=1)
    f = math.log(dim) if growth is None else positive("growth", growth)
    features = checked_support(support, signals)
    shape = Geometry(checked_moment(moment, dim), features)
    smallest, largest = extreme_eigenvalues(shape.moment)
    s, penalty = len(features), math.sqrt(f * math.log(dim) / rows)
    error = math.inf
    if smallest > 0.0:
        spread = 8.0 * float(variances.max()) * s * math.log(max(s, 1)) / (rows * smallest)
        error = math.sqrt(spread)
        error += penalty * (shape.inverse_norm + 12.0 * s / (smallest * math.sqrt(rows)))
    return RecoveryConditions(
        arms=arms,
        dim=dim,
        support=tuple(features.tolist()),
        pulls=rows,
        largest_noise=float(variances.max()),
        incoherence=shape.incoherence,
        smallest_eigenvalue=smallest,
        largest_eigenvalue=largest,
        inverse_norm=shape.inverse_norm,
        weakest_signal=float(lengths(signals[:, features]).min(initial=math.inf)),
        overlap=shape.overlap(signals),
        conditional_variance=shape.conditional_variance,
        penalty=penalty,
        coefficient_error=error,
    )


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
