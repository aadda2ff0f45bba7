"""What an experiment has learned, whichever stage it is in."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np

from equipoise.core.arithmetic.linear import column_sums, dot, matvec
from equipoise.core.arms import least_squares as kernel
from equipoise.core.arms.baseline import kept_sum
from equipoise.core.arms.state import GONE, REDACTED
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.diagnosis.balance import Balance, balance_of
from equipoise.core.diagnosis.complaint import complain, complain_of_alike, imbalance
from equipoise.core.diagnosis.drift import FIT_LEVEL, drifted_arms
from equipoise.core.diagnosis.evidence import Evidence, evidence_of
from equipoise.core.diagnosis.lack_of_fit import LackOfFit, lack_of_fit
from equipoise.core.diagnosis.periods import Period, balance_by_period
from equipoise.core.diagnosis.time_trend import TimeTrends, time_trends
from equipoise.core.diagnosis.weighted import WeightedEstimates, serve_all, weighted_fits
from equipoise.core.estimates.alike import are_alike
from equipoise.core.estimates.arm_estimate import LASSO, ArmEstimate
from equipoise.core.estimates.estimates import Estimates, estimate_arms, sample_variance
from equipoise.core.estimates.selection import measure_selection
from equipoise.core.estimates.support import examine_support
from equipoise.core.experiment.record import Record, known_data
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.core.policies.base.staged import Columns, StagedPolicy
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.own import soft_fit_of, stages_of_arms
from equipoise.core.stages.stage import Stage, final_stage, own_coefs
from equipoise.errors import FitWarning, SupportWarning

# Contexts may be too large to be squared: then nothing is found.
_QUIETLY = np.errstate(over="ignore", invalid="ignore", divide="ignore")


def estimate_record(
    record: Record, *, estimator: str, ridge: float | None, confidence: float, intervals: str
) -> Estimates:
    """Fit every arm. The record is settled, so it must be one that no experiment goes on with."""
    problem, policy, stage, contexts = record.problem, record.policy, record.stage, record.contexts
    if not kernel.is_settled(stage.state):
        kernel.settle(stage.state)
    fitted = partial(
        estimate_arms, estimator=estimator, ridge=ridge, confidence=confidence, intervals=intervals
    )
    redacted = int(np.count_nonzero(record.state.rows["status"][: record.step] == REDACTED))
    made = partial(Estimates, problem, average=_average(record), redacted=redacted)
    if stage.whole:
        arms = fitted(stage)
        complaint, imbalanced = _diagnosed(stage, arms)
        if isinstance(policy, AbsentPolicy):
            complaint = ". ".join(each for each in (policy.caution, complaint) if each is not None)
        return made(arms, None, complaint, imbalanced)
    assert isinstance(policy, StagedPolicy)
    own = own_coefs(stage, contexts, policy)
    if own is not None:
        arms = fitted(stage)
        fits = [known_data(record, arm) for arm in problem.arms]
        lassos = [_with_coef(*all_of) for all_of in zip(arms, own, fits, strict=True)]
        lassos = [dataclasses.replace(arm, features=problem.features) for arm in lassos]
        return made(lassos, complaint=complain_of_alike(lassos))
    final = stage.chosen
    stage = final_stage(stage, contexts, problem, policy, record.seed)
    stages = stages_of_arms(stage, contexts, problem, policy, record.seed)
    models = {id(each): fitted(each) for each in stages}
    arms = [models[id(each)][i] for i, each in enumerate(stages)]
    known = policy.known_columns(problem) is not None
    support = examine_support(problem, stages, contexts, known=known, final=final, confidence=confidence)
    for complaint in support.complaints:
        warnings.warn(complaint, SupportWarning, stacklevel=3)
    omitted = support.omitted
    if support.found_nothing:
        # Nothing is known of the coefficients, but that ‖β‖²_Σ is no more than outcomes' mean square.
        omitted = np.array([arm.noise_interval[1] for arm in arms])
    elif not known:
        # The same of an arm that has none, as far as can be told.
        omitted = np.where([len(own) == 0 for own in support.own], support.most_omitted, omitted)
    most = np.maximum(omitted, support.most_omitted)
    embedded = [
        dataclasses.replace(
            _embedded(arm, stages[i].columns, problem, float(omitted[i])),
            most_omitted=float(most[i]),
            chosen=not known,
        )
        for i, arm in enumerate(arms)
    ]
    softer = [soft_fit_of(each, contexts, i) for i, each in enumerate(stages)]
    embedded = [
        arm if soft is None else dataclasses.replace(arm, coef=soft.beside(arm.coef), estimator=LASSO)
        for arm, soft in zip(embedded, softer, strict=True)
    ]
    return made(embedded, support, *_diagnosed(stage, arms))


def _average(record: Record) -> Vector | None:
    """Mean context of the units seen, withdrawn ones aside; None without any."""
    step = record.step
    here = record.contexts[:step][~np.isin(record.state.rows["status"][:step], GONE)]
    redacted, total = kept_sum(record.state)
    if not redacted:
        return column_sums(here) / len(here) if len(here) else None
    return (column_sums(here) + total) / (len(here) + redacted)


@_QUIETLY
def _diagnosed(stage: Stage, arms: Sequence[ArmEstimate]) -> tuple[str | None, str | None]:
    """All that speaks against the models, and what balance says alone.

    What balance and lack of fit say together is warned of as well.
    """
    evidence, alike = evidence_of(stage), complain_of_alike(arms)
    if not np.count_nonzero(evidence.fitted) or not evidence.contexts.shape[1]:
        return alike, None
    balance, inflation = balance_of(evidence), np.array([arm.inflation for arm in arms])
    fit, found = lack_of_fit(evidence, inflation), None
    if fit.p_value < FIT_LEVEL:
        drifted = drifted_arms(evidence, inflation, fit)
        found = complain(balance, fit, drifted, weighted=serve_all(evidence))
    if found is not None:
        warnings.warn(found, FitWarning, stacklevel=5)  # one more for _QUIETLY
    return ". ".join(each for each in (alike, found) if each is not None) or None, imbalance(balance)


@_QUIETLY
def balance_record(record: Record) -> Balance:
    """The contexts of every arm against those of all units, in all features."""
    return balance_of(_whole_evidence(record))


@_QUIETLY
def fit_record(record: Record) -> LackOfFit:
    """Tests of the straight line. The record is settled: it must be one that no experiment goes on with."""
    policy, stage = record.policy, record.stage
    if isinstance(policy, StagedPolicy) and own_coefs(stage, record.contexts, policy) is not None:
        return lack_of_fit(_whole_evidence(record), np.ones(len(record.problem.arms)))
    stage = _last_stage(record)
    return lack_of_fit(
        evidence_of(stage), measure_selection(stage.state, stage.score, stage.settings).inflation
    )


@_QUIETLY
def trend_record(record: Record, confidence: float) -> TimeTrends:
    """Tests of drift over time. The record is settled: it must be one that no experiment goes on with."""
    policy, stage = record.policy, record.stage
    if isinstance(policy, StagedPolicy) and own_coefs(stage, record.contexts, policy) is not None:
        return time_trends(_whole_evidence(record), np.ones(len(record.problem.arms)), confidence)
    stage = _last_stage(record)
    inflation = measure_selection(stage.state, stage.score, stage.settings).inflation
    return time_trends(evidence_of(stage), inflation, confidence)


@_QUIETLY
def period_record(record: Record, periods: int) -> list[Period]:
    """Balance between and within periods, in all features."""
    return balance_by_period(_whole_evidence(record), periods)


@_QUIETLY
def weighted_record(record: Record, confidence: float) -> WeightedEstimates:
    """Best linear fits by logged propensities, in all features."""
    return weighted_fits(_whole_evidence(record), confidence)


def _whole_evidence(record: Record) -> Evidence:
    """What an experiment has seen, in all features, whichever its stage sees."""
    stage = record.stage
    if not stage.whole:
        state = stage.state._replace(contexts=record.contexts)
        every = np.arange(record.problem.dim)
        stage = dataclasses.replace(stage, problem=record.problem, state=state, columns=every)
    return evidence_of(stage)


def _last_stage(record: Record) -> Stage:
    """The settled stage that estimates rest on."""
    stage, policy = record.stage, record.policy
    if not kernel.is_settled(stage.state):
        kernel.settle(stage.state)
    if stage.whole:
        return stage
    assert isinstance(policy, StagedPolicy)
    return final_stage(stage, record.contexts, record.problem, policy, record.seed)


def _with_coef(arm: ArmEstimate, coef: Vector, data: tuple[Matrix, Vector]) -> ArmEstimate:
    """An arm whose coefficients come from elsewhere, and tell nothing about their errors."""
    nothing, columns = np.zeros_like(coef), np.flatnonzero(coef)
    contexts, outcomes = data
    left = outcomes - matvec(contexts, coef)
    rss, freedom = dot(left, left), len(outcomes) - len(columns)
    alike = are_alike(outcomes, rss)
    variance = rss / freedom if freedom > 0 else math.nan
    return dataclasses.replace(
        arm,
        coef=coef,
        center=nothing,
        fixed_coef=nothing,
        least_squares=None,
        inverse_root=None,
        sandwich=None,
        alike=alike,
        noise_variance=math.nan if alike else variance,
        residual_variance=variance,
        dof=0,
        expected_error=math.inf,
        error_factor=1.0,
        least_squares_error=math.inf,
        bias=math.inf,
        estimator=LASSO,
        ridge=math.nan,
        columns=columns,
        outcome_variance=sample_variance(outcomes),
    )


def _embedded(arm: ArmEstimate, columns: Columns, problem: Problem, omitted: float) -> ArmEstimate:
    """An arm's model of some columns as one of all features."""

    def spread(values: Vector) -> Vector:
        whole = np.zeros((problem.dim, *values.shape[1:]))
        whole[columns] = values
        return whole

    return dataclasses.replace(
        arm,
        coef=spread(arm.coef),
        center=spread(arm.center),
        fixed_coef=spread(arm.fixed_coef),
        least_squares=None if arm.least_squares is None else spread(arm.least_squares),
        inverse_root=None if arm.inverse_root is None else spread(arm.inverse_root),
        expected_error=arm.expected_error + omitted,
        columns=columns,
        omitted=omitted,
        features=problem.features,
    )
