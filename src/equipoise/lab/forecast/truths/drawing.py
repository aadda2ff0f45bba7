"""The truths of a forecast's trials: what the outcomes known leave open, drawn once for all courses.

``"unshrunk"``: every arm for itself. With RSS and ν degrees of freedom of its least-squares fit β̂, S⁻¹ = VVᵀ:

    σ² = RSS/χ²_ν,    β = β̂ + σ·V·z,    z standard normal.

This is the posterior of a linear model with normal noise under the prior 1/σ², and the distribution for which
classical t intervals are right. Adaptive allocation does not change it.

``"pooled"``: the same model, but arms may have something in common, as the pooled estimator takes them
(hierarchy.py). Where they differ much, that is the unshrunk posterior. Where they do not, unshrunk truths lie
further apart than the arms do: estimates that shrink would seem to do harm, and errors come out too high.

``"sparse"``: few features matter, in some arms or in all (sparse.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.linear import dot, solve_upper
from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arms.coordinates import to_user_coordinates
from equipoise.core.arms.state import KNOWN, State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.draws.streams import SHAPE, TRUTH, Stream, fill_normals, gamma, new_stream, start
from equipoise.core.estimates.estimates import moment_root
from equipoise.core.estimates.estimators.stein import prepare
from equipoise.core.estimates.estimators.workspace import new_workspace
from equipoise.core.experiment.record import Record
from equipoise.core.jit.decorators import compiled
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.stages.stage import Stage
from equipoise.errors import InvalidArgument
from equipoise.lab.forecast.truths.hierarchy import draw_common
from equipoise.lab.forecast.truths.sparse import draw_sparse

POOLED, UNSHRUNK, SPARSE = "pooled", "unshrunk", "sparse"

# As the pooled estimator: in fewer dimensions nothing is known to be gained.
_LEAST_DIM = 3
# A mean of σ² takes more degrees of freedom than this, and its standard error more than that.
_MEAN_NEEDS, _ERROR_NEEDS = 2, 4


@dataclass(frozen=True, eq=False)
class Truths:
    """What was drawn, one row a trial."""

    coefs: npt.NDArray[np.float64]
    """[trials, m, d]"""
    deviations: Matrix
    """[trials, m] √σ²"""
    kind: str
    """``"pooled"``, ``"unshrunk"`` or ``"sparse"``: what they were drawn from."""
    has_mean: tuple[bool, ...]
    """Of every arm: whether a mean of its σ² can be told."""
    has_error: tuple[bool, ...]
    """Whether the standard error of that can be told."""


def checked_truth(truth: Any, policy: Policy) -> str:
    """What truths are drawn from: as was said, or as suits an experiment's policy."""
    if truth is None:
        return SPARSE if isinstance(policy, StagedPolicy) else POOLED
    if truth not in (POOLED, UNSHRUNK, SPARSE):
        raise InvalidArgument(
            f"truth={truth!r} is none of {POOLED!r}, {UNSHRUNK!r} and {SPARSE!r}",
            hint="leave it out: then the experiment's policy decides",
        )
    return str(truth)


def draw_sparse_truths(record: Record, estimates: Matrix, *, trials: int, seed: int) -> Truths:
    """Truths in which few features matter; what the ``estimates`` leave unexplained tells of the noise."""
    step, arm_count = record.step, len(record.problem.arms)
    rows = record.state.rows[:step]
    known = np.isin(rows["status"], KNOWN)
    contexts, outcomes = record.contexts[:step][known], record.state.outcomes[:step][known]
    arms = np.ascontiguousarray(rows["arm"][known])
    gaps = [y - dot(x, estimates[i]) for x, y, i in zip(contexts, outcomes, arms, strict=True)]
    half = 0.5 * float(np.max(outcomes) - np.min(outcomes))
    noise = exact_sum([gap * gap for gap in gaps]) / len(gaps) or half * half
    coefs, variances, features = draw_sparse(
        contexts, outcomes, arms, arm_count, noise=noise, trials=trials, seed=seed
    )
    free = np.bincount(arms, minlength=arm_count) - features
    return Truths(
        coefs=coefs,
        deviations=np.sqrt(variances),
        kind=SPARSE,
        has_mean=tuple((free > _MEAN_NEEDS).tolist()),
        has_error=tuple((free > _ERROR_NEEDS).tolist()),
    )


