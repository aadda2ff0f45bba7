"""When outcomes arrive that come late or never; :mod:`equipoise.lab.trial.calendar.course` has drawn it."""

from __future__ import annotations

from equipoise.core.arms.least_squares import lose, observe
from equipoise.core.arms.state import State
from equipoise.core.jit.decorators import compiled, inlined, only_where
from equipoise.core.jit.handles import Handle
from equipoise.lab.trial.world import World


def _is_late(world: Handle) -> bool:
    """Whether worlds of this type have outcomes that come late or never."""
    return bool(world.field("delays").ndim == 2)


@only_where(_is_late)
@compiled
def receive(world: World, state: State) -> None:
    """Let outcomes arrive, or be lost, that are due since the clock moved on by one unit.

    After the last unit all that will come are waited for: the clock goes to the next arrival.
    """
    clock = world.clock[0]
    now = clock.unit - 1
    if now < clock.units:
        clock.end = max(clock.end, _due(world, now) + 1)
    asked = min(now + 1, clock.units)
    oldest = asked
    for row in range(asked - 1, clock.oldest - 1, -1):
        if _due(world, row) > now:
            oldest = row
    for row in range(clock.oldest, asked):
        if _due(world, row) == now:
            if world.delays[clock.place, row] < 0:
                lose(state, row)
            else:
                observe(state, row, state.outcomes[row])
    clock.oldest = oldest
    if clock.unit >= clock.units:
        soonest = clock.end
        for row in range(oldest, clock.units):
            if _due(world, row) >= clock.unit:
                soonest = min(soonest, _due(world, row))
        clock.unit = soonest
    clock.last = min(clock.end, clock.pause)


def _arms_differ(world: Handle) -> bool:
    """Whether in worlds of this type a unit's arm decides on whether its outcome comes."""
    return bool(world.field("fates").ndim == 3)


@only_where(_arms_differ)
@compiled
def meet_fate(world: World, arm: int) -> None:
    """The delay of the unit at hand, which got an arm."""
    clock = world.clock[0]
    world.delays[clock.place, clock.unit] = world.fates[clock.place, clock.unit, arm]


@inlined
def _due(world: World, row: int) -> int:
    """Time at which the outcome of a unit arrives, or is given up."""
    delay = world.delays[world.clock[0].place, row]
    return row + delay if delay >= 0 else row - 1 - delay
