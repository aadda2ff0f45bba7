"""What is looked at before anything is drawn: whether every arm has a model, and which contexts will come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.core.arithmetic.linear import cross_product, scaled_cholesky
from equipoise.core.arms import least_squares as kernel
from equipoise.core.arms.state import GONE, KNOWN, State, copied
from equipoise.core.arrays import Matrix
from equipoise.core.estimates.alike import outcomes_alike
from equipoise.core.experiment.record import Record
from equipoise.core.problem.moment import PIVOT_TOLERANCE
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.stage import Stage
from equipoise.errors import InvalidArgument, NotIdentified

# Two for a mean and its noise, and one to tell them apart.
_LEAST_OUTCOMES = 3


def settled(stage: Stage) -> Stage:
    """A stage in arrays of its own, settled, as estimates read it."""
    state = copied(stage.state, int(stage.state.trial["step"][0]))
    if not kernel.is_settled(state):
        kernel.settle(state)
    return replace(stage, state=state)


def check_models(stage: Stage) -> None:
    """Refuse a stage in which an arm has no model yet, or tells nothing about its noise."""
    for i, arm in enumerate(stage.problem.arms):
        _check_arm(stage.problem, stage.state, i, arm)


def check_outcomes(record: Record) -> None:
    """Refuse an experiment in which an arm has next to no outcomes, or tells nothing about its noise."""
    rows, outcomes = record.state.rows[: record.step], record.state.outcomes[: record.step]
    for i, arm in enumerate(record.problem.arms):
        mine = outcomes[(rows["arm"] == i) & np.isin(rows["status"], KNOWN)]
        if len(mine) < _LEAST_OUTCOMES:
            raise NotIdentified(
                f"arm {arm!r} has {len(mine)} outcomes; a forecast takes at least {_LEAST_OUTCOMES}",
                hint="forecast when every arm has as many; until then use eq.simulate(...)",
            )
        if np.all(mine == mine[0]):
            raise _alike(len(mine), arm)


def _check_arm(problem: Problem, state: State, i: int, name: str) -> None:
    arm = state.arms[i]
    if not arm["data_ready"] or arm["dof"] < 1:
        enough = "" if arm["observed"] <= problem.dim else ", whose contexts do not tell the features apart"
        raise NotIdentified(
            f"arm {name!r} has no model yet: {arm['observed']} outcomes{enough}; it takes at least "
            f"d + 1 = {problem.dim + 1}",
            hint="forecast when every arm has as many; until then use 'equipoise plan', or eq.plan(...)",
        )
    if outcomes_alike(state, i):
        raise _alike(int(arm["observed"]), name)


def _alike(outcomes: int, name: str) -> NotIdentified:
    return NotIdentified(
        f"all {outcomes} outcomes of arm {name!r} are alike: nothing is known of its noise",
        hint="forecast when some of them differ",
    )


def contexts_to_come(record: Record, contexts: Any) -> Matrix:
    """Rows that contexts to come are drawn from: those given, or those seen."""
    if contexts is not None:
        given = record.problem.features.encode_many(contexts)
        if not len(given):
            raise InvalidArgument("contexts= is empty", hint="leave it out: then those seen are drawn again")
        return np.ascontiguousarray(given, dtype=float)
    seen = ~np.isin(record.state.rows["status"][: record.step], GONE)
    if not seen.any():
        raise InvalidArgument("no context is left to draw from: all are redacted", hint="give contexts=")
    return np.ascontiguousarray(record.contexts[: record.step][seen])


def error_root(problem: Problem, pool: Matrix, *, singular: bool = False) -> Matrix:
    """C of the given Σ, or of the mean of xxᵀ over the contexts to come, which may be ``singular``."""
    if problem.moment is not None:
        lower = problem.whitener()
        return np.eye(problem.dim) if lower is None else lower
    moment = cross_product(pool) / len(pool)
    lower = scaled_cholesky(moment, problem.dim * PIVOT_TOLERANCE)
    if lower is None and singular:
        return _half_root(moment)
    if lower is None:
        raise NotIdentified(
            f"the {len(pool)} contexts to come do not tell the {problem.dim} features apart",
            hint="give more of them, or the moment of the population to the problem",
        )
    return lower


def _half_root(moment: Matrix) -> Matrix:
    """Lower C with Σ = CCᵀ where Σ has directions without any context: columns of those are 0."""
    rest, lower = moment.copy(), np.zeros_like(moment)
    tolerance = len(moment) * PIVOT_TOLERANCE * np.diag(moment)
    for k in range(len(moment)):
        if rest[k, k] > tolerance[k]:
            lower[k:, k] = rest[k:, k] / np.sqrt(rest[k, k])
            rest[k:, k:] -= lower[k:, k, None] * lower[k:, k]
    return lower
