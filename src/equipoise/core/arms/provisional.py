"""Designs that are not invertible yet, for policies that look at the context.

While an arm has fewer than d + 1 units its S is singular and Tr(ΣS⁻¹) infinite, so it cannot be said
which context helps it most. A prior makes it finite: A = S + prior, half of what the arm will have
been given at the end of the start, were contexts dealt out evenly:

    Σ given      prior = (d + 1)/2 · Σ
    Σ learned    prior = 1/(2m) · (sum of xxᵀ over the contexts seen), from the day that is invertible

Only choices read A; estimates never do. The factor V of A⁻¹ = VVᵀ stands where the design's factor
will stand, ``factors[i, 1 − buffer]``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equipoise.core.arms import baseline, factor
from equipoise.core.arms.if_it_looks import if_it_looks
from equipoise.core.arms.state import PENDING, TOLD, State
from equipoise.core.arms.whitening import weighted_square, whiten
from equipoise.core.jit.decorators import compiled, inlined

_HALF = 0.5


@if_it_looks
@compiled
def begin(state: State, i: int) -> None:
    """An arm without units: A is the prior, which a learned Σ has yet to give."""
    if state.trial[0].learns_moment:
        return
    arm = state.arms[i]
    place = factor.beside(arm.buffer)
    dim = state.z.shape[0]
    precision = _HALF * (dim + 1)
    for r in range(dim):
        for c in range(dim):
            state.factors[i, place, r, c] = 0.0
        state.factors[i, place, r, r] = 1.0 / np.sqrt(precision)
    arm.provisional = 1
    arm.provisional_sum = dim / precision


@inlined
def drop(arm: Any) -> None:
    """Have no provisional design any more, and keep nothing of it: states that are alike have equal bytes."""
    arm.provisional = 0
    arm.provisional_sum = 0.0


@if_it_looks
@compiled
def extend(state: State, i: int) -> None:
    """Add a unit with context z to a provisional design, if the arm has one."""
    arm = state.arms[i]
    if not arm.provisional:
        return
    place = factor.beside(arm.buffer)
    h = factor.extend(state.factors, i, place, place, state.z, state.f, state.g)
    arm.provisional_sum -= weighted_square(state, state.g) / h


@if_it_looks
@compiled
def see(state: State, row: int) -> None:
    """Let the context z of a row, which Σ is about to learn, enter the prior of every arm."""
    share = _HALF / state.arms.shape[0]
    for r in range(state.z.shape[0]):
        state.z[r] *= np.sqrt(share)
    for i in range(state.arms.shape[0]):
        arm = state.arms[i]
        if arm.provisional:
            place = factor.beside(arm.buffer)
            h = factor.extend(state.factors, i, place, place, state.z, state.f, state.g)
            # Tr(MA⁻¹) with zzᵀ added to M and share·zzᵀ to A.
            arm.provisional_sum += ((h - 1.0) / share - weighted_square(state, state.g)) / h
    whiten(state.whitener, state.contexts, row, state.z)


@compiled
def rebuild(state: State, i: int) -> None:
    """A from the rows of an arm; uses up z. Nothing happens while a learned Σ is not invertible."""
    arm, trial = state.arms[i], state.trial[0]
    place = factor.beside(arm.buffer)
    if not trial.learns_moment:
        begin(state, i)
        row = arm.last_row
        while row >= 0:
            if state.rows[row].status == PENDING or state.rows[row].status == TOLD:
                whiten(state.whitener, state.contexts, row, state.z)
                extend(state, i)
            row = state.rows[row].previous
        for line in range(baseline.lines(state, i)):
            baseline.take_line(state, i, line)
            extend(state, i)
        return
    # Inverting is tried every d contexts until it has worked once: O(d²) a context.
    dim = state.z.shape[0]
    if not trial.moment_ready and (trial.seen == 0 or trial.seen % dim != 0):
        return
    root_share = np.sqrt(_HALF / state.arms.shape[0])
    for r in range(dim):
        for c in range(dim):
            state.factors[i, place, r, c] = root_share * state.seen_factor[r, c]
    row = arm.last_row
    while row >= 0:
        if state.rows[row].status == PENDING or state.rows[row].status == TOLD:
            whiten(state.whitener, state.contexts, row, state.z)
            factor.rotate(state.factors[i, place], state.g, state.z, 0.0)
        row = state.rows[row].previous
    for line in range(baseline.lines(state, i)):
        baseline.take_line(state, i, line)
        factor.rotate(state.factors[i, place], state.g, state.z, 0.0)
    arm.provisional = factor.invert_upper(state.factors, i, place, state.scratch)
    trial.moment_ready = arm.provisional
    if arm.provisional:
        factor.copy(state.scratch, 0, 0, state.factors, i, place)
        arm.provisional_sum = factor.squared_norm_through(state.seen_factor, state.factors, i, place)
