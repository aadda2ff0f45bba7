"""What adaptive allocation does to σ̂² and to expected errors, on average, and what undoes it.

An arm whose σ̂² came out low is left alone and keeps it. So σ̂² is too low on average (intervals.py), and
σ̂²Tr(ΣS⁻¹) lower still: the arm also kept a large trace that goes with it. With ν degrees of freedom and
elasticity ε, E[σ̂²] ≈ σ²(1 − 2ε/ν) and E[σ̂²T] ≈ σ²E[T]·(1 − 4ε/ν). Three things are added to that:

- Units that an arm does not get go to the others. An arm with a share f of all degrees of freedom can only
  take them from 1 − f, so ε counts as e = ε(1 − f).
- With one degree of freedom nothing has been selected yet, and RSS/ν is unbiased: hence r = 1 − 1/ν. What
  goes with T begins later still, by √r.
- An arm can be left alone with its very first σ̂². How likely that was depends on how far the score followed
  σ̂² then: t is that, from 0 to 1, times 1 − f. And ε was of another size on the way. Both fade as ν grows,
  by 1/(1 + ν/40).

Together, with k = e·r/ν:

    σ̂² is multiplied by      1 + k·(2 + (ct³ + e)/(1 + ν/40))
    σ̂²Tr(ΣS⁻¹) by            1 + k·√r·(4 + (22t³ + 2e)/(1 + ν/40))

c is 1.5, or 8 for policies that pool: an arm that came out low then looks like the others, so its own t and
ε are lowest just where they are needed. 2 and 4 in front are derived (docs/theory/mathematics.md). The other
numbers were fitted to 8,000 simulated trials each of Trace-UCB and Trace-Gain on 29 scenarios (2 to 20 arms,
d = 1 to 20, n = 40 to 700; noise equal, unequal, geometric, one wild arm, one quiet one), rounded, and
looked at on eleven others that nothing was fitted to. benchmarks/pages/expected_errors.py prints what is
achieved, on those eleven, too. One number cannot do both: the trace remembers the selection, too. Intervals
need yet another one, since what they need right is a quantile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arms.state import GONE, State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.intervals import measure_elasticities, measure_first_weights, variance_inflation
from equipoise.core.jit.decorators import compiled

# In the limit of many degrees of freedom; by t³; by e. The last two fade.
_NOISE, _NOISE_AT_FIRST, _POOLED_NOISE_AT_FIRST, _NOISE_ON_THE_WAY = 2.0, 1.5, 8.0, 1.0
_ERROR, _ERROR_AT_FIRST, _ERROR_ON_THE_WAY = 4.0, 22.0, 2.0
_FADING = 40.0


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
    selected = elasticity * left
    at_first = first * left
    cubed = at_first * at_first * at_first
    rest = 1.0 - 1.0 / dof
    strength = selected * rest / dof
    fading = 1.0 / (1.0 + dof / _FADING)
    noise_at_first = _POOLED_NOISE_AT_FIRST if trial["pools"][0] else _NOISE_AT_FIRST
    noise = _NOISE + (noise_at_first * cubed + _NOISE_ON_THE_WAY * selected) * fading
    error = _ERROR + (_ERROR_AT_FIRST * cubed + _ERROR_ON_THE_WAY * selected) * fading
    return Selection(
        noise=1.0 + strength * noise,
        error=1.0 + strength * np.sqrt(rest) * error,
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
    constant. Contexts of redacted units are in Σ̂; E[r²] is that of the others, without any Gaussian.
    """
    trial = state.trial[0]
    if not trial["learns_moment"] or trial["dim"] < 1:
        return 1.0
    dim, seen, step = int(trial["dim"]), float(trial["seen"]), int(trial["step"])
    kept = state.contexts[:step][~np.isin(state.rows["status"][:step], GONE)]
    used = _square_length(kept, state.seen_factor, seen, np.zeros(dim)) / dim - 1.0
    if not len(kept) and seen > 0.0:
        used = dim + 1.0
    # Half of the contexts at most: beyond that the first order tells nothing.
    return float(seen / (seen - min(used, 0.5 * seen))) if used > 0.0 and seen > 0.0 else 1.0


@compiled
def _square_length(contexts: Matrix, root: Matrix, seen: float, solution: Vector) -> float:
    """Mean of (xᵀΣ̂⁻¹x)² with Σ̂ = RᵀR/seen; 0 while R is singular. ``solution`` is scratch."""
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
    return total * seen * (seen / rows) if rows > 0 else 0.0
