"""How far an arm moves towards a center: as far as its own data justify.

In coordinates where Σ = I, take θ ~ N(c, τ²I) around a center c. Then the j-th coordinate of θ̂ − c
along the eigenvectors of S has variance τ² + σ²/sⱼ, and τ² solves

    Σⱼ (θ̂ − c)ⱼ² / (τ² + σ²/sⱼ) = d − 2,

or is 0 if the left side is smaller even there. The estimate is the posterior mean, a ridge estimate
with λ = σ²/τ². With equal sⱼ it is exactly the positive-part James–Stein estimator, which no truth
makes worse than least squares from three features on (James and Stein 1961; Morris 1983); d − 2
instead of d, and σ² = RSS/(k − d + 2), are what that takes. In the user's coordinates the prior is
β ~ N(c, τ²Σ⁻¹), so nothing depends on the units or on the coordinates of the contexts.

Ridge with λ = 1/n is Bayes itself, for coefficients of size √n·σ, so nothing can beat it everywhere.
It is kept, towards 0, unless the data clearly say otherwise, by a factor of 10: λ − 9/n is used where
that is more than 1/n, and 10λ where that is less, with a σ² in it which an arm's lucky residuals
cannot make small: the arms' mean if that is larger.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arithmetic.solving import cholesky_solve
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.estimators.spectrum import decompose
from equipoise.core.estimates.estimators.workspace import Workspace
from equipoise.core.jit.decorators import compiled

# How many times more, or less, than 1/n is clearly so.
_CLEARLY = 10.0
_STEPS = 100
_CONVERGED = 1e-15


@compiled
def prepare(state: State, work: Workspace) -> None:
    """Least squares and the spectrum of S, where Σ = I, of all arms that are determined."""
    dim = work.centers.shape[1]
    _steady_noise(state, work)
    for i in range(work.ridges.shape[0]):
        if not state.arms[i].data_ready:
            continue
        root, data = work.roots[i], state.arms[i].buffer
        for r in range(dim):
            work.fits[i, r] = state.coefs[i, r]
            for c in range(dim):
                root[r, c] = state.factors[i, data, r, c]
        if state.trial[0].learns_moment:
            # S⁻¹ = VVᵀ becomes (RV)(RV)ᵀ/t with Σ = RᵀR/t; rows from the top, so it works in place.
            scale = 1.0 / np.sqrt(state.trial[0].seen)
            for r in range(dim):
                work.fits[i, r] = scale * _times(state.seen_factor, r, work.fits[i])
                for c in range(dim):
                    entry = 0.0
                    for k in range(r, dim):
                        entry += state.seen_factor[r, k] * root[k, c]
                    root[r, c] = scale * entry
        decompose(root, work.bases[i], work.spectra[i])
        for c in range(dim):
            work.spectra[i, c] = 1.0 / work.spectra[i, c]


@compiled
def _steady_noise(state: State, work: Workspace) -> None:
    """Noise variances (RSS + mean)/(dof + 1); the arms' mean where there is no degree of freedom."""
    total, known = 0.0, 0
    for i in range(work.noise.shape[0]):
        if state.arms[i].data_ready:
            total += state.arms[i].rss / state.arms[i].dof
            known += 1
    mean = total / known if known > 0 else 0.0
    work.mean_noise[0] = mean
    for i in range(work.noise.shape[0]):
        work.noise[i] = mean
        if state.arms[i].data_ready:
            work.noise[i] = (state.arms[i].rss + mean) / (state.arms[i].dof + 1.0)


@compiled
def shrink_arm(state: State, work: Workspace, i: int, ridge_unless_ready: float) -> None:
    """Write λ, coefficients and errors of one arm whose center stands in the workspace, where Σ = I."""
    arm = state.arms[i]
    if arm.data_ready:
        _shrink_ready(work, i, arm.rss, arm.dof)
        _to_user(state, work.coefs[i])
    else:
        work.ridges[i] = ridge_unless_ready
        work.noise_errors[i] = work.biases[i] = np.inf
        _penalise(state, work, i)
    _to_user(state, work.centers[i])


@compiled
def signal_variance(squares: Vector, spectrum: Vector, noise: float, target: float) -> float:
    """τ² ≥ 0 with Σⱼ squaresⱼ/(τ² + noise/spectrumⱼ) = target; 0 if no τ² reaches it."""
    variance = 0.0
    for _ in range(_STEPS):
        total = slope = 0.0
        for c in range(spectrum.shape[0]):
            precision = 1.0 / (variance + noise / spectrum[c])
            total += squares[c] * precision
            slope += squares[c] * precision * precision
        if not total < np.inf:
            return np.inf
        step = newton_step(total, slope, target)
        if not step > _CONVERGED * variance:
            break
        variance += step
    return variance


@compiled
def newton_step(total: float, slope: float, target: float) -> float:
    """Step of t where f(t) = Σ aⱼ/(t + vⱼ) is ``total`` and −f′(t) is ``slope``, towards f = ``target``.

    Newton's on 1/f, which is concave: from t = 0 it never goes too far, and a few steps do.
    """
    return total * (total / target - 1.0) / slope if total > target else 0.0


