"""How many outcomes an arm the choice of features should rest on, where nobody says.

Too few, and a feature is missed, whose coefficient is then an error that no later unit mends; too many,
and the second stage has less. The first is by far the dearer mistake (``equipoise reproduce
sparse-screen`` measures both), so an arm's share n/m of the budget is spent generously:

    L = min(share/2, max(share/4, 8·log d, 2(s + 2))), and s + 2 at least

The theory's L grows as s·log d, with a constant that depends on what is to be learned.

Where arms choose features for themselves, no arm helps another to find them, and all outcomes are fitted
again, so that waiting costs less:

    L = min(0.9·share, max(share/2, 12·log d))
"""

from __future__ import annotations

import math

from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.problem.problem import Problem

_LEAST_SHARE, _LARGEST_SHARE = 0.25, 0.5
_PER_LOG_DIM = 8.0
_LEAST_ALONE, _LARGEST_ALONE, _ALONE_PER_LOG_DIM = 0.5, 0.9, 12.0


def default_screening(problem: Problem, sparsity: int | None) -> int:
    """L from the budget; ``sparsity`` is s, None if it is not known.

    >>> default_screening(Problem(10, 500, budget=3000, allow_small_budget=True), None)
    75
    >>> default_screening(Problem(10, 500, budget=600, allow_small_budget=True), None)
    30
    """
    share = problem.budget / exact_sum(problem.costs)
    features = 0 if sparsity is None else sparsity
    wanted = max(_LEAST_SHARE * share, _PER_LOG_DIM * log(float(problem.dim)), 2.0 * (features + 2))
    return max(math.floor(min(_LARGEST_SHARE * share, wanted)), features + 2)


def default_screening_alone(problem: Problem) -> int:
    """L from the budget, where arms choose features for themselves.

    >>> default_screening_alone(Problem(10, 500, budget=3000, allow_small_budget=True))
    150
    >>> default_screening_alone(Problem(10, 500, budget=600, allow_small_budget=True))
    54
    """
    share = problem.budget / exact_sum(problem.costs)
    wanted = max(_LEAST_ALONE * share, _ALONE_PER_LOG_DIM * log(float(problem.dim)))
    return max(math.floor(min(_LARGEST_ALONE * share, wanted)), 2)
