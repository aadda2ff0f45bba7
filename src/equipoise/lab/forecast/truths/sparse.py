"""Truths in which few features matter: a Markov chain over what the outcomes leave open about them.

For experiments whose arms have fewer outcomes than features. Coefficients, of features of mean square 1, are
0 or normal with a variance that all have in common; features that matter in one arm may matter in others:

    βᵢⱼ = zᵢⱼ·N(0, τ²),    zᵢⱼ ~ πⱼ,    πⱼ ~ Beta(cρ, c(1 − ρ)),    σᵢ² = s²/χ²₁,    τ² = s₀²/χ²₁

with ρ, the share of features that matter, and c on a grid: a small c means that arms share their features. s²
is the noise that the estimates find, s₀² the mean square of the outcomes around their mean. An intercept is
always there, and any number is as likely. Every part is drawn given the others (Gibbs sampling), zᵢⱼ with βᵢⱼ
and πⱼ integrated out:

    odds of zᵢⱼ = (cρ + k)/(c(1 − ρ) + m − 1 − k) · exp(b²p/2)/(τ√p),   k other arms with feature j,
    p = Sⱼⱼ/σᵢ² + 1/τ²,   b = (what the other features leave of xⱼᵀy)/(pσᵢ²).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arithmetic.gamma import log_gamma
from equipoise.core.arithmetic.linear import column_squares, column_sums, cross_product
from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.draws.streams import SHAPE, Stream, gamma, new_stream, normal, start, uniform
from equipoise.core.jit.decorators import compiled
from equipoise.core.jit.handles import handled

# Until the chain has forgotten where it began, and between two truths.
_BEFORE, _BETWEEN = 500, 10
# Streams of the lab begin at small numbers; those of hierarchy.py at 2⁴⁰.
_ADDRESS = 2**41
_SHARES = 24
_TOGETHER = np.array([0.3, 1.0, 3.0, 10.0])


@handled
class SparseChain(NamedTuple):
    """What the data say, features of mean square 1, and where the chain stands."""

    grams: npt.NDArray[np.float64]  # [m, d, d] S = XᵀX
    along: Matrix  # [m, d] Xᵀy
    squares: Vector  # [m] yᵀy
    counts: Vector  # [m] outcomes
    always: Counts  # [d] whether it is an intercept
    scales: Vector  # [2] s² and s₀²
    coefs: Matrix  # [m, d]
    fitted: Matrix  # [m, d] Sβ
    arms_with: Counts  # [d] arms in which a feature matters
    noise: Vector  # [m] σ²
    spread: Vector  # [3] τ², cρ and c(1 − ρ)
    patterns: npt.NDArray[
        np.float64
    ]  # [shares, together, m + 1] log-probability of a feature in so many arms
    tally: Counts  # [m + 1] features by the arms in which they matter
    heights: Vector  # [shares · together] scratch
    stream: Stream


def draw_sparse(
    contexts: Matrix, outcomes: Vector, arms: Counts, arm_count: int, *, noise: float, trials: int, seed: int
) -> tuple[npt.NDArray[np.float64], Matrix, Vector]:
    """Coefficients [trials, m, d], noise variances [trials, m], and an arm's features in mean."""
    rows, dim = contexts.shape
    scale = np.sqrt(column_squares(contexts) / rows)
    scale[scale == 0.0] = 1.0
    table = contexts / scale
    always = np.all(contexts == contexts[:1], axis=0) & np.any(contexts != 0.0, axis=0)
    # Outcomes are counted from their mean where the models have an intercept.
    mean = float(column_sums(outcomes[:, None])[0]) / rows
    center = mean if always.any() else 0.0
    centred = outcomes - center
    size = max(float(column_squares((outcomes - mean)[:, None])[0]) / rows, np.finfo(float).tiny)
    chain = SparseChain(
        grams=np.array([cross_product(table[arms == i]) for i in range(arm_count)]),
        along=np.array(
            [cross_product(table[arms == i], centred[arms == i, None])[:, 0] for i in range(arm_count)]
        ),
        squares=np.array([column_squares(centred[arms == i, None])[0] for i in range(arm_count)]),
        counts=np.bincount(arms, minlength=arm_count).astype(float),
        always=always.astype(np.int64),
        scales=np.array([noise, size]),
        coefs=np.zeros((arm_count, dim)),
        fitted=np.zeros((arm_count, dim)),
        arms_with=np.zeros(dim, np.int64),
        noise=np.full(arm_count, size),
        spread=np.array([size, 0.5, 1.0]),
        patterns=np.zeros((_SHARES, len(_TOGETHER), arm_count + 1)),
        tally=np.zeros(arm_count + 1, np.int64),
        heights=np.zeros(_SHARES * len(_TOGETHER)),
        stream=new_stream(),
    )
    coefs, variances = np.zeros((trials, arm_count, dim)), np.zeros((trials, arm_count))
    features = np.zeros(arm_count)
    _run_chain(chain, _TOGETHER, seed, coefs, variances, features)
    coefs /= scale
    if center:
        first = int(np.flatnonzero(always)[0])
        coefs[:, :, first] += center / contexts[0, first]
    return coefs, variances, features / trials


