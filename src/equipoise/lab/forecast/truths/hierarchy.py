"""Truths of arms that may have something in common: a Markov chain over their joint posterior.

In coordinates where Σ = I, arms are taken as the pooled estimator takes them: θᵢ ~ N(μ, τ²I), μ ~ N(0, ω²I),
here with flat priors of τ and ω and 1/σᵢ² of every noise variance. Given the data the rest is Gibbs sampling:
each part is drawn given the others, by its exact conditional distribution:

    θᵢ       normal: least squares θ̂ᵢ with precision Sᵢ/σᵢ² and μ with precision 1/τ²
    σᵢ²      (RSSᵢ + (θᵢ − θ̂ᵢ)ᵀSᵢ(θᵢ − θ̂ᵢ))/χ² with νᵢ + d degrees of freedom
    μ        normal: the mean of the θᵢ with precision m/τ² and 0 with precision 1/ω²
    τ²       Σᵢ‖θᵢ − μ‖²/χ² with md − 1 degrees of freedom
    ω²       ‖μ‖²/χ² with d − 1 degrees of freedom

Where arms are alike τ is small, and these steps would be small, too; so it is with ω where μ is near 0.
So μ, τ and ω are drawn a second time with θᵢ − μ, (θᵢ − μ)/τ or μ/ω held; the data then decide how far they
move.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.draws.streams import SHAPE, Stream, gamma, new_stream, normal, start
from equipoise.core.jit.decorators import compiled
from equipoise.core.jit.handles import handled

# Until the chain has forgotten where it began, and between two truths.
_BEFORE, _BETWEEN = 200, 10
# Streams of the lab begin at small numbers.
_ADDRESS = 2**40


@handled
class Chain(NamedTuple):
    """What the data say, where Σ = I, and where the chain stands."""

    grams: npt.NDArray[np.float64]  # [m, d, d] S
    bases: npt.NDArray[np.float64]  # [m, d, d] rows are the eigenvectors of S
    spectra: Matrix  # [m, d] its eigenvalues
    fits: Matrix  # [m, d] least squares
    squares: Vector  # [m] RSS
    dof: Vector  # [m]
    thetas: Matrix  # [m, d]
    noise: Vector  # [m] σ²
    middle: Vector  # [d] μ
    spread: Vector  # [2] τ and ω
    system: Matrix  # [d, d] scratch
    along: Vector  # [d] scratch
    stream: Stream


def draw_common(
    bases: npt.NDArray[np.float64],
    spectra: Matrix,
    fits: Matrix,
    squares: Vector,
    dof: Vector,
    *,
    trials: int,
    seed: int,
) -> tuple[npt.NDArray[np.float64], Matrix]:
    """Coefficients [trials, m, d], where Σ = I, and noise variances [trials, m]."""
    m, dim = fits.shape
    grams = np.zeros((m, dim, dim))
    _add_up_grams(bases, spectra, grams)
    chain = Chain(
        grams=grams,
        bases=bases,
        spectra=spectra,
        fits=fits,
        squares=squares,
        dof=dof,
        thetas=fits.copy(),
        noise=squares / dof,
        middle=np.zeros(dim),
        spread=np.ones(2),
        system=np.zeros((dim, dim)),
        along=np.zeros(dim),
        stream=new_stream(),
    )
    thetas, noise = np.zeros((trials, m, dim)), np.zeros((trials, m))
    _run_chain(chain, seed, thetas, noise)
    return thetas, noise


@compiled
def _add_up_grams(bases: npt.NDArray[np.float64], spectra: Matrix, grams: npt.NDArray[np.float64]) -> None:
    dim = spectra.shape[1]
    for i in range(spectra.shape[0]):
        for k in range(dim):
            for r in range(dim):
                entry = spectra[i, k] * bases[i, k, r]
                for c in range(dim):
                    grams[i, r, c] += entry * bases[i, k, c]


@compiled
def _run_chain(chain: Chain, seed: int, thetas: npt.NDArray[np.float64], noise: Matrix) -> None:
    start(chain.stream, seed, 0, SHAPE, _ADDRESS, 0)
    m, dim = chain.fits.shape
    for c in range(dim):
        total = 0.0
        for i in range(m):
            total += chain.fits[i, c]
        chain.middle[c] = total / m
    _draw_spreads(chain)
    for _ in range(_BEFORE):
        _sweep(chain)
    for trial in range(thetas.shape[0]):
        for _ in range(_BETWEEN):
            _sweep(chain)
        for i in range(m):
            noise[trial, i] = chain.noise[i]
            for c in range(dim):
                thetas[trial, i, c] = chain.thetas[i, c]


@compiled
def _sweep(chain: Chain) -> None:
    for i in range(chain.fits.shape[0]):
        _draw_arm(chain, i)
    _draw_middle(chain)
    _draw_spreads(chain)
    _move_middle(chain)
    _move_spread(chain)
    _move_size(chain)


@compiled
def _draw_arm(chain: Chain, i: int) -> None:
    """θᵢ given μ, τ and σᵢ², along the eigenvectors of Sᵢ, and then σᵢ²."""
    dim = chain.fits.shape[1]
    theta = chain.thetas[i]
    prior = 1.0 / (chain.spread[0] * chain.spread[0])
    for r in range(dim):
        theta[r] = 0.0
    away = 0.0
    for k in range(dim):
        fit = center = 0.0
        for r in range(dim):
            fit += chain.bases[i, k, r] * chain.fits[i, r]
            center += chain.bases[i, k, r] * chain.middle[r]
        known = chain.spectra[i, k] / chain.noise[i]
        variance = 1.0 / (known + prior)
        place = variance * (known * fit + prior * center) + np.sqrt(variance) * normal(chain.stream)
        away += chain.spectra[i, k] * (place - fit) * (place - fit)
        for r in range(dim):
            theta[r] += chain.bases[i, k, r] * place
    chi_square = 2.0 * gamma(chain.stream, 0.5 * (chain.dof[i] + dim))
    chain.noise[i] = (chain.squares[i] + away) / chi_square


@compiled
def _draw_middle(chain: Chain) -> None:
    m, dim = chain.fits.shape
    by_arms = 1.0 / (chain.spread[0] * chain.spread[0])
    variance = 1.0 / (m * by_arms + 1.0 / (chain.spread[1] * chain.spread[1]))
    for c in range(dim):
        total = 0.0
        for i in range(m):
            total += chain.thetas[i, c]
        chain.middle[c] = variance * by_arms * total + np.sqrt(variance) * normal(chain.stream)


@compiled
def _draw_spreads(chain: Chain) -> None:
    m, dim = chain.fits.shape
    total = size = 0.0
    for c in range(dim):
        size += chain.middle[c] * chain.middle[c]
        for i in range(m):
            gap = chain.thetas[i, c] - chain.middle[c]
            total += gap * gap
    chain.spread[0] = np.sqrt(total / (2.0 * gamma(chain.stream, 0.5 * (m * dim - 1.0))))
    chain.spread[1] = np.sqrt(size / (2.0 * gamma(chain.stream, 0.5 * (dim - 1.0))))


@compiled
def _move_middle(chain: Chain) -> None:
    """μ given θᵢ − μ: all arms move together, as far as the data let them."""
    m, dim = chain.fits.shape
    system, along = chain.system, chain.along
    prior = 1.0 / (chain.spread[1] * chain.spread[1])
    for r in range(dim):
        along[r] = -prior * chain.middle[r]
        for c in range(dim):
            system[r, c] = 0.0
        system[r, r] = prior
    for i in range(m):
        precision = 1.0 / chain.noise[i]
        for r in range(dim):
            for c in range(dim):
                entry = precision * chain.grams[i, r, c]
                system[r, c] += entry
                # Relative to where μ is now: what is drawn is the step.
                along[r] += entry * (chain.fits[i, c] - chain.thetas[i, c])
    for r in range(dim):
        for c in range(r + 1):
            entry = system[r, c]
            for k in range(c):
                entry -= system[r, k] * system[c, k]
            system[r, c] = np.sqrt(entry) if r == c else entry / system[c, c]
    # With P = LLᵀ the step is L⁻ᵀ(L⁻¹b + z).
    for r in range(dim):
        entry = along[r]
        for k in range(r):
            entry -= system[r, k] * along[k]
        along[r] = entry / system[r, r]
    for r in range(dim):
        along[r] += normal(chain.stream)
    for r in range(dim - 1, -1, -1):
        entry = along[r]
        for k in range(r + 1, dim):
            entry -= system[k, r] * along[k]
        along[r] = entry / system[r, r]
        chain.middle[r] += along[r]
        for i in range(m):
            chain.thetas[i, r] += along[r]


@compiled
def _move_spread(chain: Chain) -> None:
    """τ given (θᵢ − μ)/τ: all arms spread or draw together, as far as the data let them."""
    m, dim = chain.fits.shape
    precision = pull = 0.0
    for i in range(m):
        for r in range(dim):
            weighted = gap = 0.0
            for c in range(dim):
                weighted += chain.grams[i, r, c] * (chain.thetas[i, c] - chain.middle[c])
            gap = chain.fits[i, r] - chain.middle[r]
            precision += weighted * (chain.thetas[i, r] - chain.middle[r]) / chain.noise[i]
            pull += weighted * gap / chain.noise[i]
    # In units of the present τ; the sign of τ has no meaning.
    factor = pull / precision + normal(chain.stream) / np.sqrt(precision)
    chain.spread[0] *= abs(factor)
    for i in range(m):
        for c in range(dim):
            chain.thetas[i, c] = chain.middle[c] + factor * (chain.thetas[i, c] - chain.middle[c])


@compiled
def _move_size(chain: Chain) -> None:
    """ω given μ/ω and θᵢ − μ: what the arms have in common grows or shrinks, as far as the data let it."""
    m, dim = chain.fits.shape
    precision = pull = 0.0
    for i in range(m):
        for r in range(dim):
            weighted = 0.0
            for c in range(dim):
                weighted += chain.grams[i, r, c] * chain.middle[c]
            precision += weighted * chain.middle[r] / chain.noise[i]
            pull += weighted * (chain.fits[i, r] - chain.thetas[i, r] + chain.middle[r]) / chain.noise[i]
    factor = pull / precision + normal(chain.stream) / np.sqrt(precision)
    chain.spread[1] *= abs(factor)
    for c in range(dim):
        step = (factor - 1.0) * chain.middle[c]
        chain.middle[c] += step
        for i in range(m):
            chain.thetas[i, c] += step
