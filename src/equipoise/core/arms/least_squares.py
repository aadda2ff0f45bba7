"""Per-arm least squares, one unit at a time: O(d²) a step, nothing allocated.

An arm owns two d×d factors. While its S is not invertible, the data's factor is triangular (R) and
``coefs`` holds the rotated outcomes q with R·β = q. Once invertible, factors are V with S⁻¹ = VVᵀ.
The second factor serves the *design*, which runs ahead of the data by the pending rows: it is
written when a unit is assigned, and becomes the data's factor when the last pending outcome arrives.
With outcomes that arrive at once that is a swap, so a step costs one update, not two.

Residuals follow the recurrent form of σ̂² in the appendix of the paper: RSS += e²/h, e = y − xᵀβ̂.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.core.arithmetic.products import less_inner
from equipoise.core.arms import factor, provisional
from equipoise.core.arms.noise_pool import note_variance, pool_variances
from equipoise.core.arms.spread import note_spread
from equipoise.core.arms.state import LOST, PENDING, TOLD, State
from equipoise.core.arms.whitening import weighted_square, whiten
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled, inlined

# k·Tr(ΣS⁻¹)/d is about the squared condition number of the whitened contexts, whatever their
# units. Up to 10¹² rounding costs at most 6 of 16 digits. Arms that stay above it after twice the
# usual start have contexts that are ill-conditioned by nature; then anything short of numerical
# singularity (10²⁴) is accepted.
_SANE, _NONSINGULAR = 1e12, 1e24

# The trace is updated by subtraction; it is computed afresh when it has halved or after this many
# updates, so that its error stays below 10⁻¹³ of itself.
_TRACE_UPDATES = 64


@inlined
def assign(state: State, i: int) -> int:
    """Give the next unit, whose context stands in the next free row, to arm i; return the row."""
    row = state.trial[0].step
    state.trial[0].step += 1
    state.rows[row].arm = i
    state.rows[row].status = PENDING
    state.rows[row].previous = state.arms[i].last_row
    state.arms[i].assigned += 1
    state.arms[i].last_row = row
    whiten(state.whitener, state.contexts, row, state.z)
    if state.trial[0].learns_moment:
        _see(state)
    extend_design(state, i, row)
    return row


@inlined
def observe(state: State, row: int, y: float) -> None:
    """Take in the outcome of a pending row."""
    whiten(state.whitener, state.contexts, row, state.z)
    observe_at_once(state, row, state.rows[row].arm, y)


@inlined
def observe_at_once(state: State, row: int, i: int, y: float) -> None:
    """:func:`observe` right after :func:`assign` to arm i, which leaves the whitened context at hand."""
    state.rows[row].status = TOLD
    state.outcomes[row] = y
    if state.arms[i].data_ready:
        learn(state, i, row, y)
    else:
        collect(state, i, y)


@compiled
def lose(state: State, row: int) -> None:
    """The outcome of a pending row will never come: take its context out of the design."""
    arm = state.arms[state.rows[row].arm]
    state.rows[row].status = LOST
    arm.count -= 1
    arm.pending -= 1
    provisional.drop(arm)
    forget_design(arm)


@compiled
def settle(state: State) -> None:
    """Invert every design that waits for it; a second call changes nothing.

    Needed before a choice only when outcomes are pending or were lost: see :func:`is_settled`.
    """
    for i in range(state.arms.shape[0]):
        if waits(state.arms[i], state.trial[0].dim):
            _invert_design(state, i)


@inlined
def is_settled(state: State) -> bool:
    """Whether :func:`settle` would find nothing to do; averages the arms' variances on the way."""
    total, known = 0.0, 0
    settled = True
    for i in range(state.arms.shape[0]):
        settled = settled and not waits(state.arms[i], state.trial[0].dim)
        if state.arms[i].dof > 0:
            total += state.arms[i].noise_variance
            known += 1
    # Nothing known yet: all arms are taken as equally noisy, and the unit does not matter.
    mean = total / known if known > 0 else 1.0
    state.trial[0].mean_variance = mean
    if known < state.arms.shape[0]:
        for i in range(state.arms.shape[0]):
            if state.arms[i].dof == 0:
                state.arms[i].noise_variance = mean
    if state.trial[0].pools:
        pool_variances(state.arms, state.trial[0])
    return settled


@inlined
def waits(arm: Any, dim: int) -> bool:
    """Whether a design is to be inverted before the next choice."""
    if arm.design_ready or arm.count == arm.design_tried:
        return False
    return arm.data_ready != 0 or (arm.pending > 0 and arm.count > dim)


