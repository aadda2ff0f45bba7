"""What every team of threads does: the lab's own trials, put together for a GPU.

Nothing of a trial is written here but what differs: a policy's functions are called by their names, not by
their addresses, arms are scored by a thread each, and trials in which outcomes come at once know that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numba.extending import intrinsic

from equipoise.core.arms import factor, least_squares, provisional
from equipoise.core.choice import scoring, weighing
from equipoise.core.choice.ties import Ties
from equipoise.core.jit.bounded import ADDRESS, open_bounded
from equipoise.core.jit.handles import handled
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.gpu.layout import Layout
from equipoise.lab.gpu.memory import Assembler, fetch
from equipoise.lab.gpu.teams.lanes import member, number_of, team_size, use_threads, wait
from equipoise.lab.gpu.teams.looking import looking_steps
from equipoise.lab.gpu.teams.noting import entering, noted
from equipoise.lab.gpu.teams.products import use_products
from equipoise.lab.gpu.teams.tiles import are_tiles, use_tiles
from equipoise.lab.gpu.teams.triangles import use_triangles
from equipoise.lab.gpu.teams.units import blind_steps, first_shower, no_context, unit_taker
from equipoise.lab.trial.run import assign_unit, run_stage, show_context, start_trial

WORDS = 3
"""Numbers that a program takes."""


@handled
class Order(NamedTuple):
    """Who goes first when scores tie."""

    ties: Ties


@dataclass(frozen=True)
class Plan:
    """What a program is made for."""

    layout: Layout
    policy: Policy
    at_once: bool
    """Outcomes come at once."""
    one_factor: bool
    """An arm has one factor, not two: besides, the policy does not look at contexts."""
    one_context: bool
    """Only that of the unit at hand is there, where functions look for a whitened one."""
    looks_ahead: bool
    """The policy looks at the contexts of some units to come at once (teams/looking.py)."""
    deals_first: bool
    """The first units of all arms are dealt at once, by a program before (programs/opening.py)."""
    forgets_rows: bool
    """Nobody looks at what units have left once they are over."""
    notes_first: bool = False
    """The first units of an arm are noted, and enter it when they are enough (teams/noting.py)."""
    by_arm: bool = False
    """Who gets which unit is worked out before, and arms run one after the other (turns)."""

    def assemblers(self) -> dict[str, Assembler]:
        """What finds the arrays of every group."""
        places = self.layout.places
        return {
            group: Assembler(group, arrays, places[group]) for group, arrays in self.layout.groups.items()
        }

    @property
    def has_tiles(self) -> bool:
        """Factors are kept in registers."""
        return are_tiles(self.layout.dim, self.layout.width, self.layout.team)


def trial_program(plan: Plan) -> Callable[..., None]:
    """Trials of a policy: takes the number of the first, how many there are, and what is left free.

    Of the plan's layout nothing is looked at that depends on sizes, but whether there are tiles.
    """
    assemblers = plan.assemblers()
    relink = Relinker()
    use_threads(relink)
    if plan.has_tiles:
        use_tiles(relink)
    use_triangles(relink)
    use_products(relink)
    # A trial's contexts are where they were drawn.
    relink.replace(show_context, Kernel(_fetch_next_context, inline=True))
    scorer = _shared_score_caller(plan.policy, waits=not plan.one_context)
    relink.replace(scoring.call_score, Kernel(scorer, inline=True))
    _use_design(relink, plan.policy)
    if plan.one_factor:
        relink.replace(factor.beside, Kernel(itself, inline=True))
    if plan.at_once:
        use_no_delays(relink)
    shown: Callable[..., None] = no_context
    take_in = noted(relink, assemblers) if plan.notes_first else entering(relink)
    if plan.one_context:
        relink.replace(provisional.rebuild, Kernel(_never_rebuilt, inline=True))
        steps = looking_steps(relink, _coming_finder(assemblers)) if plan.looks_ahead else blind_steps()
        relink.replace(assign_unit, Kernel(unit_taker(relink, steps, take_in), inline=True))
        shown = first_shower(steps)
    copy_in, copy_out = copiers(assemblers)
    # What happens once a trial is apart from the loop over its units, and finds its arrays by itself.
    first = _has_begun if plan.deals_first else _beginning(assemblers, relink)
    begin = Kernel(first, inline=plan.deals_first)
    units = Kernel(_middle(assemblers, relink, shown), inline=True)
    thread, block, block_threads, blocks = map(number_of, ("tid", "ctaid", "ntid", "nctaid"))

    def run(first: int, count: int, free: int) -> None:
        size = team_size()
        local, teams = thread() // size, block_threads() // size
        for place in range(block() * teams + local, count, teams * blocks()):
            copy_in(place, local)
            wait()
            begin(place, local, first + place)
            units(place, local)
            wait()
            copy_out(place, local)

    return run


def _coming_finder(assemblers: Mapping[str, Assembler]) -> Callable[[int], Any]:
    """What gives the units to come of a trial, by its place."""
    coming_of, thread = assemblers["coming"].handle(), number_of("tid")

    def find(place: int) -> Any:
        return coming_of(place, thread() // team_size())

    return find


def use_no_delays(relink: Relinker) -> None:
    """Let copies know that outcomes come at once: then no design ever waits, and none runs ahead."""
    relink.replace(least_squares.waits, Kernel(_never, inline=True))
    relink.replace(least_squares.next_design, Kernel(_in_place, inline=True))
    relink.replace(least_squares.settle, Kernel(_nothing_to_settle, inline=True))
    relink.replace(least_squares.gain_anew, Kernel(_gain_is_there, inline=True))


def copiers(assemblers: Mapping[str, Assembler]) -> tuple[Kernel, Kernel]:
    """What brings a trial's arrays beside the processors, and what brings back those that are kept."""
    into, out = (
        Kernel(_each([each.copier(out=out) for each in assemblers.values()]), inline=True)
        for out in (False, True)
    )
    return into, out


