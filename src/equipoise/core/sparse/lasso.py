"""Lasso fits of all arms, for comparison: every arm for itself, or jointly with the block penalty."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.sparse.block_lasso import solve
from equipoise.core.sparse.cross_validation import cross_validated, raw_coefs
from equipoise.core.sparse.path import active_features, weighted_task
from equipoise.core.sparse.refit import least_squares
from equipoise.core.sparse.rows import checked_rows
from equipoise.core.sparse.standardised import Integers, Standardised, mean_squares, standardise
from equipoise.core.sparse.task import Task, largest_penalty
from equipoise.errors import InvalidArgument

# λ falls by this factor on its way to the one that is asked for: warm starts are faster.
_STEP = 0.8
# Duality gap over ½‖y‖².
_TOLERANCE = 1e-6


def fit_lasso(
    contexts: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    arms: npt.ArrayLike,
    arm_count: int,
    *,
    joint: bool,
    refit: bool = False,
    noise: npt.ArrayLike | None = None,
) -> Matrix:
    """Coefficients [m, d]; 0 for an arm without rows.

    ``joint`` fits all arms with the block penalty, otherwise every arm has a lasso of its own. λ comes from
    cross-validation, or from ``noise``, the arms' variances, as in the note on the static allocation:
    λᵢ = σᵢ√(2 log d / kᵢ), and σᵢ(√m + √(2 log d))/√kᵢ jointly, since m slopes of noise make a block.
    ``refit`` fits the chosen features again by least squares, which do not shrink, and cross-validates that
    fit; a feature that an arm cannot tell from stronger ones is 0 there. Columns are brought to the same
    length in every arm first; nothing is centred.
    """
    contexts, outcomes, arms = checked_rows(contexts, outcomes, arms, arm_count)
    variances = None if noise is None else _checked_noise(noise, arm_count)
    if joint:
        return _fit(contexts, outcomes, arms, arm_count, refit, variances)
    coefs = np.zeros((arm_count, contexts.shape[1]))
    for i in range(arm_count):
        own = arms == i
        alone = np.zeros(np.count_nonzero(own), dtype=np.int64)
        variance = None if variances is None else variances[i : i + 1]
        coefs[i] = _fit(contexts[own], outcomes[own], alone, 1, refit, variance)[0]
    return coefs


def _fit(
    contexts: Matrix, outcomes: Vector, arms: Integers, arm_count: int, refit: bool, noise: Vector | None
) -> Matrix:
    data = standardise(contexts, outcomes, arms, arm_count)
    if noise is None:
        squares = mean_squares(data.outcomes, data)
        scale = np.sqrt(np.where(squares > 0.0, squares, 1.0))
        task = cross_validated(contexts, outcomes, arms, data, scale, refit=refit)
    else:
        scale = np.sqrt(noise)
        # A single arm has one slope a feature, which the second root covers alone.
        blocks = math.sqrt(arm_count) if arm_count > 1 else 0.0
        task = _solved(data, scale, blocks + math.sqrt(2.0 * log(max(contexts.shape[1], 2.0))))
    return least_squares(data, active_features(task)) if refit else raw_coefs(task, data, scale)


def _solved(data: Standardised, scale: Vector, penalty: float) -> Task:
    """The lasso at one λ, by way of larger ones."""
    task = weighted_task(data, scale)
    step = largest_penalty(task)
    while step > penalty:
        step = max(_STEP * step, penalty)
        solve(task, step, _TOLERANCE)
    return task


def _checked_noise(noise: npt.ArrayLike, arm_count: int) -> Vector:
    try:
        variances = np.ascontiguousarray(noise, dtype=float)
    except (TypeError, ValueError):
        variances = np.zeros(0)
    if variances.shape != (arm_count,) or not (np.isfinite(variances) & (variances > 0.0)).all():
        raise InvalidArgument(f"noise is not {arm_count} positive numbers", hint="one variance an arm")
    return variances