def draw_truths(stage: Stage, truth: str, *, trials: int, seed: int) -> Truths:
    """Truths of every trial, from a settled stage in which every arm has a model."""
    state = stage.state
    m, dim = state.coefs.shape
    squares, dof = state.arms["rss"].copy(), state.arms["dof"].astype(float)
    pooled = truth == POOLED and m > 1 and dim >= _LEAST_DIM and bool(np.all(squares > 0.0))
    if pooled:
        coefs, noise = _draw_pooled(stage, squares, dof, trials, seed)
    else:
        coefs, noise = _draw_unshrunk(state, squares, dof, trials, seed)
    # Drawn for itself σ² has no mean, or that no standard error, with so few degrees of freedom. Drawn
    # together it has both, but a few trials decide them.
    return Truths(
        coefs=coefs,
        deviations=np.sqrt(noise),
        kind=POOLED if pooled else UNSHRUNK,
        has_mean=tuple((dof > _MEAN_NEEDS).tolist()),
        has_error=tuple((dof > _ERROR_NEEDS).tolist()),
    )


def _draw_pooled(
    stage: Stage, squares: Vector, dof: Vector, trials: int, seed: int
) -> tuple[npt.NDArray[np.float64], Matrix]:
    state = stage.state
    m, dim = state.coefs.shape
    work = new_workspace(state, 0.0)
    prepare(state, work)
    bases = np.ascontiguousarray(work.bases[:, :, :dim])
    thetas, noise = draw_common(bases, work.spectra, work.fits, squares, dof, trials=trials, seed=seed)
    # θ = Rβ with Σ = RᵀR.
    flat = solve_upper(moment_root(stage), np.ascontiguousarray(thetas.reshape(-1, dim).T))
    return np.ascontiguousarray(flat.T).reshape(trials, m, dim), noise


def _draw_unshrunk(
    state: State, squares: Vector, dof: Vector, trials: int, seed: int
) -> tuple[npt.NDArray[np.float64], Matrix]:
    m, dim = state.coefs.shape
    fits, roots = np.zeros((m, dim)), np.zeros((m, dim, dim))
    for i in range(m):
        to_user_coordinates(state, i, roots[i], fits[i])
    coefs, noise = np.zeros((trials, m, dim)), np.zeros((trials, m))
    _draw_arms(fits, roots, squares, dof, np.zeros((1, dim)), new_stream(), seed, coefs, noise)
    return coefs, noise


@compiled
def _draw_arms(
    fits: Matrix,
    roots: npt.NDArray[np.float64],
    squares: Vector,
    dof: Vector,
    line: Matrix,
    stream: Stream,
    seed: int,
    coefs: npt.NDArray[np.float64],
    noise: Matrix,
) -> None:
    """Write every trial's truth; ``line`` is scratch, as long as a row of coefficients."""
    dim = fits.shape[1]
    for trial in range(coefs.shape[0]):
        for i in range(fits.shape[0]):
            start(stream, seed, trial, SHAPE, i, 0)
            noise[trial, i] = squares[i] / (2.0 * gamma(stream, 0.5 * dof[i]))
            fill_normals((seed, trial, TRUTH, i, 0), 0, line, 0, 0)
            for r in range(dim):
                along = 0.0
                for c in range(dim):
                    along += roots[i, r, c] * line[0, c]
                coefs[trial, i, r] = fits[i, r] + np.sqrt(noise[trial, i]) * along
