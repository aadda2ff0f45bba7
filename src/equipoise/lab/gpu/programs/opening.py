"""What every team of threads does first, where nothing can change whose turn it is in the start.

Trials begin in a program of their own: other numbers of threads work on them there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from equipoise.core.arms import factor
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.programs.trials import Plan, itself
from equipoise.lab.gpu.teams.lanes import number_of, team_size, use_threads
from equipoise.lab.gpu.teams.opening import first_dealer, first_in_turns
from equipoise.lab.gpu.teams.triangles import use_triangles
from equipoise.lab.gpu.turns.sequence import first_as_known
from equipoise.lab.trial.run import start_trial


def opening_program(plan: Plan) -> Callable[..., None]:
    """Begins trials: takes the number of the first, how many there are, and what is left free.

    Which units are the first ones of the arms follows from the order of these, or was worked out before.
    """
    relink = Relinker()
    use_threads(relink)
    use_triangles(relink)
    relink.replace(factor.beside, Kernel(itself, inline=True))
    handles: Mapping[str, Any] = {group: each.handle() for group, each in plan.assemblers().items()}
    state_of, world_of, order_of, room_of = (handles[group] for group in ("state", "world", "order", "room"))
    source_of = handles["turns" if plan.by_arm else "world"]
    pick = Kernel(first_as_known if plan.by_arm else first_in_turns, inline=True)
    start, deal = relink(start_trial), Kernel(first_dealer(relink), inline=True)
    thread, block, block_threads, blocks = map(number_of, ("tid", "ctaid", "ntid", "nctaid"))

    def run(first: int, count: int, free: int) -> None:
        size = team_size()
        local, teams = thread() // size, block_threads() // size
        for place in range(block() * teams + local, count, teams * blocks()):
            state, world = state_of(place, local), world_of(place, local)
            start(state, order_of(place, local).ties, world, place, first + place)
            room = room_of(place, local)
            if pick(state, source_of(place, local), room):
                deal(state, world, room)

    return run
