"""The units that arms get in turns before any scores are compared, all at once.

Where a policy asks for a forced start, an arm without an invertible S goes before all others, and of several
the one with the fewest units. So the first m(d + 1) units are dealt in turns, whatever the arms score:
nothing has to be decided about them. Nor do they have to enter an arm's factor one by one, since nobody asks
for it before it has them all: several arms take theirs in together, which is faster by far
(:func:`~equipoise.core.arms.factor.rotate_together`). The state is then the one, bit for bit, that decisions
about these units would have left.
"""

from __future__ import annotations

from equipoise.core.arithmetic.lanes import WIDTH, aligned_zeros
from equipoise.core.arms import factor
from equipoise.core.arms.least_squares import invert_data
from equipoise.core.arms.state import TOLD, State
from equipoise.core.arms.whitening import whiten
from equipoise.core.arrays import Matrix
from equipoise.core.jit.decorators import compiled, only_where
from equipoise.core.jit.handles import Handle
from equipoise.lab.trial.rule import Rule
from equipoise.lab.trial.run import show_context
from equipoise.lab.trial.world import World, draw_outcome

# Arms that take in their first units together: more would not be faster, and their rows stay near.
_TOGETHER = 8


def room_for(state: State) -> factor.Stack:
    """Room for the first rows of some arms: contexts, padded as factors are, then outcomes."""
    _, _, dim, width = state.factors.shape
    return aligned_zeros((min(len(state.arms), _TOGETHER), dim + 1, width + WIDTH))


@compiled
def deal_none(state: State, rule: Rule, world: World, room: factor.Stack) -> None:
    """For policies that look at contexts or draw arms by lot: they are asked about every unit."""


def _is_blind(state: Handle) -> bool:
    """Whether states of this type belong to policies that neither look nor weigh."""
    return bool(state.field("lots").ndim == 2)


@only_where(_is_blind, otherwise=deal_none)
@compiled
def deal_first_units(state: State, rule: Rule, world: World, room: factor.Stack) -> None:
    """Assign the units of the start and take in their outcomes, if nothing can change whose turn it is."""
    trial, setting, clock = state.trial[0], world.setting[0], world.clock[0]
    arms, each = state.arms.shape[0], room.shape[1]
    closes = world.closures.size > 0
    if not trial.forced_start or trial.limited or trial.learns_moment or setting.late or closes:
        return
    if arms * each > clock.last:
        return
    for first in range(0, arms, room.shape[0]):
        rows = room[: min(arms - first, room.shape[0])]
        for k in range(rows.shape[0]):
            _deal(state, rule, world, first + k, rows[k])
        factor.rotate_together(state.factors, state.coefs, first, rows)
        for k in range(rows.shape[0]):
            _learn_first(state, first + k, rows[k])
    trial.step = clock.unit = arms * each


@compiled
def _deal(state: State, rule: Rule, world: World, i: int, rows: Matrix) -> None:
    """Give arm i its first units, every m-th one from its turn on; write them to ``rows``, too."""
    arm, dim, width = state.arms[i], state.z.shape[0], state.factors.shape[3]
    for k in range(rows.shape[0]):
        t = k * state.arms.shape[0] + arm.order
        show_context(state, rule, world, t)
        whiten(state.whitener, state.contexts, t, state.z)
        for c in range(width):
            rows[k, c] = state.z[c] if c < dim else 0.0
        context, coef = world.contexts[world.clock[0].place, t], world.coefs[world.clock[0].place, i]
        rows[k, width] = state.outcomes[t] = draw_outcome(world, context, coef, t, i)
        row = state.rows[t]
        row.arm, row.status, row.previous = i, TOLD, arm.last_row
        row.propensity = row.likeliest = 1.0
        row.possible = 1
        arm.last_row = t
    arm.count = arm.assigned = arm.observed = rows.shape[0]


@compiled
def _learn_first(state: State, i: int, rows: Matrix) -> None:
    """Take in what the rotations have left of the outcomes, and invert S."""
    arm, width = state.arms[i], state.factors.shape[3]
    for k in range(rows.shape[0]):
        arm.rss += rows[k, width] * rows[k, width]
    invert_data(state, i)
