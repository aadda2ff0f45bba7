"""Lack of fit: whether outcomes are straight lines in the features, asked of the residuals.

Decisions use contexts and noise variances, never coefficients. So given the contexts an arm's residuals are
Gaussian whatever was chosen, and the classical F test of terms that are functions of contexts alone is
nearly exact. What adaptive allocation bends is σ̂², as in intervals: an arm whose σ̂² came out low is pulled
less. F is divided by the same inflation. Terms made of fitted values, as in the usual RESET test, would
depend on outcomes and are not used.

Two kinds of terms are added: r = xᵀΣ⁻¹x, one number that tells how long a context is, which is what arms
that look at contexts may be sorted by; and the squares of all features. Both are tried for every arm and for
what the arms have in common, which is where a curve shared by all arms shows first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.diagnosis.evidence import Evidence
from equipoise.core.text_tables import html_table, text_table

# Degrees of freedom that the full model must leave for its own noise variance.
_LEFT = 3
_SPANNED = 1e-8


@dataclass(frozen=True)
class ArmFit:
    """One arm's tests."""

    arm: str
    observed: int
    p_length: float
    """p value of r = xᵀΣ⁻¹x as one more feature; 1 where it cannot be tested."""
    p_squares: float
    """p value of the squares of all features together; 1 where they cannot be tested."""
    p_value: float
    """Of both, corrected for there being two tests of every arm (Holm)."""


@dataclass(frozen=True, eq=False)
class LackOfFit:
    """Tests of the straight line: of every arm, and of what the arms have in common."""

    arms: tuple[ArmFit, ...]
    p_length: float
    """p value of a coefficient of r that all arms share."""
    p_squares: float
    """p value of coefficients of the squares that all arms share."""
    p_value: float
    """Of everything together, corrected for the number of tests."""

    def records(self) -> list[dict[str, Any]]:
        """One plain dictionary an arm, and one of all arms."""
        every = [vars(arm) for arm in self.arms]
        whole: dict[str, Any] = {"arm": None, "observed": sum(arm.observed for arm in self.arms)}
        whole |= {"p_length": self.p_length, "p_squares": self.p_squares, "p_value": self.p_value}
        return [dict(line) for line in every] + [whole]

    def __str__(self) -> str:
        return text_table(*self._table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(*self._table())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [
                "all arms" if line["arm"] is None else line["arm"],
                str(line["observed"]),
                *(f"{line[name]:.2g}" for name in ("p_length", "p_squares", "p_value")),
            ]
            for line in self.records()
        ]
        return ["arm", "outcomes", "p of r", "p of squares", "p value"], rows


class _Terms(NamedTuple):
    """What added terms say of one arm, in units of its noise."""

    information: Matrix  # ZᵀZ/σ̂², Z made orthogonal to the features
    pull: Vector  # Zᵀe/σ̂²
    rank: int
    dof: int  # of σ̂²
    p_value: float


def lack_of_fit(evidence: Evidence, inflation: Vector) -> LackOfFit:
    """Test every arm and all of them; ``inflation`` is what σ̂² is multiplied by, see intervals.py."""
    found = _found(evidence, inflation)
    each = [
        [1.0 if fit is None else fit.p_value for fit in fits] for fits in (found["length"], found["squares"])
    ]
    holm = _holm([min(1.0, 2.0 * min(pair)) for pair in zip(*each, strict=True)])
    observed = np.bincount(evidence.arms[evidence.fitted], minlength=len(evidence.names)).tolist()
    arms = tuple(
        ArmFit(name, observed[i], each[0][i], each[1][i], holm[i]) for i, name in enumerate(evidence.names)
    )
    p_length, p_squares = _in_common(found["length"]), _in_common(found["squares"])
    return LackOfFit(arms, p_length, p_squares, min(1.0, 3.0 * min(p_length, p_squares, *holm)))


def shared_squares(evidence: Evidence, inflation: Vector) -> Vector | None:
    """Coefficients of the squares of :func:`scaled_contexts` that all arms share; None if untold."""
    known = [fit for fit in _found(evidence, inflation)["squares"] if fit is not None]
    if not known:
        return None
    coef: Vector = _inverse(known) @ np.sum([fit.pull for fit in known], axis=0)
    return coef