@compiled
def forget_design(arm: Any) -> None:
    """The design has changed otherwise than by a unit: it is to be inverted anew."""
    arm.design_ready = 0
    arm.design_tried = -1
    arm.gain_row = -1
    arm.trace = np.inf


@compiled
def _invert_design(state: State, i: int) -> None:
    """Design = data plus the rows still pending."""
    arm = state.arms[i]
    arm.design_tried = arm.count
    provisional.drop(arm)
    design = factor.beside(arm.buffer)
    z, f, g = state.z, state.f, state.g
    factor.copy(state.factors, i, arm.buffer, state.factors, i, design)
    row = arm.last_row
    while row >= 0:
        if state.rows[row].status == PENDING:
            whiten(state.whitener, state.contexts, row, state.z)
            if arm.data_ready:
                factor.extend(state.factors, i, design, design, z, f, g)
            else:
                factor.rotate(state.factors[i, design], g, z, 0.0)
        row = state.rows[row].previous
    if not arm.data_ready:
        if not factor.invert_upper(state.factors, i, design, state.scratch):
            return
        factor.copy(state.scratch, 0, 0, state.factors, i, design)
    trace_sum = _trace_sum(state.seen_factor, state.factors, i, design)
    if arm.data_ready or is_sane(state.trial[0], trace_sum, arm.count):
        arm.design_ready = 1
        _set_trace(arm, state.trial[0], trace_sum)


@compiled
def _see(state: State) -> None:
    """Let the context z enter the learned Σ = RᵀR/t and every trace taken against it."""
    state.trial[0].seen += 1
    for j in range(state.arms.shape[0]):
        if state.arms[j].design_ready:
            spread = factor.project(state.factors, j, design_place(state.arms[j]), state.z, state.f)
            state.arms[j].trace_sum += spread
            state.arms[j].trace = state.arms[j].trace_sum / state.trial[0].seen
    provisional.see(state, state.trial[0].step - 1)
    for r in range(state.z.shape[0]):
        state.f[r] = state.z[r]
    factor.rotate(state.seen_factor, state.g, state.f, 0.0)


@inlined
def extend_design(state: State, i: int, row: int) -> None:
    """Count a pending row with context z; if the design is invertible, update its factor and trace."""
    arm = state.arms[i]
    arm.count += 1
    arm.pending += 1
    if not arm.design_ready:
        provisional.extend(state, i)
        return
    alone = arm.pending == 1 and arm.data_ready
    design = next_design(arm)
    source = arm.buffer if alone else design
    # Taken from the data's factor it is the gain that observe() will need, and is kept.
    g = state.gains[i] if alone else state.g
    h = factor.extend(state.factors, i, source, design, state.z, state.f, g)
    if alone:
        arm.gain_row = row
        arm.gain_scale = h
    arm.trace_sum -= weighted_square(state, g) / h
    arm.trace_age += 1
    if arm.trace_age >= _TRACE_UPDATES or not arm.trace_sum > 0.5 * arm.trace_checked:
        refresh_trace(state, i)
    else:
        arm.trace = per_context(state.trial[0], arm.trace_sum)


@inlined
def learn(state: State, i: int, row: int, y: float) -> None:
    """Take an outcome, of context z, into an arm whose data are invertible."""
    arm = state.arms[i]
    # The last pending outcome makes the design the data, unless rows have left the design since.
    joins = arm.pending == 1 and arm.design_ready == 1
    if not joins or arm.gain_row != row:
        gain_anew(state, i, joins)
    h = arm.gain_scale
    arm.gain_row = -1
    if joins:
        arm.buffer = next_design(arm)
    residual = less_inner(y, state.z, state.coefs[i])
    step = residual / h
    move(state.coefs[i], state.gains[i], step)
    arm.rss += residual * step
    arm.pending -= 1
    arm.observed += 1
    arm.dof += 1
    arm.noise_variance = arm.rss / arm.dof
    arm.inverse_root_dof = 1.0 / np.sqrt(arm.dof)
    if state.trial[0].pools:
        note_variance(arm)
    note_spread(state, (i, residual * step, h))


@inlined
def move(coefs: Vector, gains: Vector, step: float) -> None:
    """Let coefficients follow an outcome."""
    for r in range(coefs.shape[0]):
        coefs[r] += gains[r] * step