@compiled
def _run_chain(
    chain: SparseChain,
    together: Vector,
    seed: int,
    coefs: npt.NDArray[np.float64],
    noise: Matrix,
    features: Vector,
) -> None:
    start(chain.stream, seed, 0, SHAPE, _ADDRESS, 0)
    m, dim = chain.coefs.shape
    _fill_patterns(chain.patterns, together)
    for _ in range(_BEFORE):
        _sweep(chain, together)
    for trial in range(coefs.shape[0]):
        for _ in range(_BETWEEN):
            _sweep(chain, together)
        for i in range(m):
            noise[trial, i] = chain.noise[i]
            for j in range(dim):
                coefs[trial, i, j] = chain.coefs[i, j]
                features[i] += chain.coefs[i, j] != 0.0


@compiled
def _fill_patterns(patterns: npt.NDArray[np.float64], together: Vector) -> None:
    arms = patterns.shape[2] - 1
    for r in range(patterns.shape[0]):
        share = (r + 0.5) / patterns.shape[0]
        # Denser where few features matter.
        share *= share
        for k in range(together.shape[0]):
            a, b = together[k] * share, together[k] * (1.0 - share)
            for s in range(arms + 1):
                patterns[r, k, s] = (
                    log_gamma(a + s) + log_gamma(b + arms - s) - log_gamma(a + b + arms)
                    - log_gamma(a) - log_gamma(b) + log_gamma(a + b)
                )  # fmt: skip


@compiled
def _sweep(chain: SparseChain, together: Vector) -> None:
    m, dim = chain.coefs.shape
    for i in range(m):
        for j in range(dim):
            _draw_coefficient(chain, i, j)
        residual = chain.squares[i]
        for j in range(dim):
            residual += chain.coefs[i, j] * (chain.fitted[i, j] - 2.0 * chain.along[i, j])
        chi_square = 2.0 * gamma(chain.stream, 0.5 * (chain.counts[i] + 1.0))
        chain.noise[i] = (max(residual, 0.0) + chain.scales[0]) / chi_square
    _draw_spread(chain)
    _draw_shares(chain, together)


@compiled
def _draw_coefficient(chain: SparseChain, i: int, j: int) -> None:
    """Whether feature j matters in arm i, and how much."""
    m, dim = chain.coefs.shape
    before, noise, spread = chain.coefs[i, j], chain.noise[i], chain.spread[0]
    gram = chain.grams[i, j, j]
    precision = gram / noise
    pull = (chain.along[i, j] - chain.fitted[i, j] + gram * before) / noise
    coef = 0.0
    if chain.always[j]:
        if precision > 0.0:
            coef = pull / precision + normal(chain.stream) / np.sqrt(precision)
    else:
        chain.arms_with[j] -= before != 0.0
        others = chain.arms_with[j]
        precision += 1.0 / spread
        center = pull / precision
        odds = log((chain.spread[1] + others) / (chain.spread[2] + m - 1.0 - others))
        odds += 0.5 * (center * pull - log(spread * precision))
        if uniform(chain.stream) * (1.0 + exp(-odds)) < 1.0:
            coef = center + normal(chain.stream) / np.sqrt(precision)
        chain.arms_with[j] += coef != 0.0
    if coef != before:
        step = coef - before
        for c in range(dim):
            chain.fitted[i, c] += chain.grams[i, j, c] * step
        chain.coefs[i, j] = coef


@compiled
def _draw_spread(chain: SparseChain) -> None:
    m, dim = chain.coefs.shape
    total, matter = chain.scales[1], 1.0
    for i in range(m):
        for j in range(dim):
            if not chain.always[j] and chain.coefs[i, j] != 0.0:
                total += chain.coefs[i, j] * chain.coefs[i, j]
                matter += 1.0
    chain.spread[0] = total / (2.0 * gamma(chain.stream, 0.5 * matter))


@compiled
def _draw_shares(chain: SparseChain, together: Vector) -> None:
    """ρ and c, by the arms in which every feature matters."""
    for s in range(chain.tally.shape[0]):
        chain.tally[s] = 0
    for j in range(chain.arms_with.shape[0]):
        if not chain.always[j]:
            chain.tally[chain.arms_with[j]] += 1
    highest, places = -np.inf, chain.heights.shape[0]
    for place in range(places):
        height = 0.0
        for s in range(chain.tally.shape[0]):
            height += (
                chain.tally[s] * chain.patterns[place // together.shape[0], place % together.shape[0], s]
            )
        chain.heights[place] = height
        highest = max(highest, height)
    total = 0.0
    for place in range(places):
        total += exp(chain.heights[place] - highest)
        chain.heights[place] = total
    wanted, chosen = uniform(chain.stream) * total, 0
    while chain.heights[chosen] < wanted:
        chosen += 1
    share = (chosen // together.shape[0] + 0.5) / chain.patterns.shape[0]
    strength = together[chosen % together.shape[0]]
    chain.spread[1], chain.spread[2] = strength * share * share, strength * (1.0 - share * share)
