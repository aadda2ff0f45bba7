"""Intervals that need no constant noise: the sandwich, corrected for small samples.

Where the noise of a unit depends on its context, the covariance of β̂ is not σ²S⁻¹ but S⁻¹MS⁻¹ with
M = Σ σᵢ²xᵢxᵢᵀ. For a combination cᵀβ̂ with weights aᵢ = cᵀS⁻¹xᵢ that is Σ aᵢ²σᵢ², estimated by

    Σ aᵢ²eᵢ²/(1 − hᵢ),   eᵢ residuals, hᵢ = xᵢᵀS⁻¹xᵢ leverages                          (HC2)

which is unbiased where the noise is constant. Where noise grows with the weights it is too small: the fit
follows just those units, and their residuals are mixed with quieter ones'. With the variance function

    σᵢ² ∝ 1 + b·qᵢ,   qᵢ = aᵢ²/mean(aᵢ²) − 1,   0 ≤ b ≤ 1

squares eᵢ²/(1 − hᵢ) only show 1 + b·sᵢ, s = ((I − H)∘(I − H))q/(1 − h). So the sandwich is multiplied by

    Σ aᵢ²(1 + b·qᵢ)/Σ aᵢ²(1 + b·sᵢ)

with b = its mean given the residuals, where before them b = 0 is as likely as not, and otherwise anything
from 0 to 1. Few residuals tell little of b, and then the interval is somewhat wider than it need be where the
noise is constant; many tell it well.

The sandwich rests on fewer residuals than σ̂² does, since large weights count for more. Satterthwaite's
degrees of freedom say on how many; with constant noise they are

    ν = (Tr B)²/Tr(B²),   B = (I − H)·diag(aᵢ²/(1 − hᵢ))·(I − H)

(Bell and McCaffrey 2002; Imbens and Kolesár 2016). Where noise grows with the weights there are fewer
still. So ν is divided by what the variance function does to Σ(aᵢ²σᵢ²)²/(Σ aᵢ²σᵢ²)², with a b that is fitted
to the squares as they are and taken back by its sampling error.

Adaptive allocation makes the sandwich too small by the same share as σ̂²: with constant Gaussian noise
their ratio is independent of σ̂², which is all of the outcomes that policies see. So the correction of
:mod:`equipoise.core.estimates.intervals` serves here, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from equipoise.core.arms.baseline import kept_contexts
from equipoise.core.arms.state import TOLD, State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.defaults import CLASSICAL
from equipoise.errors import InvalidArgument

ROBUST = "robust"
KINDS = (CLASSICAL, ROBUST)

# A unit that alone determines a coefficient has leverage 1 and no residual.
_DETERMINED = 1e-9
# What noise that is the same everywhere is believed to be, before residuals are seen.
_CONSTANT = 0.5
# A unit that was not seen may have a square so many times the largest: kurtosis of few residuals is too low.
_UNSEEN = 1.5
# Rows and combinations are worked on in blocks, so that no array has more entries than this.
_BLOCK = 1_000_000


def check_intervals(kind: str) -> None:
    """Refuse words that are not a kind of interval."""
    if kind not in KINDS:
        raise InvalidArgument(
            f"intervals={kind!r} is not a kind of interval", hint="use 'classical' or 'robust'"
        )


@dataclass(frozen=True, eq=False)
class Sandwich:
    """One arm's residuals, and what they say about the variance of any combination cᵀβ̂.

    Combinations are given as Vᵀc, with S⁻¹ = VVᵀ.
    """

    rows: Matrix
    """[k, d] contexts times V: rᵢᵀrⱼ is the hat matrix H."""
    squares: Vector
    """[k] eᵢ²/(1 − hᵢ); σ̂² for units without a residual."""
    left: Vector
    """[k] 1 − hᵢ; 0 for units without a residual."""
    variance: float
    """σ̂²."""
    dof: int
    """k − d."""

    @property
    def noise_dof(self) -> float:
        """Degrees of freedom of σ̂² that its sampling error amounts to: fewer than k − d with heavy tails."""
        if not self.variance > 0.0:
            return float(self.dof)
        relative = self.squares / self.variance
        relative = np.append(relative, _UNSEEN * np.max(relative))
        # Squares of normal residuals have variance 2.
        spread = float(np.var(relative / np.mean(relative), ddof=1))
        return max(1.0, self.dof * 2.0 / max(spread, 2.0))

    def variances(self, combinations: Matrix) -> tuple[Vector, Vector]:
        """Variance of every combination, and its degrees of freedom."""
        variances, freedom = np.zeros(len(combinations)), np.full(len(combinations), float(self.dof))
        step = max(1, _BLOCK // max(len(self.rows), 1))
        for first in range(0, len(combinations), step):
            some = slice(first, first + step)
            weights = (combinations[some] @ self.rows.T) ** 2
            variances[some] = weights @ self.squares * self._hidden(weights)
            freedom[some] = self._freedom(weights)
        return variances, freedom

    def error_ratio(self, moment_root: Matrix, inverse_root: Matrix) -> float:
        """Tr(ΣS⁻¹MS⁻¹) over σ̂²Tr(ΣS⁻¹): what noise that depends on x does to the expected error."""
        combinations = moment_root @ inverse_root
        weights = np.zeros(len(self.rows))
        for some in np.array_split(combinations, max(1, combinations.shape[0] * len(self.rows) // _BLOCK)):
            weights += np.sum((some @ self.rows.T) ** 2, axis=0)
        constant = self.variance * float(np.sum(weights))
        return float(weights @ self.squares) / constant if constant > 0.0 else 1.0

    def _hidden(self, weights: Matrix) -> Vector:
        """What the squares hide of a sandwich where noise grows with the squared weights."""
        shares, beyond, relative = self._relative(weights)
        alone, leverage = self.left <= 0.0, np.sum(self.rows * self.rows, axis=1)
        beyond[:, alone] = 0.0  # σ̂² stands in for their noise
        shown = np.zeros_like(beyond)
        for c, excess in enumerate(beyond):
            inner = self.rows.T @ (excess[:, None] * self.rows)
            mixed = excess * (1.0 - 2.0 * leverage) + np.sum((self.rows @ inner) * self.rows, axis=1)
            shown[c] = np.where(alone, 0.0, mixed / np.where(alone, 1.0, self.left))
        reach = np.maximum(np.sum(shown * shown, axis=1), 1e-9)
        slope = _believed_slope(shown @ relative / reach, np.sqrt(2.0 / reach))
        there, seen = (1.0 + slope * np.sum(shares * each, axis=1) for each in (beyond, shown))
        return np.asarray(np.maximum(there / np.maximum(seen, 1e-9), 1.0))

    def _relative(self, weights: Matrix) -> tuple[Matrix, Matrix, Vector]:
        """Shares of the squared weights; by how much they pass their mean; squares likewise, over σ̂²."""
        count, total = len(self.squares), np.sum(weights, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.nan_to_num(weights / total[:, None], nan=1.0 / count)
        relative = self.squares / self.variance - 1.0 if self.variance > 0.0 else np.zeros(count)
        return shares, count * shares - 1.0, relative

    def _freedom(self, weights: Matrix) -> Vector:
        """Satterthwaite's degrees of freedom, by the squared weights [combinations, k] in any unit."""
        weights, alone = self._relative(weights)[0], self.left <= 0.0
        scaled = np.where(alone, 0.0, weights / np.where(alone, 1.0, self.left))
        # σ̂² stands in for the residuals of units that have none.
        lent = np.sum(weights[:, alone], axis=1)
        squared_trace = self._squared_trace(scaled) + lent * (2.0 - lent) / self.dof
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = 1.0 / squared_trace / np.maximum(self._concentration(weights), 1.0)
        return np.asarray(np.clip(np.nan_to_num(freedom, nan=float(self.dof)), 1.0, float(self.dof)))

    def _squared_trace(self, scaled: Matrix) -> Vector:
        """Tr(((I − H)D)²) for the diagonals D in the rows of ``scaled``, in O(k²d) or O(kd³)."""
        count, dim = self.rows.shape
        result = np.zeros(len(scaled))
        if count <= dim * dim:
            step = max(1, _BLOCK // count)
            for first in range(0, count, step):
                some = slice(first, min(first + step, count))
                hat = -(self.rows[some] @ self.rows.T)
                hat[np.arange(hat.shape[0]), np.arange(some.start, some.stop)] += 1.0
                result += np.sum(scaled[:, some] * (scaled @ (hat * hat).T), axis=1)
            return result
        leverage = np.sum(self.rows * self.rows, axis=1)
        for c, diagonal in enumerate(scaled):
            inner = self.rows.T @ (diagonal[:, None] * self.rows)
            result[c] = np.sum(diagonal * diagonal * (1.0 - 2.0 * leverage)) + np.sum(inner * inner)
        return result

    def _concentration(self, weights: Matrix) -> Vector:
        """By how much the variance function that fits concentrates a sandwich on few residuals."""
        shares, beyond, relative = self._relative(weights)
        reach = np.maximum(np.sum(beyond * beyond, axis=1), 1e-9)
        slope = np.clip(beyond @ relative / reach, 0.0, 1.0)
        # What chance alone would give is taken back; squares of normal residuals have variance 2.
        chance = 2.0 / reach
        clear = slope * slope > chance
        slope = np.where(clear, slope - chance / np.where(clear, slope, 1.0), 0.0)
        loads = shares * (1.0 + slope[:, None] * beyond)
        flat = np.sum(shares * shares, axis=1)
        return np.asarray(np.sum(loads * loads, axis=1) / np.sum(loads, axis=1) ** 2 / flat)


def sandwich_of(state: State, i: int, least_squares: Vector, inverse_root: Matrix) -> Sandwich | None:
    """The sandwich of arm i, whose S is invertible; None without a degree of freedom.

    Redacted units have no residuals any more: they count as units that had none.
    """
    arm = state.arms[i]
    dof = int(arm["dof"])
    if dof < 1:
        return None
    used = int(state.trial["step"][0])
    mine = (state.rows["arm"][:used] == i) & (state.rows["status"][:used] == TOLD)
    contexts, outcomes = state.contexts[:used][mine], state.outcomes[:used][mine]
    rows = contexts @ inverse_root
    left = 1.0 - np.sum(rows * rows, axis=1)
    alone = left < _DETERMINED
    left = np.where(alone, 0.0, left)
    residuals = outcomes - contexts @ least_squares
    variance = float(arm["noise_variance"])
    squares = np.where(alone, variance, residuals**2 / np.where(alone, 1.0, left))
    redacted = kept_contexts(state, i)
    if len(redacted):
        rows = np.concatenate([rows, redacted @ inverse_root])
        squares = np.append(squares, np.full(len(redacted), variance))
        left = np.append(left, np.zeros(len(redacted)))
    return Sandwich(rows=rows, squares=squares, left=left, variance=variance, dof=dof)


def _believed_slope(found: Vector, error: Vector) -> Vector:
    """Mean of b given what residuals say of it, with its standard error: 0, or anything from 0 to 1."""
    from scipy.special import ndtr

    # Beyond a few standard errors the end of the range is the answer.
    found = np.clip(found, -4.0 * error, 1.0 + 4.0 * error)
    from_0, to_1 = -found / error, (1.0 - found) / error
    within = ndtr(to_1) - ndtr(from_0)
    mean = np.clip(found + error * (_density(from_0) - _density(to_1)) / within, 0.0, 1.0)
    constant = _CONSTANT * _density(from_0) / error
    return np.asarray(mean * (1.0 - _CONSTANT) * within / ((1.0 - _CONSTANT) * within + constant))


def _density(value: Vector) -> Vector:
    return np.asarray(np.exp(-0.5 * value * value) / math.sqrt(2.0 * math.pi))