@compiled
def gain_anew(state: State, i: int, joins: bool) -> None:
    """The gain of context z against the data, which take it in here unless they join the design."""
    arm = state.arms[i]
    data = arm.buffer
    if joins:
        arm.gain_scale = factor.gain(state.factors, i, data, state.z, state.f, state.g)
    else:
        arm.gain_scale = factor.extend(state.factors, i, data, data, state.z, state.f, state.g)
    for r in range(state.g.shape[0]):
        state.gains[i, r] = state.g[r]


@compiled
def collect(state: State, i: int, y: float) -> None:
    """Take an outcome, of context z, into an arm whose data are not invertible yet."""
    arm = state.arms[i]
    z = state.z
    left = factor.rotate(state.factors[i, arm.buffer], state.coefs[i], z, y)
    arm.rss += left * left
    arm.pending -= 1
    arm.observed += 1
    invert_data(state, i)


@compiled
def invert_data(state: State, i: int) -> None:
    """From R and q of an arm's data to S⁻¹ and coefficients, if S is invertible; uses up z."""
    arm, z = state.arms[i], state.z
    dim = z.shape[0]
    if arm.observed <= dim:
        return
    invertible = factor.invert_upper(state.factors, i, arm.buffer, state.scratch)
    trace_sum = _trace_sum(state.seen_factor, state.scratch, 0, 0) if invertible else np.inf
    if not is_sane(state.trial[0], trace_sum, arm.observed):
        if arm.pending == 0:
            forget_design(arm)
        return
    factor.copy(state.scratch, 0, 0, state.factors, i, arm.buffer)
    for r in range(dim):
        entry = 0.0
        for c in range(r, dim):
            entry += state.scratch[0, 0, r, c] * state.coefs[i, c]
        z[r] = entry
    for r in range(dim):
        state.coefs[i, r] = z[r]
    begin_learning(state, i, trace_sum)


@inlined
def begin_learning(state: State, i: int, trace_sum: float) -> None:
    """Note that the data of arm i have become invertible, and what their Tr(MS⁻¹) is."""
    arm = state.arms[i]
    arm.data_ready = 1
    arm.dof = arm.observed - state.z.shape[0]
    arm.noise_variance = arm.rss / arm.dof
    arm.inverse_root_dof = 1.0 / np.sqrt(arm.dof)
    if state.trial[0].pools:
        note_variance(arm)
    if arm.pending == 0:
        arm.design_ready = 1
        provisional.drop(arm)
        _set_trace(arm, state.trial[0], trace_sum)
    elif not arm.design_ready:
        forget_design(arm)


@inlined
def design_place(arm: Any) -> int:
    """Which factor of the arm is the design's."""
    return arm.buffer if arm.pending == 0 else next_design(arm)


@inlined
def next_design(arm: Any) -> int:
    """Which factor a unit's design is written to: its outcome may be late, and meanwhile the data's stays."""
    return factor.beside(arm.buffer)


@compiled
def _trace_sum(seen_factor: Matrix, factors: factor.Stack, i: int, b: int) -> float:
    """Tr(MS⁻¹), M the sum over contexts seen; Tr(S⁻¹) where Σ is given, as contexts are whitened."""
    if seen_factor.shape[0] > 0:
        return factor.squared_norm_through(seen_factor, factors, i, b)
    return factor.squared_norm(factors, i, b)


@compiled
def refresh_trace(state: State, i: int) -> None:
    """Compute the trace of arm i from its factor."""
    trace_sum = _trace_sum(state.seen_factor, state.factors, i, design_place(state.arms[i]))
    _set_trace(state.arms[i], state.trial[0], trace_sum)


@compiled
def _set_trace(arm: Any, trial: Any, trace_sum: float) -> None:
    arm.trace_sum = trace_sum
    arm.trace_checked = trace_sum
    arm.trace_age = 0
    arm.trace = per_context(trial, trace_sum)


@inlined
def per_context(trial: Any, trace_sum: float) -> float:
    """Tr(MS⁻¹) → Tr(ΣS⁻¹): a learned Σ is M over the contexts seen."""
    return trace_sum / trial.seen if trial.learns_moment else trace_sum


@compiled
def is_sane(trial: Any, trace_sum: float, count: int) -> bool:
    """Whether a design of so many units is conditioned well enough to be used."""
    limit = _SANE if count < 2 * (trial.dim + 1) else _NONSINGULAR
    return per_context(trial, trace_sum) * count <= limit * trial.dim
