"""How many features the joint support has, when nobody says: ways to choose among those that entered.

``"elimination"``, the default, follows the path of the block lasso past the support and drops by least
squares what is not evident (elimination.py). The lasso lets false features in before the last true ones
wherever contexts are correlated or rows are few; least squares, which does not shrink, tells them apart,
and its test knows the distribution at a handful of degrees of freedom, where the penalty of the information
criterion falls short. ``benchmarks/pages/support_recovery.py`` compares all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from equipoise.core.arithmetic.gamma import log_gamma
from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.sparse.cross_validation import cross_validated
from equipoise.core.sparse.elimination import eliminate
from equipoise.core.sparse.path import Screen, screen
from equipoise.core.sparse.standardised import Integers, Standardised, standardise

# Features that the path is followed to at first; twice as many while more than half turn out evident, or
# those that do not are evident together.
_REACH = 24
# Halves of the rows for stability selection, and how often a feature must be chosen.
_HALVES, _OFTEN = 50, 0.7
_ROUNDING = 1e-20


class Rows(NamedTuple):
    """What a support is to be recovered from."""

    contexts: Matrix
    outcomes: Vector
    arms: Integers
    data: Standardised
    scale: Vector  # [m] units of the outcomes
    room: int  # the largest support that leaves every arm two degrees of freedom
    most: int  # the largest support that is wanted, at most room


def eliminated(rows: Rows, fixed: int | None = None) -> tuple[Screen, list[int]]:
    """The path past the support, and what is left of it; ``fixed``: this many features."""
    reach = min(max(_REACH, 2 * (fixed or 0)), rows.room)
    while True:
        found = screen(rows.data, rows.scale, reach)
        reached = int(found.refit.size[0])
        target = None if fixed is None else min(fixed, rows.most)
        hidden = eliminate(found.refit, fixed=target, most=rows.most)
        size = int(found.refit.size[0])
        enough = fixed is not None or (2 * size <= reach and not hidden)
        if enough or reached < reach or reach == rows.room:
            return found, [int(j) for j in found.refit.features[:size]]
        reach = min(2 * reach, rows.room)


def _by_elimination(rows: Rows) -> list[int]:
    return eliminated(rows)[1]


def _by_information(rows: Rows) -> list[int]:
    """Extended BIC (Chen & Chen 2008) without σ: Σ kᵢ log RSSᵢ + |S| Σ log kᵢ + 2 log (d choose |S|).

    It falls without end where residuals vanish, so supports stay below half the rows of an arm.
    """
    found = screen(rows.data, rows.scale, (rows.room + 1) // 2)
    refit, dim = found.refit, rows.contexts.shape[1]
    told = np.flatnonzero(refit.squares[0] > 0.0)
    counts = [float(count) for count in rows.data.counts[told]]
    log_counts = [log(count) for count in counts]
    best, least = 0, np.inf
    for size in range(min(int(refit.size[0]), rows.most) + 1):
        squares = np.maximum(refit.squares[size, told], _ROUNDING * refit.squares[0, told]).tolist()
        ranks = refit.ranks[size, told].tolist()
        terms = [
            count * log(square) + rank * log_count
            for count, square, rank, log_count in zip(counts, squares, ranks, log_counts, strict=True)
        ]
        choices = log_gamma(dim + 1.0) - log_gamma(size + 1.0) - log_gamma(dim - size + 1.0)
        criterion = exact_sum(terms) + 2.0 * choices
        if criterion < least:
            best, least = size, criterion
    return [int(j) for j in refit.features[:best]]


def _by_cross_validation(rows: Rows) -> list[int]:
    """Active features at the λ that predicts best."""
    task = cross_validated(rows.contexts, rows.outcomes, rows.arms, rows.data, rows.scale)
    order = np.argsort(-task.norms, kind="stable")
    return [int(j) for j in order[: min(np.count_nonzero(task.norms), rows.most)]]


def _by_stability(rows: Rows) -> list[int]:
    """Features that most halves of the rows choose (Meinshausen & Bühlmann 2010)."""
    # The same halves for the same number of rows; NumPy promises the words of a bit generator for good.
    generator = np.random.PCG64(0)
    dim, arm_count = rows.contexts.shape[1], len(rows.scale)
    chosen = np.zeros(dim)
    # √((2π − 1) d) features a half keep the expected number of false ones below one.
    reach = min(int(math.sqrt((2.0 * _OFTEN - 1.0) * dim)), rows.room // 2)
    for _ in range(_HALVES):
        ranks = generator.random_raw(len(rows.arms))
        half = np.zeros(len(rows.arms), dtype=bool)
        for i in range(arm_count):
            own = np.flatnonzero(rows.arms == i)
            half[own[np.argsort(ranks[own])[: (len(own) + 1) // 2]]] = True
        part = standardise(rows.contexts[half], rows.outcomes[half], rows.arms[half], arm_count)
        for entry in screen(part, rows.scale, reach).entered:
            chosen[entry.feature] += 1.0 / _HALVES
    order = np.argsort(-chosen, kind="stable")
    return [int(j) for j in order[: rows.most] if chosen[j] >= _OFTEN]


CRITERIA: dict[str, Callable[[Rows], list[int]]] = {
    "elimination": _by_elimination,
    "ebic": _by_information,
    "cross-validation": _by_cross_validation,
    "stability": _by_stability,
}
"""Each gives features in the order of their strength or entry."""
