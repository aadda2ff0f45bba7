"""Computing anew from the rows: where one has left, changed, or is seen in other columns.

Steps in least_squares.py run forwards only. What they cannot undo is forgotten, and gone through again, after
what redacted units have left (baseline.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.core.arms import baseline, factor, provisional
from equipoise.core.arms.if_it_looks import if_it_weighs
from equipoise.core.arms.least_squares import (
    extend_design,
    forget_design,
    invert_data,
    observe,
    refresh_trace,
)
from equipoise.core.arms.spread import forget_spread
from equipoise.core.arms.state import PENDING, REDACTED, SET_ASIDE, TOLD, WITHDRAWN, State
from equipoise.core.arms.whitening import whiten
from equipoise.core.jit.decorators import compiled, inlined


@compiled
def withdraw(state: State, row: int) -> None:
    """Remove a row as if the unit had never been assigned; its place in the budget stays used."""
    if state.rows[row].status == SET_ASIDE:
        state.arms[state.rows[row].arm].set_aside -= 1
    state.rows[row].status = WITHDRAWN
    if state.trial[0].learns_moment:
        _recount_contexts(state)
    rebuild(state, state.rows[row].arm)


@compiled
def clear(state: State, number: int) -> None:
    """Forget every row: the state of trial ``number``, which has seen nothing."""
    state.trial[0].number = number
    state.trial[0].step = 0
    state.trial[0].seen = 0
    state.trial[0].mean_variance = 1.0
    state.trial[0].moment_ready = 0
    state.seen_factor[:, :] = 0.0
    forget_assignments(state, 0.0)
    for i in range(state.arms.shape[0]):
        state.arms[i].last_row = -1
        state.arms[i].assigned = state.arms[i].set_aside = 0
        _forget_rows(state, i)
        _forget_leftovers(state.arms[i])
    _forget_choices(state.trial[0])


@inlined
def _forget_leftovers(arm: Any) -> None:
    """Set back what counts only once an arm has data, or a unit is at hand: scores may read it before."""
    arm.leverage = arm.gain_scale = 0.0
    arm.trace_sum, arm.trace_checked, arm.trace_age = np.inf, 0.0, 0
    arm.log_variance = arm.log_spread = arm.log_weight = 0.0


@inlined
def _forget_choices(trial: Any) -> None:
    trial.pooled_variance = trial.pooled_dof = 1.0
    trial.top = trial.chosen = trial.possible = 0
    trial.propensity = trial.likeliest = 0.0


@if_it_weighs
@compiled
def forget_assignments(state: State, nothing: float) -> None:
    """Empty the memory of a policy that weighs."""
    for r in range(state.memory.shape[0]):
        for c in range(state.memory.shape[1]):
            state.memory[r, c] = nothing


@compiled
def rebuild(state: State, i: int) -> None:
    """Compute arm i anew from its rows, in the order they were assigned."""
    arm = state.arms[i]
    _forget_rows(state, i)
    _begin_with_baseline(state, i)
    for row in range(state.trial[0].step):
        if state.rows[row].arm == i and state.rows[row].status == TOLD:
            whiten(state.whitener, state.contexts, row, state.z)
            extend_design(state, i, row)
            observe(state, row, state.outcomes[row])
    for row in range(state.trial[0].step):
        if state.rows[row].arm == i and state.rows[row].status == PENDING:
            arm.count += 1
            arm.pending += 1
            provisional.drop(arm)
            forget_design(arm)


@compiled
def _begin_with_baseline(state: State, i: int) -> None:
    """Let an arm without rows have what its redacted units have left, if there are any."""
    if baseline.outcomes_kept(state, i) == 0:
        return
    arm, dim = state.arms[i], state.coefs.shape[1]
    for r in range(dim):
        state.coefs[i, r] = state.baseline_coefs[1 + i, r]
        for c in range(dim):
            state.factors[i, arm.buffer, r, c] = state.baseline_factors[1 + i, r, c]
    arm.rss = state.baselines[1 + i].rss
    arm.count = arm.observed = state.baselines[1 + i].count
    provisional.drop(arm)
    invert_data(state, i)


@compiled
def rebuild_all(state: State) -> None:
    """Compute everything anew from the rows: what a stage with other features starts from."""
    if state.trial[0].learns_moment:
        _recount_contexts(state)
    for i in range(state.arms.shape[0]):
        rebuild(state, i)


@compiled
def _forget_rows(state: State, i: int) -> None:
    dim = state.coefs.shape[1]
    arm = state.arms[i]
    arm.count = arm.observed = arm.pending = arm.dof = 0
    arm.data_ready = arm.buffer = 0
    arm.rss = 0.0
    arm.noise_variance = arm.inverse_root_dof = 1.0
    forget_design(arm)
    forget_spread(state, i)
    for r in range(dim):
        state.coefs[i, r] = 0.0
    factor.clear(state.factors, i, 0)
    provisional.drop(arm)
    provisional.begin(state, i)


@compiled
def _recount_contexts(state: State) -> None:
    """Learn Σ anew from the rows that are not withdrawn."""
    baseline.begin_moment(state)
    for j in range(state.arms.shape[0]):
        provisional.drop(state.arms[j])
    for row in range(state.trial[0].step):
        if state.rows[row].status != WITHDRAWN and state.rows[row].status != REDACTED:
            whiten(state.whitener, state.contexts, row, state.z)
            factor.rotate(state.seen_factor, state.g, state.z, 0.0)
            state.trial[0].seen += 1
    for j in range(state.arms.shape[0]):
        if state.arms[j].design_ready:
            refresh_trace(state, j)
