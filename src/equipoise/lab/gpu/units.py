"""A unit of a trial whose outcomes come at once: what is far away is asked for before it is needed.

The same steps as in lab/trial/run.py. There a unit's context is looked at where it was drawn, and its outcome
is drawn before it enters its arm. Here threads ask for the next unit's context when a unit begins, each for
some entries, and put it beside the processors when the unit ends; and for the truth of the chosen arm before
they read that arm's factor, so that they wait for both at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from equipoise.core.arithmetic.bits import float_of
from equipoise.core.arms.least_squares import invert_data, observe_at_once
from equipoise.core.arms.state import TOLD
from equipoise.core.choice.decide import CHOOSE, assign_next, next_arm
from equipoise.core.draws.normal import TABLE_BY_TERMS
from equipoise.core.draws.streams import BLOCK, NOISE, block_words
from equipoise.core.jit.addresses import array_at
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.lanes import LANES, Team, one_normal
from equipoise.lab.gpu.triangles import first_rotation
from equipoise.lab.trial.world import draw_outcome

_HALF, _WORD, _NUMBER = ir.IntType(32), ir.IntType(64), ir.DoubleType()
_PAIR = ir.VectorType(_NUMBER, 2)


def unit_taker(relink: Relinker, dim: int, team: Team) -> Callable[..., None]:
    """What takes the place of :func:`equipoise.lab.trial.run.assign_unit`."""
    ask, put, wait = _asking(dim, team), _putting(dim, team), team.wait
    truth_of = _row(dim, held=team.size == LANES)
    choose, assign, observe, draw = map(relink, (next_arm, assign_next, observe_at_once, draw_outcome))

    def assign_unit(state: Any, rule: Any, world: Any, t: int) -> None:
        place = world.clock[0].place
        ahead = ask(world.contexts, place, min(t + 1, world.contexts.shape[1] - 1))
        arm = choose(state, rule.terms[0].score, rule.settings, rule.scores)
        if arm < 0:
            world.clock[0].units = t
            return
        truth = truth_of(world.coefs, place, arm)
        assign(state, rule.settings, arm, CHOOSE)
        observe(state, t, arm, draw(world, state.contexts[t], truth, t, arm))
        wait()
        put(state.z, ahead)
        wait()

    return assign_unit


def first_dealer(relink: Relinker, dim: int, arms: int, team: Team) -> Callable[..., None]:
    """What takes the place of :func:`equipoise.lab.trial.opening.deal_first_units`, without any room.

    A thread draws the outcomes of some units; then every arm takes in one unit after the other, together.
    """
    rotate, invert = first_rotation(dim, arms, team), relink(invert_data)
    answer = Kernel(_first_answer, inline=True)
    wait, member, size, each = team.wait, team.number, team.size, dim + 1

    def deal(state: Any, rule: Any, world: Any) -> None:
        clock, lefts = world.clock[0], rule.scores
        if arms * each > clock.last:
            return
        wait()
        for t in range(member(), arms * each, size):
            i = 0
            while state.arms[i].order != t % arms:
                i += 1
            state.outcomes[t] = answer(world, t, i, t // arms)
            row = state.rows[t]
            row.arm, row.status, row.previous = i, TOLD, max(t - arms, -1)
            row.propensity = row.likeliest = 1.0
            row.possible = 1
        wait()
        for r in range(each):
            rotate(
                *(state.factors, state.coefs, state.arms, world.contexts, clock.place),
                *(state.outcomes, r, lefts),
            )
            for i in range(arms):
                state.arms[i].rss += lefts[i] * lefts[i]
        for i in range(arms):
            arm = state.arms[i]
            arm.count = arm.assigned = arm.observed = each
            arm.last_row = arms * dim + arm.order
            world.pulls[i] = each
            invert(state, i)
        state.trial[0].step = clock.unit = arms * each
        wait()

    return deal


def deal_none(state: Any, rule: Any, world: Any) -> None:
    """The same where somebody has to be asked about every unit."""


def _first_answer(world: Any, t: int, i: int, pull: int) -> float:
    """:func:`~equipoise.lab.trial.world.draw_outcome` of plain worlds, by one thread alone."""
    clock = world.clock[0]
    context, coef = world.contexts[clock.place, t], world.coefs[clock.place, i]
    words = block_words((world.setting[0].seed, clock.number, NOISE, i, 0), pull // BLOCK)
    word, place = words[0], pull % BLOCK
    word = words[1] if place == 1 else word
    word = words[2] if place == 2 else word
    word = words[3] if place == 3 else word
    y = 0.0
    for c in range(context.shape[0]):
        y += context[c] * coef[c]
    return y + world.deviations[i] * one_normal(TABLE_BY_TERMS, float_of(word))


def first_context(dim: int, team: Team) -> Callable[..., None]:
    """What the loop over the units begins with: the context of the first one."""
    ask, put, wait = _asking(dim, team), _putting(dim, team), team.wait

    def show_first(state: Any, world: Any) -> None:
        if world.contexts.shape[1] > 0:
            clock = world.clock[0]
            put(state.z, ask(world.contexts, clock.place, min(clock.unit, world.contexts.shape[1] - 1)))
            wait()

    return show_first


def no_context(state: Any, world: Any) -> None:
    """The same where contexts stay where they were drawn."""


def _asking(dim: int, team: Team) -> Any:
    """Ask for a thread's entries of a context; where there is none, for another one's."""
    count = -(-dim // team.size)

    @intrinsic
    def ask(typing_context, contexts, place, t):
        def generate(context, builder, signature, arguments):
            first = _line(context, builder, dim, signature.args[0], *arguments)
            found = [
                builder.load(builder.gep(first, [builder.zext(entry, _WORD)]))
                for entry, _ in _own(builder, dim, team)
            ]
            return context.make_tuple(builder, signature.return_type, found)

        return types.UniTuple(types.float64, count)(contexts, types.intp, types.intp), generate

    return ask


def _putting(dim: int, team: Team) -> Any:
    """Write them where all threads look for them."""

    @intrinsic
    def put(typing_context, z, ahead):
        def generate(context, builder, signature, arguments):
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            numbers = cgutils.unpack_tuple(builder, arguments[1])
            for number, (entry, inside) in zip(numbers, _own(builder, dim, team), strict=True):
                goal = builder.gep(data, [builder.zext(entry, _WORD)])
                if inside is None:
                    builder.store(number, goal)
                else:
                    with builder.if_then(inside):
                        builder.store(number, goal)
            return context.get_dummy_value()

        return types.void(z, ahead), generate

    return put


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


def _row(dim: int, *, held: bool) -> Any:
    """A line of a stack of matrices, where it is, or ``held`` in registers."""

    @intrinsic
    def read(typing_context, stack, place, i):
        kind = types.Array(types.float64, 1, "C")

        def generate(context, builder, signature, arguments):
            first = _line(context, builder, dim, signature.args[0], *arguments)
            if not held:
                return array_at(context, builder, kind, first, [_WORD(dim)])
            with builder.goto_entry_block():
                room = builder.alloca(ir.ArrayType(_NUMBER, dim))
            # Memory begins at multiples of 256 bytes, and so lines of even numbers at multiples of 16.
            wide, size = (_PAIR, 2) if dim % 2 == 0 else (_NUMBER, 1)
            source, goal = (builder.bitcast(each, wide.as_pointer()) for each in (first, room))
            for c in range(dim // size):
                numbers = builder.load(builder.gep(source, [_WORD(c)]), align=8 * size)
                builder.store(numbers, builder.gep(goal, [_WORD(c)]), align=8)
            return array_at(context, builder, kind, room, [_WORD(dim)])

        return kind(stack, types.intp, types.intp), generate

    return read


def _line(context: Any, builder: Any, dim: int, kind: Any, stack: Any, place: Any, i: Any) -> Any:
    """The address of line i of a stack's matrix."""
    array = context.make_array(kind)(context, builder, stack)
    lines = cgutils.unpack_tuple(builder, array.shape)[1]
    number = builder.add(builder.mul(lines, place), i)
    return builder.gep(array.data, [builder.mul(number, _WORD(dim))])