@compiled
def _shrink_ready(work: Workspace, i: int, rss: float, dof: int) -> None:
    dim = work.centers.shape[1]
    gaps, spectrum = work.pull, work.spectra[i]
    squares, kept = work.middle, work.solution
    nearer, ridge, usual = False, 0.0, work.usual_ridge[0]
    if dim > 2:
        noise = rss / (dof + 2.0)
        _measure_gaps(work, i, False)
        to_zero = _ridge(squares, spectrum, noise, dim - 2.0)
        cautious = _ridge(squares, spectrum, max(work.noise[i], work.mean_noise[0]), dim - 2.0)
        usual = min(usual, _CLEARLY * cautious)
        _measure_gaps(work, i, True)
        ridge = _ridge(squares, spectrum, noise, dim - 2.0)
        nearer = ridge > to_zero
        ridge = max(ridge, to_zero) - (_CLEARLY - 1.0) * work.usual_ridge[0]
    chosen = ridge > usual
    ridge = max(ridge, usual)
    if not (chosen and nearer):
        for r in range(dim):
            work.centers[i, r] = 0.0
        _measure_gaps(work, i, False)
    work.ridges[i] = ridge
    # Morris (1983): τ² is an estimate itself, which adds 2/(d−2) of the squared shift. What is kept is
    # counted at a σ² that is smaller by dof/(dof + 2): where σ̂² came out high, less is kept, and σ̂² times
    # what is kept would be too low on average. Summed over coordinates with equal s this is Stein's unbiased
    # estimate of the error.
    lower = 0.0
    if chosen:
        lower = _ridge(squares, spectrum, rss * dof / ((dof + 2.0) * (dof + 2.0)), dim - 2.0)
        lower = max(lower - (_CLEARLY - 1.0) * work.usual_ridge[0], usual)
    noise_error = bias = 0.0
    for c in range(dim):
        kept[c] = 1.0 / (1.0 + ridge / spectrum[c])
        lost = 1.0 - kept[c]
        variance = rss / dof / spectrum[c]
        noise_error += variance / (1.0 + lower / spectrum[c]) if chosen else variance * kept[c] * kept[c]
        bias += lost * lost * squares[c]
    work.noise_errors[i] = noise_error
    work.biases[i] = bias * 2.0 / (dim - 2.0) if chosen else bias
    for r in range(dim):
        work.coefs[i, r] = work.centers[i, r]
        for c in range(dim):
            work.coefs[i, r] += work.bases[i, c, r] * kept[c] * gaps[c]


@compiled
def _measure_gaps(work: Workspace, i: int, to_center: bool) -> None:
    """Least squares less the center, or less 0, along the eigenvectors of S; and their squares."""
    dim = work.centers.shape[1]
    for c in range(dim):
        gap = 0.0
        for r in range(dim):
            center = work.centers[i, r] if to_center else 0.0
            gap += work.bases[i, c, r] * (work.fits[i, r] - center)
        work.pull[c] = gap
        work.middle[c] = gap * gap


@compiled
def _ridge(squares: Vector, spectrum: Vector, noise: float, target: float) -> float:
    """λ = σ²/τ²."""
    return noise / signal_variance(squares, spectrum, noise, target) if noise > 0.0 else 0.0


@compiled
def _penalise(state: State, work: Workspace, i: int) -> None:
    """Arms that are not determined: (S + λΣ)(β − c) = Rᵀ(q − Rc), in the coordinates of the state."""
    dim = work.centers.shape[1]
    data, ridge = state.arms[i].buffer, work.ridges[i]
    _to_state(state, work.centers[i], work.middle)
    center = work.middle
    for r in range(dim):
        work.coefs[i, r] = center[r]
    if ridge < np.inf:
        system, solution = work.system, work.solution
        for r in range(dim):
            solution[r] = 0.0
            for c in range(r + 1):
                system[r, c] = ridge * _moment(state, r, c)
        for k in range(dim):
            left = state.coefs[i, k]
            for c in range(k, dim):
                left -= state.factors[i, data, k, c] * center[c]
            for r in range(k, dim):
                entry = state.factors[i, data, k, r]
                solution[r] += entry * left
                for c in range(k, r + 1):
                    system[r, c] += entry * state.factors[i, data, k, c]
        cholesky_solve(system, solution)
        for r in range(dim):
            work.coefs[i, r] += solution[r]
    if not state.trial[0].learns_moment:
        _to_user(state, work.coefs[i])


@compiled
def _moment(state: State, r: int, c: int) -> float:
    """Entry of Σ in the coordinates of the state."""
    if not state.trial[0].learns_moment:
        return 1.0 if r == c else 0.0
    entry = 0.0
    for k in range(min(r, c) + 1):
        entry += state.seen_factor[k, r] * state.seen_factor[k, c]
    return entry / max(state.trial[0].seen, 1)


@compiled
def _to_user(state: State, coef: Vector) -> None:
    """β = L⁻ᵀθ in place, with the given Σ = LLᵀ or the learned one."""
    dim = coef.shape[0]
    if state.trial[0].learns_moment:
        upper, scale = state.seen_factor, np.sqrt(state.trial[0].seen)
        for r in range(dim - 1, -1, -1):
            entry = scale * coef[r]
            for k in range(r + 1, dim):
                entry -= upper[r, k] * coef[k]
            coef[r] = entry / upper[r, r] if entry != 0.0 else 0.0
    elif state.whitener.shape[0] > 0:
        lower = state.whitener
        for r in range(dim - 1, -1, -1):
            for k in range(r + 1, dim):
                coef[r] -= lower[k, r] * coef[k]
            coef[r] /= lower[r, r]


@compiled
def _to_state(state: State, center: Vector, coef: Vector) -> None:
    """A center, where Σ = I, in the coordinates of the state."""
    for r in range(coef.shape[0]):
        coef[r] = center[r]
    if state.trial[0].learns_moment:
        _to_user(state, coef)


@compiled
def _times(upper: Matrix, r: int, x: Vector) -> float:
    entry = 0.0
    for k in range(r, x.shape[0]):
        entry += upper[r, k] * x[k]
    return entry
