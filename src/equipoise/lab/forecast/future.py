"""The rest of an experiment as a compiled loop: awaited outcomes come, units follow, errors are measured.

Every draw is a function of the forecast's seed, the number of the trial and what it is for, so all policies
and budgets meet the same contexts and, arm by arm, the same noise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.least_squares import is_settled, observe, settle
from equipoise.core.arms.state import PENDING, State
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.draws.streams import (
    BLOCK,
    CONTEXT,
    NOISE,
    Stream,
    fill_normals,
    new_stream,
    start,
    uniform,
)
from equipoise.core.jit.decorators import compiled, inlined
from equipoise.core.jit.handles import handled
from equipoise.lab.trial.judge import squared_distance
from equipoise.lab.trial.rule import Rule, choose_arm

TRIAL_AT_HAND = np.dtype(
    [
        ("seed", "i8"),  # of the forecast
        ("number", "i8"),
        ("lag", "i8"),  # further units that are assigned before an outcome comes
        ("oldest", "i8"),  # no row before it is awaited
    ],
    align=True,
)


@handled
class Outlook(NamedTuple):
    """Contexts to come, what errors are measured by, and the trial at hand."""

    contexts: Matrix  # [rows, d] of which those to come are drawn
    error_root: Matrix  # C with Σ = CCᵀ, lower
    trial: npt.NDArray[Any]  # TRIAL_AT_HAND[1]
    coefs: Matrix  # [m, d] the truth of the trial at hand
    deviations: Vector  # [m] its √σ²
    pulls: Counts  # [m] noise values used up
    normals: Matrix  # [m, 4] some of each arm's noise
    stream: Stream


def new_outlook(arms: int, contexts: Matrix, error_root: Matrix) -> Outlook:
    """An outlook with room for a trial of its own."""
    return Outlook(
        contexts=contexts,
        error_root=error_root,
        trial=np.zeros(1, TRIAL_AT_HAND),
        coefs=np.zeros((arms, contexts.shape[1])),
        deviations=np.zeros(arms),
        pulls=np.zeros(arms, np.int64),
        normals=np.zeros((arms, BLOCK)),
        stream=new_stream(),
    )


@inlined
def _outcome(outlook: Outlook, context: Vector, i: int) -> float:
    """The outcome of a unit at arm i, which uses up one of the arm's noise values."""
    pull = outlook.pulls[i]
    outlook.pulls[i] += 1
    if pull % BLOCK == 0:
        trial = outlook.trial[0]
        fill_normals((trial.seed, trial.number, NOISE, i, 0), pull // BLOCK, outlook.normals, i, 0)
    y = 0.0
    for c in range(context.shape[0]):
        y += context[c] * outlook.coefs[i, c]
    return y + outlook.deviations[i] * outlook.normals[i, pull % BLOCK]


@inlined
def _receive(state: State, outlook: Outlook, end: int) -> None:
    """Tell the outcomes of all rows before ``end`` that are awaited, in the order of the units."""
    trial = outlook.trial[0]
    while trial.oldest < end:
        row = trial.oldest
        if state.rows[row].status == PENDING:
            observe(state, row, _outcome(outlook, state.contexts[row], state.rows[row].arm))
        trial.oldest += 1


@compiled
def run_until(state: State, rule: Rule, outlook: Outlook, units: int, last: bool) -> None:
    """Assign units until there are so many or none can be assigned; after the last, outcomes all come.

    An outcome comes when so many further units have been assigned as the trial's lag says.
    """
    lag = outlook.trial[0].lag
    while True:
        row = state.trial[0].step
        _receive(state, outlook, row - lag)
        if row >= units:
            break
        start(outlook.stream, outlook.trial[0].seed, outlook.trial[0].number, CONTEXT, row, 0)
        place = int(uniform(outlook.stream) * outlook.contexts.shape[0])
        for c in range(outlook.contexts.shape[1]):
            state.contexts[row, c] = outlook.contexts[place, c]
        if choose_arm(state, rule) < 0:
            break
    if last:
        _receive(state, outlook, state.trial[0].step)
    if not is_settled(state):
        settle(state)


@compiled
def measure_errors(outlook: Outlook, coefs: Matrix, errors: Vector) -> None:
    """Write ‖β̂ − β‖²_Σ of every arm against the truth of the trial at hand."""
    for i in range(errors.shape[0]):
        errors[i] = squared_distance(outlook.error_root, coefs[i], outlook.coefs[i])
