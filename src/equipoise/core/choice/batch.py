"""Many contexts at once: who is assigned first matters, because every unit changes what the next is worth.

The context whose best arm beats its second best by most goes first; those to whom several arms are much
the same come last and fill what has been left open. Every choice is made by :func:`choose`, with all
units before it counted.

A table keeps the scores of every waiting context for every arm. A choice changes the chosen arm only
(a learned Σ moves a little for all, which the order may ignore), so a batch of B units costs
O(B²d² + Bmd²).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.choice.eligible import restrict
from equipoise.core.choice.highest_score import withhold
from equipoise.core.choice.leverage import look, look_at
from equipoise.core.choice.scoring import call_score
from equipoise.core.jit.decorators import compiled

Flags = npt.NDArray[np.int64]


@compiled
def score_contexts(
    state: State, score: int, settings: Vector, contexts: Matrix, waiting: Flags, table: Matrix
) -> None:
    """Fill the rows of ``table`` that are waiting; the next free row of the state is used as scratch."""
    for j in range(contexts.shape[0]):
        if waiting[j]:
            _show(state, contexts, j)
            look(state)
            call_score(score, state.arms, state.trial[0], settings, table[j])


@compiled
def score_arm(
    state: State, score: int, settings: Vector, contexts: Matrix, waiting: Flags, table: Matrix, i: int
) -> None:
    """Do that for column i alone."""
    one = slice(i, i + 1)
    for j in range(contexts.shape[0]):
        if waiting[j]:
            _show(state, contexts, j)
            look_at(state, one)
            call_score(score, state.arms[one], state.trial[0], settings, table[j, one])


@compiled
def most_decided(state: State, waiting: Flags, table: Matrix, barred: Vector) -> int:
    """The waiting context whose highest score is the largest multiple of its second highest.

    Only arms that may be chosen count; ``barred`` is scratch, one number an arm.
    """
    for i in range(barred.shape[0]):
        barred[i] = 0.0
    if state.trial[0].limited:
        restrict(state, barred)
    else:
        withhold(state, barred)
    best, lead = -1, -np.inf
    for j in range(table.shape[0]):
        if waiting[j]:
            first = second = 0.0
            for i in range(table.shape[1]):
                if barred[i] > -np.inf:
                    second = max(second, min(first, table[j, i]))
                    first = max(first, table[j, i])
            ratio = first / second if second > 0.0 else 1.0
            if best < 0 or ratio > lead:
                best, lead = j, ratio
    return best


@compiled
def _show(state: State, contexts: Matrix, j: int) -> None:
    for c in range(contexts.shape[1]):
        state.contexts[state.trial[0].step, c] = contexts[j, c]
