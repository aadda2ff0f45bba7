"""What a finished trial is worth: errors of the ridge estimates and coverage of the intervals."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.linear import scaled_cholesky
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.intervals import FIRST_ORDER, SECOND_ORDER
from equipoise.core.estimates.ridge import fit_ridge
from equipoise.core.jit.decorators import compiled, inlined
from equipoise.core.jit.handles import handled


@handled
class Judge(NamedTuple):
    """Settings and scratch of the final estimates."""

    ridge: Vector  # [1] λ
    error_root: Matrix  # C with true Σ = CCᵀ, lower; empty for the identity
    quantiles: Vector  # [n + 1] Student quantile by degrees of freedom
    root: Matrix  # [d, d] scratch
    system: Matrix  # [d, d] scratch
    coef: Vector  # [d] scratch
    least_squares: Vector  # [d] scratch
    along: Vector  # [d] scratch


def new_judge(dim: int, budget: int, ridge: float, moment: Matrix, confidence: float) -> Judge:
    """Settings and room for :func:`judge_arms`."""
    from scipy.special import stdtrit

    dof = np.maximum(np.arange(budget + 1.0), 1.0)
    white = np.array_equal(moment, np.eye(dim))
    return Judge(
        ridge=np.array([ridge]),
        error_root=np.zeros((0, 0)) if white else root_of(moment),
        quantiles=stdtrit(dof, 0.5 + confidence / 2.0),
        root=np.zeros((dim, dim)),
        system=np.zeros((dim, dim)),
        coef=np.zeros(dim),
        least_squares=np.zeros(dim),
        along=np.zeros(dim),
    )


def root_of(moment: Matrix) -> Matrix:
    """Lower C with Σ = CCᵀ."""
    lower = scaled_cholesky(moment)
    assert lower is not None, "scenarios and tables accept no other Σ"
    return lower


@compiled
def judge_arms(
    state: State,
    judge: Judge,
    truth: Matrix,
    elasticities: Vector,
    judges_intervals: bool,
    errors: Vector,
    coverage: Vector,
    plain_coverage: Vector,
) -> None:
    """Write error and coverage of every arm."""
    for i in range(errors.shape[0]):
        errors[i] = ridge_error(state, judge, i, truth)
        if judges_intervals:
            _judge_intervals(state, judge, i, truth, elasticities[i], coverage, plain_coverage)


@compiled
def judge_coefs(judge: Judge, coefs: Matrix, truth: Matrix, errors: Vector) -> None:
    """Write the error of every arm's coefficients, however they were estimated."""
    for i in range(errors.shape[0]):
        errors[i] = squared_distance(judge.error_root, coefs[i], truth[i])


@compiled
def ridge_coefs(state: State, judge: Judge, columns: npt.NDArray[np.int64], coefs: Matrix) -> None:
    """Write the ridge coefficients of every arm, of some columns, among those of all features."""
    for i in range(coefs.shape[0]):
        _fit(state, judge, i)
        for c in range(columns.shape[0]):
            coefs[i, columns[c]] = judge.coef[c]


@compiled
def ridge_error(state: State, judge: Judge, i: int, truth: Matrix) -> float:
    """‖β̂^λ − β‖²_Σ of arm i; leaves OLS and its root in the judge's scratch for intervals."""
    _fit(state, judge, i)
    return squared_distance(judge.error_root, judge.coef, truth[i])


@inlined
def _fit(state: State, judge: Judge, i: int) -> None:
    """Leave β̂^λ, OLS and its root of arm i in the judge's scratch."""
    ridge = judge.ridge[0]
    fit_ridge(state, i, ridge, judge.root, judge.least_squares, judge.system, judge.coef, judge.along)


@compiled
def _judge_intervals(
    state: State,
    judge: Judge,
    i: int,
    truth: Matrix,
    elasticity: float,
    coverage: Vector,
    plain_coverage: Vector,
) -> None:
    """Shares of arm i's coefficients inside their intervals, corrected for its elasticity and plain."""
    if not state.arms[i].data_ready:
        coverage[i] = plain_coverage[i] = 1.0
        return
    dof = state.arms[i].dof
    inflation = 1.0 + elasticity * (FIRST_ORDER / dof + SECOND_ORDER / (dof * dof))
    quantile = judge.quantiles[dof]
    reach = quantile * quantile * state.arms[i].noise_variance
    dim = judge.coef.shape[0]
    inside = plainly_inside = 0
    for r in range(dim):
        spread = 0.0
        for k in range(dim):
            spread += judge.root[r, k] * judge.root[r, k]
        gap = judge.least_squares[r] - truth[i, r]
        inside += gap * gap <= reach * inflation * spread
        plainly_inside += gap * gap <= reach * spread
    coverage[i] = inside / dim
    plain_coverage[i] = plainly_inside / dim


@compiled
def squared_distance(error_root: Matrix, coef: Vector, truth: Vector) -> float:
    """‖coef − truth‖²_Σ."""
    dim = coef.shape[0]
    total = 0.0
    for c in range(dim):
        gap = 0.0
        if error_root.shape[0] == 0:
            gap = coef[c] - truth[c]
        else:
            for r in range(c, dim):
                gap += error_root[r, c] * (coef[r] - truth[r])
        total += gap * gap
    return total
