"""The rest of an experiment as a compiled loop: awaited outcomes come, units follow, errors are measured.

Every draw is a function of the forecast's seed, the number of the trial and what it is for, so all policies
and budgets meet the same contexts and, arm by arm, the same noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.least_squares import is_settled, lose, observe, settle
from equipoise.core.arms.state import PENDING, State
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.choice.eligible import restrict
from equipoise.core.draws.streams import (
    BLOCK,
    CONTEXT,
    LOSS,
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
from equipoise.lab.trial.rule import Rule, decide_by_rule, next_is_due

if TYPE_CHECKING:
    from equipoise.lab.forecast.seat import Setup

TRIAL_AT_HAND = np.dtype(
    [
        ("seed", "i8"),  # of the forecast
        ("number", "i8"),
        ("beyond", "i8"),  # the wait of outcomes that are awaited for longer than any that was seen
    ],
    align=True,
)
_NOBODY = -1


@handled
class Outlook(NamedTuple):
    """Contexts to come, what errors are measured by, and the trial at hand."""

    contexts: Matrix  # [rows, d] of which those to come are drawn
    error_root: Matrix  # C with Σ = CCᵀ, lower
    trial: npt.NDArray[Any]  # TRIAL_AT_HAND[1]
    coefs: Matrix  # [m, d] the truth of the trial at hand
    deviations: Vector  # [m] its √σ²
    rates: Vector  # [m] its chances that an outcome is lost
    pulls: Counts  # [m] noise values used up
    normals: Matrix  # [m, 4] some of each arm's noise
    units: Matrix  # [capacity, d] contexts of all units in all features
    is_lost: Counts  # [capacity] whether the outcome of a unit will be lost
    # [3, capacity + 1] by units assigned: the first outcome that is due then, and the last; by unit: the
    # next one that is due with it
    calendar: Counts
    told_waits: Counts  # how long outcomes are awaited, and the shares that have come by then
    told_shares: Vector
    lost_waits: Counts  # the same of those that are given up
    lost_shares: Vector
    stream: Stream


def new_outlook(setup: Setup, capacity: int) -> Outlook:
    """An outlook with room for a trial of its own, of so many units."""
    arms, contexts, fates = len(setup.problem.arms), setup.contexts, setup.fates
    units = np.zeros((capacity, contexts.shape[1]))
    units[: len(setup.seen)] = setup.seen
    trial = np.zeros(1, TRIAL_AT_HAND)
    trial["beyond"] = fates.beyond
    return Outlook(
        contexts=contexts,
        error_root=setup.error_root,
        trial=trial,
        coefs=np.zeros((arms, contexts.shape[1])),
        deviations=np.zeros(arms),
        rates=np.zeros(arms),
        pulls=np.zeros(arms, np.int64),
        normals=np.zeros((arms, BLOCK)),
        units=units,
        is_lost=np.zeros(capacity, np.int64),
        calendar=np.zeros((3, capacity + 1), np.int64),
        told_waits=fates.told.units,
        told_shares=fates.told.shares,
        lost_waits=fates.lost.units,
        lost_shares=fates.lost.shares,
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
def _ended_before(waits: Counts, shares: Vector, age: int) -> float:
    """The share of outcomes that were awaited for less."""
    share = 0.0
    for k in range(waits.shape[0]):
        if waits[k] < age:
            share = shares[k]
    return share


@inlined
def _wait(outlook: Outlook, waits: Counts, shares: Vector, age: int) -> int:
    """How long an outcome is awaited that has been for so long already."""
    before = _ended_before(waits, shares, age)
    wanted = before + uniform(outlook.stream) * (1.0 - before)
    for k in range(waits.shape[0]):
        if waits[k] >= age and shares[k] >= wanted:
            return waits[k]
    return outlook.trial[0].beyond


@compiled
def _expect(outlook: Outlook, row: int, arm: int, step: int) -> None:
    """Draw what becomes of the outcome of a unit, of which nothing is known when ``step`` are assigned."""
    trial = outlook.trial[0]
    age, rate = step - row - 1, outlook.rates[arm]
    start(outlook.stream, trial.seed, trial.number, LOSS, row, 0)
    if age > 0:
        gone = rate * (1.0 - _ended_before(outlook.lost_waits, outlook.lost_shares, age))
        kept = (1.0 - rate) * (1.0 - _ended_before(outlook.told_waits, outlook.told_shares, age))
        if gone + kept > 0.0:
            rate = gone / (gone + kept)
    outlook.is_lost[row] = uniform(outlook.stream) < rate
    if outlook.is_lost[row]:
        wait = _wait(outlook, outlook.lost_waits, outlook.lost_shares, age)
    else:
        wait = _wait(outlook, outlook.told_waits, outlook.told_shares, age)
    due = max(row + 1 + wait, step)
    calendar = outlook.calendar
    if due >= calendar.shape[1]:
        return  # at the end
    calendar[2, row] = _NOBODY
    if calendar[0, due] == _NOBODY:
        calendar[0, due] = row
    else:
        calendar[2, calendar[1, due]] = row
    calendar[1, due] = row


@inlined
def _end(state: State, outlook: Outlook, row: int) -> None:
    """An awaited outcome comes, or is given up."""
    if outlook.is_lost[row]:
        lose(state, row)
    else:
        observe(state, row, _outcome(outlook, outlook.units[row], state.rows[row].arm))


@compiled
def expect_awaited(state: State, outlook: Outlook) -> None:
    """Draw what becomes of all outcomes that are awaited where a trial starts."""
    step = state.trial[0].step
    for due in range(outlook.calendar.shape[1]):
        outlook.calendar[0, due] = _NOBODY
    for row in range(step):
        if state.rows[row].status == PENDING:
            _expect(outlook, row, state.rows[row].arm, step)


@compiled
def run_until(state: State, rule: Rule, outlook: Outlook, units: int, last: bool) -> bool:
    """Assign units until there are so many or none can be assigned; after the last, outcomes all come.

    True where the next unit begins a new stage: then nothing is over yet.
    """
    while True:
        row = state.trial[0].step
        due = outlook.calendar[0, row]
        outlook.calendar[0, row] = _NOBODY
        while due != _NOBODY:
            following = outlook.calendar[2, due]
            _end(state, outlook, due)
            due = following
        if row >= units:
            break
        if next_is_due(state, rule) and restrict(state, rule.scores):
            return True
        start(outlook.stream, outlook.trial[0].seed, outlook.trial[0].number, CONTEXT, row, 0)
        place = int(uniform(outlook.stream) * outlook.contexts.shape[0])
        for c in range(outlook.contexts.shape[1]):
            outlook.units[row, c] = outlook.contexts[place, c]
        for c in range(rule.columns.shape[0]):
            state.contexts[row, c] = outlook.units[row, rule.columns[c]]
        arm = decide_by_rule(state, rule)
        if arm < 0:
            break
        _expect(outlook, row, arm, row + 1)
    if last:
        for row in range(state.trial[0].step):
            if state.rows[row].status == PENDING:
                _end(state, outlook, row)
    if not is_settled(state):
        settle(state)
    return False


@compiled
def measure_errors(outlook: Outlook, coefs: Matrix, errors: Vector) -> None:
    """Write ‖β̂ − β‖²_Σ of every arm against the truth of the trial at hand."""
    for i in range(errors.shape[0]):
        errors[i] = squared_distance(outlook.error_root, coefs[i], outlook.coefs[i])
