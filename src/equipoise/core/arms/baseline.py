"""What redacted units have left: sums over units, without anybody's context or outcome.

An arm keeps the triangular system R·β = q of its redacted units' data, what it leaves of the outcomes (their
own RSS), and the outcomes' mean and squares. With them it is computed anew, when others are corrected or
withdrawn, as if the units were still there; only the order of the sums is another one. Line 0 is the same of
all contexts together, with 1 for every outcome: RᵀR is their share of a learned Σ, Rᵀq their sum.

Everything is in the coordinates of the factors, see whitening.py.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arithmetic.linear import matvec, product
from equipoise.core.arms import factor
from equipoise.core.arms.state import BASELINE, LOST, TOLD, State
from equipoise.core.arms.whitening import whiten
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled


def with_baselines(state: State) -> State:
    """The same state, with room for what redacted units leave."""
    if len(state.baselines):
        return state
    m, dim = state.coefs.shape
    return state._replace(
        baselines=np.zeros(1 + m, BASELINE),
        baseline_factors=np.zeros((1 + m, dim, dim)),
        baseline_coefs=np.zeros((1 + m, dim)),
    )


@compiled
def keep(state: State, row: int) -> None:
    """Add a row to what redacted units leave: data where it has an outcome, its context where Σ is learned.

    The state must have room for it, see :func:`with_baselines`. Uses up z.
    """
    status, place = state.rows[row].status, 1 + state.rows[row].arm
    if status == TOLD:
        arm, y = state.baselines[place], state.outcomes[row]
        whiten(state.whitener, state.contexts, row, state.z)
        left = factor.rotate(state.baseline_factors[place], state.baseline_coefs[place], state.z, y)
        arm.rss += left * left
        arm.count += 1
        gap = y - arm.mean
        arm.mean += gap / arm.count
        arm.squares += gap * (y - arm.mean)
    if status == TOLD or (status == LOST and state.trial[0].learns_moment):
        whiten(state.whitener, state.contexts, row, state.z)
        factor.rotate(state.baseline_factors[0], state.baseline_coefs[0], state.z, 1.0)
        state.baselines[0].count += 1


@compiled
def begin_moment(state: State) -> None:
    """A learned Σ of redacted units alone."""
    state.trial[0].seen = 0
    state.seen_factor[:, :] = 0.0
    if state.baselines.shape[0] > 0:
        state.trial[0].seen = state.baselines[0].count
        dim = state.z.shape[0]
        for r in range(dim):
            for c in range(r, dim):
                state.seen_factor[r, c] = state.baseline_factors[0, r, c]


@compiled
def lines(state: State, i: int) -> int:
    """How many contexts stand for those of arm i's redacted units: d, or 0 if it keeps none."""
    return state.z.shape[0] if outcomes_kept(state, i) > 0 else 0


@compiled
def outcomes_kept(state: State, i: int) -> int:
    """How many outcomes of redacted units arm i keeps."""
    return state.baselines[1 + i].count if state.baselines.shape[0] > 0 else 0


@compiled
def take_line(state: State, i: int, line: int) -> None:
    """Write one of these contexts to z: together they have the same Σ zzᵀ."""
    for c in range(state.z.shape[0]):
        state.z[c] = state.baseline_factors[1 + i, line, c]


def kept_outcomes(state: State, i: int) -> tuple[int, float, float]:
    """How many outcomes of redacted units arm i keeps, their mean, and their squares around it."""
    if not len(state.baselines):
        return 0, 0.0, 0.0
    arm = state.baselines[1 + i]
    return int(arm["count"]), float(arm["mean"]), float(arm["squares"])


def kept_contexts(state: State, i: int) -> Matrix:
    """Contexts that stand for those of arm i's redacted units, as they came: with the same Σ xxᵀ."""
    dim = state.coefs.shape[1]
    if not kept_outcomes(state, i)[0]:
        return np.zeros((0, dim))
    upper = state.baseline_factors[1 + i]
    if len(state.whitener):
        upper = product(upper, state.whitener.T)
    rows: Matrix = upper[np.any(upper != 0.0, axis=1)]
    return rows


def kept_sum(state: State) -> tuple[int, Vector]:
    """How many contexts of redacted units count, and their sum, as they came."""
    dim = state.coefs.shape[1]
    if not len(state.baselines):
        return 0, np.zeros(dim)
    total = matvec(state.baseline_factors[0].T, state.baseline_coefs[0])
    if len(state.whitener):
        total = matvec(state.whitener, total)
    return int(state.baselines["count"][0]), total
