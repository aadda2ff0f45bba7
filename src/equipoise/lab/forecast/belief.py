"""What is looked at before anything is drawn: whether every arm has a model, and which contexts will come."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.core.arithmetic.linear import cross_product, scaled_cholesky
from equipoise.core.arms import least_squares as kernel
from equipoise.core.arms.state import GONE, State, copied
from equipoise.core.arrays import Matrix
from equipoise.core.estimates.alike import outcomes_alike
from equipoise.core.experiment.record import Record
from equipoise.core.problem.moment import PIVOT_TOLERANCE
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.stage import Stage
from equipoise.errors import InvalidArgument, NotIdentified


def settled_stage(record: Record) -> Stage:
    """The stage of a record in arrays of its own, settled, as estimates read it.

    Refuses an experiment in which an arm has no model yet, or tells nothing about its noise.
    """
    state = copied(record.state, record.step)
    if not kernel.is_settled(state):
        kernel.settle(state)
    for i, arm in enumerate(record.problem.arms):
        _check_arm(record.problem, state, i, arm)
    return replace(record.stage, state=state)


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
        raise NotIdentified(
            f"all {arm['observed']} outcomes of arm {name!r} are alike: nothing is known of its noise",
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


def error_root(problem: Problem, pool: Matrix) -> Matrix:
    """C of the given Σ, or of the mean of xxᵀ over the contexts to come."""
    if problem.moment is not None:
        lower = problem.whitener()
        return np.eye(problem.dim) if lower is None else lower
    moment = cross_product(pool) / len(pool)
    lower = scaled_cholesky(moment, problem.dim * PIVOT_TOLERANCE)
    if lower is None:
        raise NotIdentified(
            f"the {len(pool)} contexts to come do not tell the {problem.dim} features apart",
            hint="give more of them, or the moment of the population to the problem",
        )
    return lower
