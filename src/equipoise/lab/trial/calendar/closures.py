"""Arms that are closed for some units of a trial."""

from __future__ import annotations

from equipoise.core.arms.state import State
from equipoise.core.jit.decorators import compiled, only_where
from equipoise.core.jit.handles import Handle
from equipoise.core.problem.costs import NO_CAP
from equipoise.lab.trial.world import World


def _closes(world: Handle) -> bool:
    """Whether worlds of this type close arms."""
    return bool(world.field("closures").ndim == 3)


@only_where(_closes)
@compiled
def close_arms(world: World, state: State) -> None:
    """Open and close arms as the next unit finds them, as ``close_arm`` and ``reopen_arm`` do."""
    clock = world.clock[0]
    closures = world.closures[clock.place]
    changes = clock.unit == 0  # the trial before may have left some closed
    for k in range(closures.shape[0]):
        changes = changes or closures[k, 1] == clock.unit or closures[k, 2] == clock.unit
    if not changes:
        return
    for i in range(state.arms.shape[0]):
        state.arms[i].open = 1
    for k in range(closures.shape[0]):
        if closures[k, 1] <= clock.unit < closures[k, 2]:
            state.arms[closures[k, 0]].open = 0
    limited = False
    for i in range(state.arms.shape[0]):
        arm = state.arms[i]
        limited = limited or not arm.open or arm.cost != 1.0 or arm.floor > 0 or arm.cap < NO_CAP
    state.trial[0].limited = limited
