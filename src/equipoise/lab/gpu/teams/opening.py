"""The first units of all arms, dealt at once: what lab/trial/opening.py does, by the threads of a trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.bits import float_of
from equipoise.core.arms.least_squares import begin_learning, forget_design, is_sane
from equipoise.core.arrays import Counts, Vector
from equipoise.core.draws.normal import TABLE_BY_TERMS
from equipoise.core.draws.streams import BLOCK, NOISE, block_words
from equipoise.core.jit.handles import handled
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.teams.inverses import (
    inverse_of,
    is_independent,
    norm_of,
    put_inverse,
    put_solution,
    solution_of,
)
from equipoise.lab.gpu.teams.lanes import member, one_normal, team_size, wait
from equipoise.lab.gpu.teams.pipeline import pass_lines


@handled
class Room(NamedTuple):
    """What the threads of a trial tell each other meanwhile."""

    units: Counts  # [m(d + 1)] the first units of the arms, arm by arm
    answers: Vector  # [m(d + 1)] their outcomes
    pivots: Vector  # [m·d] reciprocals of the triangles' diagonals
    lefts: Vector  # [m] residual sums of squares


def new_room(arms: int, dim: int, unit: npt.DTypeLike) -> Room:
    """Room for the first units of so many arms, whose numbers are of some type."""
    each = dim + 1
    return Room(np.zeros(arms * each, unit), np.zeros(arms * each), np.zeros(arms * dim), np.zeros(arms))


def first_in_turns(state: Any, world: Any, room: Any) -> bool:
    """Write which units arms get while they take turns; whether there are as many."""
    arms, dim = state.coefs.shape
    wait()
    for place in range(member(), arms * (dim + 1), team_size()):
        i, pull = place // (dim + 1), place % (dim + 1)
        room.units[place] = pull * arms + state.arms[i].order
    wait()
    return bool(arms * (dim + 1) <= world.clock[0].last)


def first_dealer(relink: Relinker) -> Callable[..., None]:
    """What takes the place of :func:`equipoise.lab.trial.opening.deal_first_units`, without rows.

    Which units those are stands in the room.
    """
    answer, begin = (Kernel(function, inline=True) for function in (_answer, arm_opener(relink)))

    def deal(state: Any, world: Any, room: Any) -> None:
        clock = world.clock[0]
        arms, dim = state.coefs.shape
        each = dim + 1
        blocks = (dim + BLOCK) // BLOCK
        for number in range(member(), arms * blocks, team_size()):
            answer(world, room, number // blocks, number % blocks, each)
        wait()
        pass_lines(
            *(state.factors, state.coefs, world.contexts, clock.place),
            *(room.units, room.answers, room.pivots, room.lefts, 0, arms),
        )
        wait()
        for i in range(arms):
            arm = state.arms[i]
            arm.count = arm.assigned = arm.observed = each
            arm.last_row = room.units[i * each + dim]
            world.pulls[i] = each
            begin(state, i, room)
        state.trial[0].step = clock.unit = arms * each
        wait()

    return deal


def arm_opener(relink: Relinker) -> Callable[..., None]:
    """What an arm begins with whose first units have passed: its models, if the data are invertible."""
    sane, begin, forget = map(relink, (is_sane, begin_learning, forget_design))

    def open_arm(state: Any, i: int, room: Any) -> None:
        arm = state.arms[i]
        arm.rss = room.lefts[i]
        inverse = inverse_of(state.factors, i, room.pivots)
        trace_sum = norm_of(inverse) if is_independent(state.factors, i) else np.inf
        if not sane(state.trial[0], trace_sum, arm.observed):
            forget(arm)
            return
        wait()
        put_inverse(inverse, state.factors, i)
        wait()
        solution = solution_of(state.factors, i, state.coefs)
        wait()
        put_solution(solution, state.coefs, i)
        begin(state, i, trace_sum)

    return open_arm


def _answer(world: Any, room: Any, i: int, block: int, each: int) -> None:
    """Outcomes of some units of arm i, as :func:`~equipoise.lab.trial.world.draw_outcome` of plain worlds."""
    clock = world.clock[0]
    coef = world.coefs[clock.place, i]
    words = block_words((world.setting[0].seed, clock.number, NOISE, i, 0), block)
    for k in range(BLOCK):
        pull = BLOCK * block + k
        if pull < each:
            word = words[0]
            word = words[1] if k == 1 else word
            word = words[2] if k == 2 else word
            word = words[3] if k == 3 else word
            context = world.contexts[clock.place, room.units[i * each + pull]]
            y = 0.0
            for c in range(context.shape[0]):
                y += context[c] * coef[c]
            noise = world.deviations[i] * one_normal(TABLE_BY_TERMS, float_of(word))
            room.answers[i * each + pull] = y + noise