def scaled_contexts(evidence: Evidence) -> Matrix:
    """Features in units of their own size."""
    contexts = evidence.contexts
    size = np.sqrt(np.mean(contexts**2, axis=0)) if len(contexts) else np.ones(contexts.shape[1])
    scaled: Matrix = contexts / np.where(size > 0.0, size, 1.0)
    return scaled


def _found(evidence: Evidence, inflation: Vector) -> dict[str, list[_Terms | None]]:
    """What each kind of terms says of every arm."""
    scaled = scaled_contexts(evidence)
    added = {"length": evidence.lengths()[:, None], "squares": scaled**2}
    found: dict[str, list[_Terms | None]] = {name: [] for name in added}
    for i in range(len(evidence.names)):
        mine = (evidence.arms == i) & evidence.fitted
        base = _basis(scaled[mine])
        outcomes = evidence.outcomes[mine]
        residuals = outcomes - base @ (base.T @ outcomes)
        # Of the size of rounding: an exact fit has no noise to compare with.
        exact = float(residuals @ residuals) <= 1e-20 * float(outcomes @ outcomes)
        for name, terms in added.items():
            fit = None if exact else _tested(base, terms[mine], residuals, float(inflation[i]))
            found[name].append(fit)
    return found


def _basis(features: Matrix) -> Matrix:
    """Orthonormal columns that span those of ``features``."""
    if not features.size:
        return np.zeros((len(features), 0))
    left, values, _ = np.linalg.svd(features, full_matrices=False)
    basis: Matrix = left[:, values > 1e-10 * values[0]]
    return basis


def _tested(base: Matrix, terms: Matrix, residuals: Vector, inflation: float) -> _Terms | None:
    """The F test of terms beside the features; None if the features span them or too little is left."""
    from scipy.special import fdtrc

    rest = terms - base @ (base.T @ terms)
    rest = np.where(np.sum(rest**2, axis=0) > _SPANNED * np.sum(terms**2, axis=0), rest, 0.0)
    own = _basis(rest)
    rank = own.shape[1]
    dof = len(residuals) - base.shape[1] - rank
    if rank == 0 or dof < _LEFT:
        return None
    explained = own.T @ residuals
    left = float(residuals @ residuals - explained @ explained)
    if not left > 0.0:
        return None
    variance = left / dof * inflation
    p_value = float(fdtrc(rank, dof, float(explained @ explained) / rank / variance))
    return _Terms(rest.T @ rest / variance, rest.T @ residuals / variance, rank, dof, p_value)


def _in_common(fits: Sequence[_Terms | None]) -> float:
    """p value of coefficients that all arms share, each arm weighted by what it knows of them."""
    from scipy.special import fdtrc

    known = [fit for fit in fits if fit is not None]
    if not known:
        return 1.0
    information = np.sum([fit.information for fit in known], axis=0)
    pull = np.sum([fit.pull for fit in known], axis=0)
    inverse = _inverse(known)
    rank = round(float(np.trace(inverse @ information)))
    if rank == 0:
        return 1.0
    # Satterthwaite: variances of arms that know little add little.
    parts = [float(np.trace(inverse @ fit.information)) / rank for fit in known]
    dof = 1.0 / math.fsum(part**2 / fit.dof for part, fit in zip(parts, known, strict=True))
    return float(fdtrc(rank, dof, float(pull @ inverse @ pull) / rank))


def _inverse(known: Sequence[_Terms]) -> Matrix:
    """The covariance of coefficients that the arms share."""
    information = np.sum([fit.information for fit in known], axis=0)
    inverse: Matrix = np.linalg.pinv(information, rcond=1e-8, hermitian=True)
    return inverse


def _holm(values: Sequence[float]) -> list[float]:
    """p values corrected for their number, step by step."""
    adjusted, highest = list(values), 0.0
    for turn, i in enumerate(np.argsort(values)):
        highest = max(highest, min(1.0, (len(values) - turn) * values[i]))
        adjusted[i] = highest
    return adjusted
