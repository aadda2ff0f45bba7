"""What a finished trial is worth: errors of the estimates and coverage of the intervals."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.linear import root_of
from equipoise.core.arms.coordinates import to_user_coordinates
from equipoise.core.arms.least_squares import is_settled
from equipoise.core.arms.state import ARM, State
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.estimates.alike import outcomes_alike
from equipoise.core.estimates.intervals import FIRST_ORDER, SECOND_ORDER, measure_elasticities
from equipoise.core.estimates.ridge import fit_ridge
from equipoise.core.jit.decorators import compiled, inlined
from equipoise.core.jit.handles import handled
from equipoise.lab.trial.ledger import Ledger
from equipoise.lab.trial.rule import Rule
from equipoise.lab.trial.student import student_quantiles

# Beyond this many arms the elasticities that intervals need would cost more than the trial.
_MOST_ARMS_WITH_COVERAGE = 50


@handled
class Judge(NamedTuple):
    """Settings and scratch of the judgement."""

    ridge: Vector  # [1] λ
    error_root: Matrix  # C with true Σ = CCᵀ, lower; empty for the identity
    quantiles: Vector  # [n + 1] Student quantile by degrees of freedom
    intervals: Counts  # [1] whether they are judged
    probe: npt.NDArray[Any]  # ARM[m] to try scores on
    elasticities: Vector  # [m]
    root: Matrix  # [d, d] scratch
    system: Matrix  # [d, d] scratch
    coef: Vector  # [d] scratch
    least_squares: Vector  # [d] scratch
    along: Vector  # [d] scratch


def new_judge(arms: int, units: int, ridge: float, moment: Matrix) -> Judge:
    """Settings and room for judging trials of that many arms and units; ``moment`` is the true Σ."""
    dim = len(moment)
    white = np.array_equal(moment, np.eye(dim))
    return Judge(
        ridge=np.array([ridge]),
        error_root=np.zeros((0, 0)) if white else root_of(moment),
        quantiles=student_quantiles(units),
        intervals=np.array([arms <= _MOST_ARMS_WITH_COVERAGE], np.int64),
        probe=np.zeros(arms, ARM),
        elasticities=np.zeros(arms),
        root=np.zeros((dim, dim)),
        system=np.zeros((dim, dim)),
        coef=np.zeros(dim),
        least_squares=np.zeros(dim),
        along=np.zeros(dim),
    )


@inlined
def judge_trial(state: State, rule: Rule, judge: Judge, truth: Matrix, ledger: Ledger, k: int) -> None:
    """Write row k of the ledger, by ridge estimates."""
    prepare_judgement(state, rule, judge)
    for i in range(ledger.counts.shape[1]):
        judge_arm(state, judge, i, truth, ledger, k)


@inlined
def judge_arm(state: State, judge: Judge, i: int, truth: Matrix, ledger: Ledger, k: int) -> None:
    """Write what row k of the ledger says of arm i."""
    ledger.counts[k, i] = state.arms[i].count
    ledger.errors[k, i] = ridge_error(state, judge, i, truth)
    _judge_intervals_of(state, judge, i, truth, ledger.coverage[k], ledger.plain_coverage[k])


@compiled
def judge_intervals(
    state: State, rule: Rule, judge: Judge, truth: Matrix, coverage: Vector, plain_coverage: Vector
) -> None:
    """Write what the arms' intervals cover: of trials whose coefficients are judged by themselves."""
    prepare_judgement(state, rule, judge)
    for i in range(truth.shape[0]):
        to_user_coordinates(state, i, judge.root, judge.least_squares)
        _judge_intervals_of(state, judge, i, truth, coverage, plain_coverage)


@compiled
def prepare_judgement(state: State, rule: Rule, judge: Judge) -> None:
    """Write the arms' elasticities, if their intervals are judged."""
    if not judge.intervals[0]:
        return
    is_settled(state)
    step = state.trial[0].step
    for i in range(judge.probe.shape[0]):
        judge.probe[i] = state.arms[i]
        judge.elasticities[i] = 0.0
    # Looks at later steps, which come back with the line below.
    score, settings = rule.terms[0].score, rule.settings
    measure_elasticities(state.arms, judge.probe, state.trial, score, settings, judge.elasticities)
    state.trial[0].step = step


@compiled
def judge_coefs(judge: Judge, coefs: Matrix, truth: Matrix, errors: Vector) -> None:
    """Write the error of every arm's coefficients, however they were estimated."""
    for i in range(errors.shape[0]):
        errors[i] = squared_distance(judge.error_root, coefs[i], truth[i])


@compiled
def ridge_error(state: State, judge: Judge, i: int, truth: Matrix) -> float:
    """‖β̂^λ − β‖²_Σ of arm i; leaves coefficients, OLS and its root in the judge's scratch."""
    ridge = judge.ridge[0]
    fit_ridge(state, i, ridge, judge.root, judge.least_squares, judge.system, judge.coef, judge.along)
    return squared_distance(judge.error_root, judge.coef, truth[i])


@compiled
def _judge_intervals_of(
    state: State,
    judge: Judge,
    i: int,
    truth: Matrix,
    coverage: Vector,
    plain_coverage: Vector,
) -> None:
    """Shares of arm i's coefficients inside their intervals, corrected for its elasticity and plain.

    The judge's scratch holds the coefficients and their root.
    """
    if not judge.intervals[0]:
        return
    if not state.arms[i].data_ready or outcomes_alike(state, i):  # intervals without bounds
        coverage[i] = plain_coverage[i] = 1.0
        return
    dof = state.arms[i].dof
    inflation = 1.0 + judge.elasticities[i] * (FIRST_ORDER / dof + SECOND_ORDER / (dof * dof))
    quantile = judge.quantiles[dof]
    reach = quantile * quantile * state.arms[i].noise_variance
    dim = judge.coef.shape[0]
    inside = plainly_inside = 0
    squared_rows(judge.root, judge.along)
    for r in range(dim):
        gap = judge.least_squares[r] - truth[i, r]
        inside += gap * gap <= reach * inflation * judge.along[r]
        plainly_inside += gap * gap <= reach * judge.along[r]
    coverage[i] = inside / dim
    plain_coverage[i] = plainly_inside / dim


@compiled
def squared_rows(root: Matrix, squares: Vector) -> None:
    """Write the squared length of every row."""
    for r in range(root.shape[0]):
        square = 0.0
        for k in range(root.shape[1]):
            square += root[r, k] * root[r, k]
        squares[r] = square


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
