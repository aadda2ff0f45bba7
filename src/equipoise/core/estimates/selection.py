"""What adaptive allocation does to σ̂² and to expected errors, on average, and what undoes it.

An arm whose σ̂² came out low is left alone and keeps it. So σ̂² is too low on average (intervals.py), and
σ̂²Tr(ΣS⁻¹) lower still: the arm also kept a large trace that goes with it. With ν degrees of freedom and
elasticity ε, E[σ̂²] ≈ σ²(1 − 2ε/ν) and E[σ̂²T] ≈ σ²E[T]·(1 − 4ε/ν). Three things are added to that:

- Units that an arm does not get go to the others. An arm with a share f of all degrees of freedom can only
  take them from 1 − f, so ε counts as ε(1 − f).
- With one degree of freedom nothing has been selected yet, and RSS/ν is unbiased: hence 1 − 1/ν.
- An arm can be left alone with its very first σ̂². How likely that was depends on how far the score followed
  σ̂² then: t is that, from 0 to 1, times 1 − f.

Together, with k = ε(1 − f)(1 − 1/ν)/ν:

    σ̂² is multiplied by      1 + k·(2 + 5t³)
    σ̂²Tr(ΣS⁻¹) by            1 + k·(4 + 26t⁴)

2 and 4 are derived (docs/theory/mathematics.md), 5 and 26 fitted by simulation;
benchmarks/pages/expected_errors.py prints what is achieved. One number cannot do both: the trace remembers
the selection, too. Intervals need yet another one, since what they need right is a quantile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arms.state import WITHDRAWN, State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.intervals import measure_elasticities, measure_first_weights, variance_inflation
from equipoise.core.jit.decorators import compiled

_NOISE, _NOISE_AT_FIRST = 2.0, 5.0
_ERROR, _ERROR_AT_FIRST = 4.0, 26.0


@dataclass(frozen=True, eq=False)
class Selection:
    """What to multiply by, one number an arm; 1 where allocation ignored σ̂²."""

    noise: Vector
    """σ̂², to be right on average."""
    error: Vector
    """σ̂²Tr(ΣS⁻¹), to be right on average."""
    inflation: Vector
    """σ̂², for intervals to cover as often as they should."""


def measure_selection(state: State, score: int, settings: Vector) -> Selection:
    """How strongly the policy that has ``score`` selected, read off a settled state."""
    arms, trial = state.arms, state.trial.copy()
    elasticity, first = np.zeros(len(arms)), np.zeros(len(arms))
    measure_elasticities(arms, arms.copy(), trial, score, settings, elasticity)
    # The trial's step now is one at which the policy looks at σ̂², if there is any.
    measure_first_weights(arms, arms.copy(), trial[0], score, settings, first)
    dof = np.maximum(arms["dof"], 1).astype(float)
    left = 1.0 - shares(dof, arms["cost"])
    strength = elasticity * left * (1.0 - 1.0 / dof) / dof
    at_first = first * left
    cubed = at_first * at_first * at_first
    return Selection(
        noise=1.0 + strength * (_NOISE + _NOISE_AT_FIRST * cubed),
        error=1.0 + strength * (_ERROR + _ERROR_AT_FIRST * cubed * at_first),
        inflation=variance_inflation(arms["dof"], elasticity),
    )


def shares(dof: Vector, costs: Vector) -> Vector:
    """Every arm's share of the degrees of freedom that the budget has bought."""
    spent = dof * costs
    return np.asarray(spent / exact_sum(spent))


def moment_optimism(state: State) -> float:
    """What Tr(Σ̂S⁻¹) is multiplied by where Σ̂ was learned from the same t contexts.

    They fit S better than others will: to first order E[Tr(Σ̂S⁻¹)] = E[Tr(ΣS⁻¹)]·(1 − q/t), whatever the
    arm's share of them. q = E[r²]/d − 1 with r = xᵀΣ⁻¹x, which is d + 1 for Gaussian contexts, and 0 for a
    constant.
    """
    trial = state.trial[0]
    if not trial["learns_moment"] or trial["dim"] < 1:
        return 1.0
    dim, seen, step = int(trial["dim"]), float(trial["seen"]), int(trial["step"])
    kept = state.contexts[:step][state.rows["status"][:step] != WITHDRAWN]
    used = _square_length(kept, state.seen_factor, np.zeros(dim)) / dim - 1.0
    # Half of the contexts at most: beyond that the first order tells nothing.
    return float(seen / (seen - min(used, 0.5 * seen))) if used > 0.0 and seen > 0.0 else 1.0


@compiled
def _square_length(contexts: Matrix, root: Matrix, solution: Vector) -> float:
    """Mean of (xᵀΣ̂⁻¹x)² with Σ̂ = RᵀR/rows; 0 while R is singular. ``solution`` is scratch."""
    total = 0.0
    rows: int = contexts.shape[0]
    for row in range(rows):
        length = 0.0
        for c in range(root.shape[0]):
            if root[c, c] == 0.0:
                return 0.0
            entry = contexts[row, c]
            for k in range(c):
                entry -= root[k, c] * solution[k]
            solution[c] = entry / root[c, c]
            length += solution[c] * solution[c]
        total += length * length
    return total * rows
