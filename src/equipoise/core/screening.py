"""How many outcomes an arm the choice of features should rest on, where nobody says."""

from __future__ import annotations

import math

from equipoise.core.problem import Problem


def default_screening(problem: Problem, sparsity: int | None) -> int:
    """L from the budget."""
    share = problem.budget / float(problem.costs.sum())
    least = 2 if sparsity is None else sparsity + 2
    return max(math.floor(0.2 * share), least)
