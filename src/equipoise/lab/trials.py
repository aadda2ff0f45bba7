"""Many trials of one policy on Gaussian contexts and noise, in one compiled loop.

All policies face the same contexts and, for the r-th pull of an arm, the same noise. Streams are
Philox, keyed by seed and trial, so a trial gives the same numbers alone and in any batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise.core import arms as kernel
from equipoise.core.choice import choose
from equipoise.core.compiled import compiled
from equipoise.core.experiment import trial_state
from equipoise.core.intervals import elasticities
from equipoise.core.layout import Matrix, State, Vector
from equipoise.core.policy import Policy, score_address
from equipoise.core.problem import Problem
from equipoise.core.theory.static import checked_noise

Stack = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TrialBatch:
    """What every trial ended with; axes are trial, arm, then coordinates.

    Coefficients are errors: the true ones are zero, which loses nothing because OLS errors and
    residuals do not depend on the truth.
    """

    problem: Problem
    noise: Vector
    counts: npt.NDArray[np.int64]  # [trial, arm]
    variances: Matrix  # [trial, arm] σ̂²
    dof: npt.NDArray[np.int64]  # [trial, arm]
    coefs: Stack  # [trial, arm, d] OLS, whitened coordinates
    elasticities: Matrix  # [trial, arm] of pulls to σ̂², see core/intervals.py
    factors: Stack  # [trial, arm, d, d] V with S⁻¹ = VVᵀ, whitened coordinates

    def errors(self, ridge: float | None = None) -> Matrix:
        """‖β̂ − β‖²_Σ of every trial and arm, for ridge λ = 1/n unless given (0 is OLS)."""
        weight = 1.0 / self.problem.budget if ridge is None else ridge
        if weight == 0.0:
            return np.asarray(np.einsum("tid,tid->ti", self.coefs, self.coefs))
        # (S + λI)⁻¹Sβ̂ = (I + λS⁻¹)⁻¹β̂; with zero truth there is no bias to add.
        inverse = self.factors @ self.factors.swapaxes(-1, -2)
        shrunk = np.linalg.solve(np.eye(self.problem.dim) + weight * inverse, self.coefs[..., None])[..., 0]
        return np.asarray(np.einsum("tid,tid->ti", shrunk, shrunk))

    def expected_max(self, ridge: float | None = None) -> tuple[float, float]:
        """L_n: the largest mean error of an arm, and the standard error of that mean."""
        errors = self.errors(ridge)
        worst = int(np.argmax(errors.mean(axis=0)))
        column = errors[:, worst]
        return float(column.mean()), float(column.std(ddof=1) / np.sqrt(len(column)))


def run_trials(
    problem: Problem, policy: Policy, noise: npt.ArrayLike, *, trials: int, seed: int
) -> TrialBatch:
    """Run ``policy`` on white Gaussian contexts with the given noise variances."""
    variances = checked_noise(noise)
    policy = policy.informed(variances.tolist())
    m, d, n = len(problem.arms), problem.dim, problem.budget
    state = trial_state(problem, policy, seed, capacity=n)
    settings = np.ascontiguousarray(policy.settings(problem), dtype=float)
    score = score_address(policy)
    batch = TrialBatch(
        problem=problem,
        noise=variances,
        counts=np.zeros((trials, m), np.int64),
        variances=np.zeros((trials, m)),
        dof=np.zeros((trials, m), np.int64),
        coefs=np.zeros((trials, m, d)),
        elasticities=np.zeros((trials, m)),
        factors=np.zeros((trials, m, d, d)),
    )
    deviations = np.sqrt(variances)[:, None]
    for trial in range(trials):
        contexts = _stream(seed, trial, 0).standard_normal((n, d))
        shocks = deviations * _stream(seed, trial, 1).standard_normal((m, n))
        _run(state, score, settings, np.zeros(m), contexts, shocks)
        data = state.arms["buffer"]
        batch.counts[trial] = state.arms["count"]
        batch.variances[trial] = state.arms["noise_variance"]
        batch.dof[trial] = state.arms["dof"]
        batch.coefs[trial] = state.coefs
        batch.elasticities[trial] = elasticities(state, score, settings)
        batch.factors[trial] = state.factors[np.arange(m), data]
    return batch


@compiled
def _run(
    state: State, score: int, settings: Vector, scores: Vector, contexts: Matrix, shocks: Matrix
) -> None:
    kernel.clear(state)
    for t in range(contexts.shape[0]):
        if not kernel.is_settled(state):
            kernel.settle(state)
        for c in range(contexts.shape[1]):
            state.contexts[t, c] = contexts[t, c]
        i = choose(state, score, settings, scores)
        row = kernel.assign(state, i)
        kernel.observe(state, row, shocks[i, state.arms[i].count - 1])


def _stream(seed: int, trial: int, purpose: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=np.array([seed, 2 * trial + purpose], dtype=np.uint64)))
