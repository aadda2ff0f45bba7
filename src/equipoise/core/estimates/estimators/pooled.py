"""``"pooled"``: every arm is shrunk towards what the other arms have in common.

In coordinates where Σ = I, arms are taken as θᵢ ~ N(μ, τ²I) and μ ~ N(0, ω²I). τ² comes from how far
the arms lie apart, Σᵢ (θ̂ᵢ − μ̂)ᵀ(τ²I + σᵢ²Sᵢ⁻¹)⁻¹(θ̂ᵢ − μ̂) = (m − 1)d − 2, with μ̂ by generalised least
squares. The center of an arm is the posterior mean of μ given the *other* arms, with ω² from
μ̂ᵀ(ω²I + cov μ̂)⁻¹μ̂ = d − 2; so it is near 0 where the arms have nothing in common.

How far an arm then moves, towards its center or towards 0, whichever is nearer, is decided by stein.py
from that arm's own distance to it. The center does not depend on the arm's own noise: an arm that
resembles no other sees a center far away and is left alone, however much the other arms are alike.
"""

from __future__ import annotations

from equipoise.core.arithmetic.solving import cholesky_solve
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.estimators.estimator import Estimator, register
from equipoise.core.estimates.estimators.stein import newton_step, prepare, shrink_arm
from equipoise.core.estimates.estimators.workspace import Workspace
from equipoise.core.jit.decorators import compiled

_STEPS = 100
_CONVERGED = 1e-15


@compiled
def shrink_to_common(state: State, work: Workspace) -> None:
    """Write every arm's coefficients, λ and errors."""
    prepare(state, work)
    m, dim = work.centers.shape
    ready, spread = 0, 0.0
    for i in range(m):
        ready += state.arms[i].data_ready
        for c in range(dim):
            work.centers[i, c] = 0.0
    pools = dim > 2 and ready > 1 and work.noise[0] > 0.0
    if pools:
        spread = _spread(state, work, (ready - 1) * dim - 2.0)
        for i in range(m):
            _find_center(state, work, i)
    for i in range(m):
        shrink_arm(state, work, i, work.noise[i] / spread if pools else work.usual_ridge[0])


@compiled
def _spread(state: State, work: Workspace, target: float) -> float:
    """τ² of the arms around μ; leaves their weights (τ²I + σ²S⁻¹)⁻¹ in the workspace."""
    variance = 0.0
    dim = work.centers.shape[1]
    for _ in range(_STEPS):
        for i in range(work.noise.shape[0]):
            if state.arms[i].data_ready:
                _weigh(work, i, variance)
        _add_up(state, work, -1)
        _copy(work.precision, work.system)
        for r in range(dim):
            work.middle[r] = work.pull[r]
        cholesky_solve(work.system, work.middle)
        total = slope = 0.0
        for i in range(work.noise.shape[0]):
            if state.arms[i].data_ready:
                for r in range(dim):
                    weighted = 0.0
                    for c in range(dim):
                        weighted += work.weights[i, r, c] * (work.fits[i, c] - work.middle[c])
                    total += weighted * (work.fits[i, r] - work.middle[r])
                    slope += weighted * weighted
        step = newton_step(total, slope, target)
        if not step > _CONVERGED * variance:
            break
        variance += step
    return variance


@compiled
def _find_center(state: State, work: Workspace, i: int) -> None:
    """Posterior mean of μ given the arms other than i."""
    dim = work.centers.shape[1]
    _add_up(state, work, i)
    _copy(work.precision, work.system)
    for r in range(dim):
        work.middle[r] = work.pull[r]
    cholesky_solve(work.system, work.middle)
    variance = 0.0
    for _ in range(_STEPS):
        # With P = (cov μ̂)⁻¹: (ω²I + P⁻¹)⁻¹μ̂ = (ω²P + I)⁻¹Pμ̂, and ω² times that is the center.
        for r in range(dim):
            work.solution[r] = work.pull[r]
            for c in range(r + 1):
                work.system[r, c] = variance * work.precision[r, c]
            work.system[r, r] += 1.0
        cholesky_solve(work.system, work.solution)
        total = slope = 0.0
        for r in range(dim):
            total += work.middle[r] * work.solution[r]
            slope += work.solution[r] * work.solution[r]
        step = newton_step(total, slope, dim - 2.0)
        if not step > _CONVERGED * variance:
            break
        variance += step
    for r in range(dim):
        work.centers[i, r] = variance * work.solution[r]


@compiled
def _weigh(work: Workspace, i: int, variance: float) -> None:
    """(τ²I + σ²S⁻¹)⁻¹ of arm i."""
    dim = work.centers.shape[1]
    weight = work.weights[i]
    for r in range(dim):
        for c in range(r + 1):
            weight[r, c] = 0.0
    for k in range(dim):
        scale = 1.0 / (variance + work.noise[i] / work.spectra[i, k])
        for r in range(dim):
            entry = scale * work.bases[i, k, r]
            for c in range(r + 1):
                weight[r, c] += entry * work.bases[i, k, c]
    for r in range(dim):
        for c in range(r):
            weight[c, r] = weight[r, c]


@compiled
def _add_up(state: State, work: Workspace, without: int) -> None:
    """Sum of the arms' weights, and of weights times least squares, but for one arm."""
    dim = work.centers.shape[1]
    precision: Matrix = work.precision
    pull: Vector = work.pull
    for r in range(dim):
        pull[r] = 0.0
        for c in range(dim):
            precision[r, c] = 0.0
    for i in range(work.noise.shape[0]):
        if i != without and state.arms[i].data_ready:
            for r in range(dim):
                for c in range(dim):
                    precision[r, c] += work.weights[i, r, c]
                    pull[r] += work.weights[i, r, c] * work.fits[i, c]


@compiled
def _copy(source: Matrix, target: Matrix) -> None:
    for r in range(source.shape[0]):
        for c in range(source.shape[1]):
            target[r, c] = source[r, c]


register(Estimator("pooled", shrink_to_common))
