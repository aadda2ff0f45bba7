"""A unit of a trial whose outcomes come at once: what is far away is asked for before it is needed.

The same steps as in lab/trial/run.py. There a unit's context is looked at where it was drawn, and its outcome
is drawn before it enters its arm. Here threads ask for the next unit's context when a unit begins, each for
some entries, and put it beside the processors when the unit ends; and for the truth of the chosen arm before
they read that arm's factor, so that they wait for both at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from equipoise.core.choice.decide import CHOOSE, assign_next, next_arm
from equipoise.core.jit.addresses import array_at
from equipoise.core.jit.deferred import call_later, deferred
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.teams.lanes import LANES, Team, in_order, wait
from equipoise.lab.gpu.teams.rooms import NUMBERS, filled_room
from equipoise.lab.trial.world import draw_outcome

_HALF, _WORD, _NUMBER = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_PAIR = ir.VectorType(_NUMBER, 2)
_ROOM = 16
"""Numbers that a thread has room for: entries of a context, or a line."""


class ContextSteps(NamedTuple):
    """What is done about contexts around a unit, as functions for compiled code."""

    distance: Any
    """How many units ahead a context is asked for, by a trial's place in its block."""
    begin: Any
    """Put what the first unit needs where it is looked for; of the state and the world."""
    show: Any
    """The same when a unit begins; of the state, the place and the unit."""
    move_on: Any
    """What a unit ends with; of these, the arm that got it, and the context that was asked for."""


def unit_taker(relink: Relinker, steps: ContextSteps, take_in: Any) -> Callable[..., None]:
    """What takes the place of :func:`equipoise.lab.trial.run.assign_unit`."""
    choose, assign, draw = map(relink, (next_arm, assign_next, draw_outcome))
    distance, _, show, move_on = steps

    def take_unit(state: Any, rule: Any, world: Any, t: int) -> None:
        place = world.clock[0].place
        ahead = ask(world.contexts, place, min(t + distance(place), world.contexts.shape[1] - 1))
        show(state, place, t)
        arm = choose(state, rule.terms[0].score, rule.settings, rule.scores)
        if arm < 0:
            world.clock[0].units = t
            return
        truth = line_of(world.coefs, place, arm)
        assign(state, rule.settings, arm, CHOOSE)
        take_in(state, place, t, arm, draw(world, state.contexts[t], truth, t, arm))
        in_order()
        move_on(state, place, t, arm, ahead)
        in_order()

    return take_unit


def blind_steps() -> ContextSteps:
    """Only the context of the unit at hand is there: policies do not look at it."""

    def distance(place: int) -> int:
        return 1

    def begin(state: Any, world: Any) -> None:
        clock = world.clock[0]
        put(state.z, ask(world.contexts, clock.place, min(clock.unit, world.contexts.shape[1] - 1)))

    def show(state: Any, place: int, t: int) -> None:
        pass

    def move_on(state: Any, place: int, t: int, arm: int, ahead: Any) -> None:
        put(state.z, ahead)

    return ContextSteps(*(Kernel(each, inline=True) for each in (distance, begin, show, move_on)))


def first_shower(steps: ContextSteps) -> Callable[..., None]:
    """What the loop over the units begins with."""
    begin = steps.begin

    def show_first(state: Any, world: Any) -> None:
        if world.contexts.shape[1] > 0:
            begin(state, world)
            wait()

    return show_first


def no_context(state: Any, world: Any) -> None:
    """The same where contexts stay where they were drawn."""