def _use_design(relink: Relinker, policy: Policy) -> None:
    """Let copies call the functions of a policy that draws by weights."""
    if isinstance(policy, Design):
        relink.replace(weighing.call_design, Kernel(_design_caller(policy), inline=True))


def _each(functions: list[Any]) -> Callable[..., None]:
    """One function that calls several."""
    if not functions:
        return _no_arrays
    first, others = functions[0], Kernel(_each(functions[1:]), inline=True)

    def call_each(trial: int, local: int) -> None:
        first(trial, local)
        others(trial, local)

    return call_each


def _no_arrays(trial: int, local: int) -> None:
    pass


def _beginning(assemblers: Mapping[str, Assembler], relink: Relinker) -> Callable[..., None]:
    state_of, world_of, order_of = (assemblers[group].handle() for group in ("state", "world", "order"))
    start = relink(start_trial)

    def apart_begin(place: int, local: int, number: int) -> None:
        start(state_of(place, local), order_of(place, local).ties, world_of(place, local), place, number)

    return apart_begin


def _has_begun(place: int, local: int, number: int) -> None:
    """The same after a program that has seen to it."""


def _middle(
    assemblers: Mapping[str, Assembler], relink: Relinker, shown: Callable[..., None]
) -> Callable[..., None]:
    state_of, rule_of, world_of = (
        assemblers[group].handle(held=True) for group in ("state", "rule", "world")
    )
    keep_state, keep_world = assemblers["state"].keeper(), assemblers["world"].keeper()
    stage, show_first_context = relink(run_stage), Kernel(shown, inline=True)

    def run_units(place: int, local: int) -> None:
        state, rule, world = state_of(place, local), rule_of(place, local), world_of(place, local)
        show_first_context(state, world)
        stage(state, rule, world)
        keep_state(state, place, local)
        keep_world(world, place, local)

    return run_units


def _shared_score_caller(policy: Policy, *, waits: bool) -> Callable[..., None]:
    """What takes the place of a call through an address (choice/scoring.py): every thread has some arms.

    It ``waits`` before, unless the unit before has ended so (teams/units.py).
    """
    score = Kernel(type(policy).score, inline=True)
    begin = wait if waits else Kernel(_nothing, inline=True)

    def call_score(address: int, arms: Any, trial: Any, settings: Any, scores: Any) -> None:
        numbers = open_bounded(first_of(settings))
        starts = trial.forced_start and not trial.looks
        begin()
        for i in range(member(), arms.shape[0], team_size()):
            if starts and not arms[i].design_ready:
                scores[i] = np.inf
            else:
                scores[i] = score(arms[i], trial, numbers)
        wait()

    return call_score


def _design_caller(design: Design) -> Callable[..., None]:
    """What takes the place of a call through an address of a design (choice/weighing.py)."""
    weigh, remember = Kernel(type(design).weigh, inline=True), Kernel(type(design).remember, inline=True)

    def call_design(state: Any, row: int, arm: int, settings: Any, weights: Any) -> None:
        numbers, trial, context = open_bounded(first_of(settings)), state.trial[0], state.contexts[row]
        # Others may have written the leverages of some arms.
        wait()
        if arm >= 0:
            remember(trial, numbers, context, state.memory, state.lots, row, arm)
        else:
            weigh(state.arms, trial, numbers, context, state.memory, state.plan[1:], weights)

    return call_design


def _nothing() -> None:
    pass


def itself(b: int) -> int:
    """What takes the place of :func:`equipoise.core.arms.factor.beside` where arms have one factor."""
    return b


def _never(arm: Any, dim: int) -> bool:
    return False


def _in_place(arm: Any) -> int:
    """Where outcomes come at once, an arm's factor need not stay."""
    return arm.buffer if arm.data_ready else factor.beside(arm.buffer)


def _nothing_to_settle(state: Any) -> None:
    pass


def _never_rebuilt(state: Any, i: int) -> None:
    """A design that is not invertible has been a provisional one from the beginning."""


def _gain_is_there(state: Any, i: int, joins: bool) -> None:
    pass


def _fetch_next_context(state: Any, rule: Any, world: Any, t: int) -> None:
    """The context stands there already; the next one, which is far away, is asked for."""
    if t + 1 < world.contexts.shape[1]:
        context = world.contexts[world.clock[0].place, t + 1]
        fetch(context, 0)
        fetch(context, context.shape[0] - 1)


@intrinsic
def _address_of(typing_context, array):
    def generate(context, builder, signature, arguments):
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return ADDRESS(array), generate


# Typed as the function it is inside compiled code, not as the code generator above.
first_of: Callable[[Any], Any] = cast(Any, _address_of)
"""The address of an array's first number."""
