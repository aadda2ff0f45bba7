"""Trials arm after arm: an arm takes in its units one behind the other, by the lab's own functions.

Its first units, until its S is invertible, have mostly been dealt before (programs/opening.py); where not,
they are collected here. Traces are not kept: nothing but scores reads them, and these scores do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from numba import types
from numba.extending import intrinsic

from equipoise.core.arms import factor, least_squares
from equipoise.core.arms.state import TRIAL
from equipoise.core.arms.whitening import weighted_square, whiten
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.layout import Places
from equipoise.lab.gpu.memory import Assembler
from equipoise.lab.gpu.programs.trials import Plan, copiers, itself, use_no_delays
from equipoise.lab.gpu.teams.held import hold, put_down, take_up, use_held_factor
from equipoise.lab.gpu.teams.lanes import in_order, number_of, team_size, use_threads, wait
from equipoise.lab.gpu.teams.tiles import use_tiles
from equipoise.lab.gpu.teams.triangles import use_triangles
from equipoise.lab.gpu.teams.units import ask, line_of, near_line, put
from equipoise.lab.trial.world import CLOCK, draw_outcome


def by_arm_places(group: str, places: Places) -> Places:
    """Where a group's arrays lie, by where they would while all arms take turns.

    Of records in registers next to nothing changes, and is written back. Where factors are in registers
    nobody needs f: the truth of an arm stands there, which is near.
    """
    if group == "world":
        return replace(places, fixed={**places.fixed, "clock": CLOCK.names or ()})
    changed = "step", "mean_variance"
    fixed = tuple(name for name in TRIAL.names or () if name not in changed)
    return replace(places, near=places.near | {"f"}, fixed={**places.fixed, "trial": fixed})


def by_arm_program(plan: Plan) -> Callable[..., None]:
    """Trials that have begun: takes the number of the first, how many there are, and what is left free."""
    assemblers = plan.assemblers()
    relink = Relinker()
    use_threads(relink)
    use_triangles(relink)
    if plan.has_tiles:
        use_tiles(relink)
        use_held_factor(relink)
    relink.replace(factor.beside, Kernel(itself, inline=True))
    use_no_delays(relink)
    relink.replace(whiten, Kernel(_is_there, inline=True))
    relink.replace(weighted_square, Kernel(_no_square, inline=True))
    relink.replace(least_squares.refresh_trace, Kernel(_no_trace, inline=True))
    copy_in, copy_out = copiers(assemblers)
    units = Kernel(_middle(assemblers, relink, _TILES if plan.has_tiles else _NO_TILES), inline=True)
    thread, block, block_threads, blocks = map(number_of, ("tid", "ctaid", "ntid", "nctaid"))

    def run(first: int, count: int, free: int) -> None:
        size = team_size()
        local, teams = thread() // size, block_threads() // size
        for place in range(block() * teams + local, count, teams * blocks()):
            copy_in(place, local)
            wait()
            units(place, local)
            wait()
            copy_out(place, local)

    return run


class _Holding(NamedTuple):
    """What becomes of a factor while its arm takes in units, as functions for compiled code."""

    hold: Any
    """A state that has room for the factor of the arm at hand."""
    take_up: Any
    put_down: Any
    bring_near: Any
    """Where a line, which is read again and again, is read; of the line, and room for it."""


def _middle(assemblers: Mapping[str, Assembler], relink: Relinker, holding: _Holding) -> Callable[..., None]:
    hold_one, take, put_back, bring = holding  # by these names for compiled code
    state_of, world_of = (assemblers[group].handle(held=True) for group in ("state", "world"))
    turns_of = assemblers["turns"].handle()
    keep_state, keep_world = assemblers["state"].keeper(), assemblers["world"].keeper()
    names = least_squares.assign, least_squares.learn, least_squares.is_settled, draw_outcome
    assign, learn, settle, draw = map(relink, names)
    # Arms collect few units here, if any: that is apart from the loop, and finds its arrays by itself.
    collect = Kernel(_collecting(assemblers, relink), inline=False)

    def run_units(place: int, local: int) -> None:
        state, world, turns = state_of(place, local), world_of(place, local), turns_of(place, local)
        here, held = world.clock[0].place, hold_one(state)
        for i in range(state.arms.shape[0]):
            k, end = turns.starts[i] + state.arms[i].observed, turns.starts[i + 1]
            while k < end and not state.arms[i].data_ready:
                t = turns.units[k]
                put(state.z, ask(world.contexts, here, t))
                wait()
                suppose(not state.arms[i].design_ready)
                row = assign(state, i)
                collect(place, local, i, draw(world, state.contexts[row], world.coefs[here, i], t, i))
                k += 1
            if k >= end:
                continue
            t, later = turns.units[k], turns.units[min(k + 1, end - 1)]
            truth = bring(line_of(world.coefs, here, i), state.f)
            take(held.factors, state.factors, i, state.arms[i].buffer)
            wait()  # others may still read the context before
            put(state.z, ask(world.contexts, here, t))
            wait()
            while k < end:
                # What is far away is asked for before it is needed; past the end, what is there already.
                ahead, after = ask(world.contexts, here, later), turns.units[min(k + 2, end - 1)]
                # So it is where outcomes come at once: code for all else goes.
                suppose(bool(state.arms[i].design_ready))
                suppose(not state.arms[i].pending)
                suppose(bool(state.arms[i].data_ready))
                row = assign(held, i)
                learn(held, i, row, draw(world, state.contexts[row], truth, t, i))
                in_order()
                put(state.z, ahead)
                in_order()
                t, later = later, after
                k += 1
            put_back(held.factors, state.factors, i, state.arms[i].buffer)
        settle(state)
        keep_state(state, place, local)
        keep_world(world, place, local)

    return run_units


def _collecting(assemblers: Mapping[str, Assembler], relink: Relinker) -> Callable[..., None]:
    state_of, collect = assemblers["state"].handle(), relink(least_squares.collect)

    def apart_collect(place: int, local: int, i: int, y: float) -> None:
        collect(state_of(place, local), i, y)

    return apart_collect


def _itself(state: Any) -> Any:
    return state


def _nothing(room: Any, factors: Any, i: int, b: int) -> None:
    pass


def _where_it_is(line: Any, room: Any) -> Any:
    return line


_NO_FACTOR = Kernel(_nothing, inline=True)
_TILES = _Holding(hold, take_up, put_down, near_line)
_NO_TILES = _Holding(Kernel(_itself, inline=True), _NO_FACTOR, _NO_FACTOR, Kernel(_where_it_is, inline=True))
"""The same where factors are not kept in registers at all, and f is needed."""


@intrinsic
def _suppose(typing_context, condition):
    def generate(context, builder, signature, arguments):
        builder.assume(arguments[0])
        return context.get_dummy_value()

    return types.void(types.boolean), generate


# Typed as the function it is inside compiled code, not as the code generator above.
suppose: Any = _suppose
"""Let the compiler take it that something holds."""


def _is_there(whitener: Any, contexts: Any, row: int, z: Any) -> None:
    """There is no context but the one at hand, where a whitened one is looked for."""


def _no_square(state: Any, g: Any) -> float:
    return 0.0


def _no_trace(state: Any, i: int) -> None:
    pass
