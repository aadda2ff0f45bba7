"""Lack of fit: whether outcomes are straight lines in the features, asked of the residuals.

Decisions use contexts and noise variances, never coefficients. So given the contexts an arm's residuals are
Gaussian whatever was chosen, and the classical F test of terms that are functions of contexts alone is
nearly exact. What adaptive allocation bends is σ̂², as in intervals: an arm whose σ̂² came out low is pulled
less. F is divided by the same inflation. Terms made of fitted values, as in the usual RESET test, would
depend on outcomes and are not used.

Three kinds of terms are added: r = xᵀΣ⁻¹x, one number that tells how long a context is, which is what arms
that look at contexts may be sorted by; the squares of all features; and the products of two features, while
these are not too many. Each kind is tried for every arm and for what the arms have in common, which is where
a curve shared by all arms shows first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.diagnosis.evidence import Evidence
from equipoise.core.diagnosis.terms import Shared, holm, try_terms
from equipoise.core.text_tables import Shown

MOST_PRODUCTS = 100
"""Products of two features are tested while there are no more: of up to 14 features that vary."""
_KINDS = ("p_length", "p_squares", "p_products")


@dataclass(frozen=True)
class ArmFit:
    """One arm's tests."""

    arm: str
    observed: int
    p_length: float
    """p value of r = xᵀΣ⁻¹x as one more feature; 1 where it cannot be tested."""
    p_squares: float
    """p value of the squares of all features together; 1 where they cannot be tested."""
    p_products: float
    """p value of the products of two features together; 1 where they cannot be tested."""
    p_value: float
    """Of all three, corrected for there being so many tests of every arm (Holm)."""


@dataclass(frozen=True, eq=False, repr=False)
class LackOfFit(Shown):
    """Tests of the straight line: of every arm, and of what the arms have in common."""

    arms: tuple[ArmFit, ...]
    p_length: float
    """p value of a coefficient of r that all arms share."""
    p_squares: float
    """p value of coefficients of the squares that all arms share."""
    p_products: float
    """p value of coefficients of the products that all arms share."""
    p_value: float
    """Of everything together, corrected for the number of tests."""
    p_terms: dict[tuple[int, int], float] = field(default_factory=dict)
    """p values of single squares (j, j) and products (i, j) that all arms share, beside the others of their
    kind, corrected for their number (Holm)."""

    @property
    def clearest(self) -> tuple[int, int] | None:
        """The features whose product bends outcomes most clearly, twice the same for a square; None: none."""
        if not self.p_terms:
            return None
        term = min(self.p_terms, key=self.p_terms.__getitem__)
        return term if self.p_terms[term] < 0.05 else None

    def records(self) -> list[dict[str, Any]]:
        """One plain dictionary an arm, and one of all arms."""
        whole: dict[str, Any] = {"arm": None, "observed": sum(arm.observed for arm in self.arms)}
        whole |= {name: getattr(self, name) for name in (*_KINDS, "p_value")}
        return [dict(vars(arm)) for arm in self.arms] + [whole]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = [
            [
                "all arms" if line["arm"] is None else line["arm"],
                str(line["observed"]),
                *(f"{line[name]:.2g}" for name in (*_KINDS, "p_value")),
            ]
            for line in self.records()
        ]
        return ["arm", "outcomes", "p of r", "p of squares", "p of products", "p value"], rows


def lack_of_fit(evidence: Evidence, inflation: Vector) -> LackOfFit:
    """Test every arm and all of them; ``inflation`` is what σ̂² is multiplied by, see intervals.py."""
    scaled = evidence.scaled()
    squares, products = [(j, j) for j in range(scaled.shape[1])], product_pairs(scaled)
    added = [evidence.lengths()[:, None], terms_of(scaled, squares), terms_of(scaled, products)]
    tests = [try_terms(evidence, terms, inflation) for terms in added]
    each = [[1.0 if test is None else test.p_value for test in kind] for kind in tests]
    shared = [Shared(kind, terms.shape[1]) for kind, terms in zip(tests, added, strict=True)]
    whole = [kind.p_value for kind in shared]
    # Products that no arm can tell are no test, and cost the others nothing.
    tried = 3 if any(test is not None for test in tests[2]) else 2
    corrected = holm([min(1.0, tried * min(some)) for some in zip(*each, strict=True)])
    single = holm([*shared[1].p_values, *shared[2].p_values])
    observed = np.bincount(evidence.arms[evidence.fitted], minlength=len(evidence.names)).tolist()
    arms = tuple(
        ArmFit(name, count, *values)
        for name, count, *values in zip(evidence.names, observed, *each, corrected, strict=True)
    )
    return LackOfFit(
        arms=arms,
        p_length=whole[0],
        p_squares=whole[1],
        p_products=whole[2],
        p_value=min(1.0, (tried + 1) * min(*whole, *corrected)),
        p_terms=dict(zip(_features(evidence, [*squares, *products]), single, strict=True)),
    )


def _features(evidence: Evidence, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pairs of columns as pairs of features."""
    names = evidence.columns.tolist()
    return [(names[i], names[j]) for i, j in pairs]


def terms_of(scaled: Matrix, pairs: list[tuple[int, int]]) -> Matrix:
    """Products of pairs of features, a column each."""
    one, two = np.array(pairs, np.int64).reshape(-1, 2).T
    terms: Matrix = scaled[:, one] * scaled[:, two]
    return terms


def product_pairs(scaled: Matrix) -> list[tuple[int, int]]:
    """Pairs of different features that vary; none if they are too many to be tested."""
    varies = np.flatnonzero(np.ptp(scaled, axis=0) > 1e-9).tolist() if len(scaled) else []
    if len(varies) * (len(varies) - 1) // 2 > MOST_PRODUCTS:
        return []
    return list(combinations(varies, 2))
