"""First units of arms are noted, and enter their arm at once when they are enough, where policies look.

Whoever looks at contexts reads provisional designs in the start, and of data nothing at all until an arm has
d + 1 units. Were these to enter its triangle one by one, all threads of a large team would wait for one root
and quotient after the other. So they pass through it in a pipeline (pipeline.py), as in trials whose first
units are dealt at once; but arm by arm, each when it has enough. A trial must have enough for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from equipoise.core.arms.least_squares import observe_at_once
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.memory import Assembler
from equipoise.lab.gpu.teams.lanes import LANES, Team, number_of, team_size, wait
from equipoise.lab.gpu.teams.opening import arm_opener
from equipoise.lab.gpu.teams.pipeline import pass_lines


def noting_pays(team: Team) -> bool:
    """Whether so many threads gain by it: trials of a warp, which have enough at different times, wait."""
    return team.size > LANES


def entering(relink: Relinker) -> Any:
    """What becomes of an outcome: of the state, the place, the unit, the arm and what came. It enters."""
    observe = relink(observe_at_once)

    def take_in(state: Any, place: int, t: int, i: int, y: float) -> None:
        observe(state, t, i, y)

    return Kernel(take_in, inline=True)


def noted(relink: Relinker, assemblers: Mapping[str, Assembler]) -> Any:
    """The same where first ones are noted."""
    observe, room_of = relink(observe_at_once), assemblers["room"].handle()
    # What happens once an arm is apart from the loop over the units, and finds its arrays by itself.
    open_arm = Kernel(_opening(relink, assemblers), inline=False)
    thread = number_of("tid")

    def take_in(state: Any, place: int, t: int, i: int, y: float) -> None:
        arm, dim = state.arms[i], state.coefs.shape[1]
        before = arm.observed
        if before > dim:
            observe(state, t, i, y)
            return
        local = thread() // team_size()
        room, k = room_of(place, local), i * (dim + 1) + before
        room.units[k] = t
        room.answers[k] = y
        arm.pending -= 1
        arm.observed = before + 1
        if before == dim:
            open_arm(place, local, i)

    return Kernel(take_in, inline=True)


def _opening(relink: Relinker, assemblers: Mapping[str, Assembler]) -> Callable[..., None]:
    state_of, world_of, room_of = (assemblers[group].handle() for group in ("state", "world", "room"))
    begin = Kernel(arm_opener(relink), inline=True)

    def apart_open(place: int, local: int, i: int) -> None:
        state, room = state_of(place, local), room_of(place, local)
        wait()
        pass_lines(
            *(state.factors, state.coefs, world_of(place, local).contexts, place),
            *(room.units, room.answers, room.pivots, room.lefts, i, i + 1),
        )
        wait()
        begin(state, i, room)
        wait()

    return apart_open