def fits(dim: int, team: Team) -> bool:
    """Whether threads have room for the entries of a context that is asked for."""
    return -(-dim // team.size) <= _ROOM


@intrinsic
def _ask(typing_context, contexts, place, t):
    def generate(context, builder, signature, arguments):
        return filled_room(context, builder, signature, arguments, _ROOM, fill)

    def fill(layout, context, builder, signature, arguments):
        *where, room = arguments
        first = _line(context, builder, layout.dim, signature.args[0], *where)
        for k, (entry, _) in enumerate(_own(builder, layout.dim, layout.team)):
            number = builder.load(builder.gep(first, [builder.zext(entry, _WORD)]))
            builder.store(number, builder.gep(room, [_WORD(k)]))

    return NUMBERS(contexts, types.intp, types.intp), generate


@deferred
def _put(typing_context, z, ahead):
    def generate(layout, context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        for k, (entry, inside) in enumerate(_own(builder, layout.dim, layout.team)):
            number = builder.load(builder.gep(arguments[1], [_WORD(k)]))
            goal = builder.gep(data, [builder.zext(entry, _WORD)])
            if inside is None:
                builder.store(number, goal)
            else:
                with builder.if_then(inside):
                    builder.store(number, goal)

    return types.void(z, NUMBERS), generate


def _own(builder: Any, dim: int, team: Team) -> list[tuple[Any, Any]]:
    """The entries of a line that are a thread's, and whether there is such an entry; None: it is for sure."""
    found, member = [], team.member(builder)
    for k in range(-(-dim // team.size)):
        entry, inside = builder.add(member, _HALF(k * team.size)), None
        if (k + 1) * team.size > dim:
            inside = builder.icmp_unsigned("<", entry, _HALF(dim))
            entry = builder.select(inside, entry, _HALF(dim - 1))
        found.append((entry, inside))
    return found


@intrinsic
def _line_of(typing_context, stack, place, i):
    kind = types.Array(types.float64, 1, "C")

    def generate(context, builder, signature, arguments):
        with builder.goto_entry_block():
            room = builder.alloca(ir.ArrayType(_NUMBER, _ROOM))
        return call_later(context, builder, signature, [*arguments, room], find)

    def find(layout, context, builder, signature, arguments):
        *where, room = arguments
        dim = layout.dim
        first = _line(context, builder, dim, signature.args[0], *where)
        if layout.team.size > LANES or dim > _ROOM:
            return array_at(context, builder, kind, first, [_WORD(dim)])
        # Memory begins at multiples of 256 bytes, and so lines of even numbers at multiples of 16.
        wide, size = (_PAIR, 2) if dim % 2 == 0 else (_NUMBER, 1)
        source, goal = (builder.bitcast(each, wide.as_pointer()) for each in (first, room))
        for c in range(dim // size):
            numbers = builder.load(builder.gep(source, [_WORD(c)]), align=8 * size)
            builder.store(numbers, builder.gep(goal, [_WORD(c)]), align=8)
        return array_at(context, builder, kind, room, [_WORD(dim)])

    return kind(stack, types.intp, types.intp), generate


@deferred
def _near_line(typing_context, line, room):
    kind = types.Array(types.float64, 1, "C")

    def generate(layout, context, builder, signature, arguments):
        if layout.team.size == LANES:
            return arguments[0]
        source, goal = (
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args, arguments, strict=True)
        )
        layout.team.emit_wait(builder)  # nobody reads any more what was there
        for entry, inside in _own(builder, layout.dim, layout.team):
            place = builder.zext(entry, _WORD)
            with builder.if_then(ir.IntType(1)(1) if inside is None else inside):
                builder.store(builder.load(builder.gep(source, [place])), builder.gep(goal, [place]))
        layout.team.emit_wait(builder)
        return array_at(context, builder, kind, goal, [_WORD(layout.dim)])

    return kind(line, room), generate


# Typed as the functions they are inside compiled code, not as the code generators above.
ask: Any = _ask
"""Ask for a thread's entries of a context; where there is none, for another one's. Gives where they are."""
put: Any = _put
"""Write them where all threads look for them."""
line_of: Any = _line_of
"""A line of a stack of matrices; teams of four threads have it in registers."""
near_line: Any = _near_line
"""The same for one that is read again and again: larger teams have it in a room that is near."""


def _line(context: Any, builder: Any, dim: int, kind: Any, stack: Any, place: Any, i: Any) -> Any:
    """The address of line i of a stack's matrix."""
    array = context.make_array(kind)(context, builder, stack)
    lines = cgutils.unpack_tuple(builder, array.shape)[1]
    number = builder.add(builder.mul(lines, place), i)
    return builder.gep(array.data, [builder.mul(number, _WORD(dim))])
