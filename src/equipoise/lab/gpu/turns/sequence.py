"""Who gets which unit, by the policy's own score and the lab's own choice, on counts alone.

Every thread works out the turns of a trial by itself. Records have nothing but what such a score may read:
one that reads more is not compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import State
from equipoise.core.arrays import Counts, Vector
from equipoise.core.choice import eligible, highest_score, scoring
from equipoise.core.choice.ties import Ties, order_arms
from equipoise.core.draws.streams import Stream, new_stream
from equipoise.core.jit.bounded import open_bounded
from equipoise.core.jit.handles import handled
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.gpu.programs.trials import Plan, copiers, first_of
from equipoise.lab.gpu.teams.lanes import member, number_of, team_size, wait

_ARM = np.dtype(
    [("weight", "f8"), ("cost", "f8"), ("count", "i4"), ("order", "i4"), ("position", "i4")], align=True
)
"""What is read of an arm, see :data:`equipoise.core.arms.state.ARM`."""
_TRIAL = np.dtype(
    [
        *((name, "i8") for name in ("arms", "dim", "budget", "limited", "forced_start", "looks")),
        *((name, "i8") for name in ("seed", "number", "top", "chosen", "possible")),
        *((name, "f8") for name in ("money", "exponent", "propensity", "likeliest")),
    ],
    align=True,
)
"""And of a trial, or written by the choice."""


@handled
class Choice(NamedTuple):
    """What the lab's choice reads and writes, of a trial in which counts alone decide."""

    arms: npt.NDArray[Any]  # _ARM[m]
    trial: npt.NDArray[Any]  # _TRIAL[1]
    lots: npt.NDArray[np.uint64]  # [0, 0]: the policy neither looks nor weighs
    ties: Ties
    stream: Stream
    scores: Vector  # [m] scratch
    settings: Vector


@handled
class Turns(NamedTuple):
    """Who gets which unit in a trial."""

    dealt: Counts  # [n] the arm of every unit
    units: Counts  # [n] units, arm by arm, and as they come
    starts: Counts  # [m + 1] where an arm's units begin; the last one's end


def new_choice(state: State, settings: Vector, ties: Ties) -> Choice:
    """The same as a trial's state has it, before the first unit."""
    arms, trial = np.zeros(len(state.arms), _ARM), np.zeros(1, _TRIAL)
    for record, source in ((arms, state.arms), (trial, state.trial)):
        for name in record.dtype.names or ():
            record[name] = source[name]
    return Choice(arms, trial, state.lots, ties, new_stream(), np.zeros(len(arms)), settings)


def new_turns(arms: int, units: int, unit: npt.DTypeLike) -> Turns:
    """Room for the turns of a trial; numbers of units are of some type."""
    return Turns(np.zeros(units, unit), np.zeros(units, unit), np.zeros(arms + 1, unit))


def sequence_program(plan: Plan) -> Callable[..., None]:
    """Works out turns: takes the number of the first trial, how many there are, and what is left free."""
    assemblers = plan.assemblers()
    relink = Relinker()
    relink.replace(scoring.call_score, Kernel(_score_caller(plan.policy), inline=True))
    relink.replace(eligible.restrict, Kernel(_all_may_be_chosen, inline=True))
    choose, order = relink(highest_score.choose), relink(order_arms)
    copy_in, _ = copiers(assemblers)
    choice_of, turns_of = assemblers["choice"].handle(held=True), assemblers["turns"].handle()
    thread, block, threads, blocks = map(number_of, ("tid", "ctaid", "ntid", "nctaid"))

    def run(first: int, count: int, free: int) -> None:
        for place in range(block() * threads() + thread(), count, threads() * blocks()):
            copy_in(place, thread())
            choice, turns = choice_of(place, thread()), turns_of(place, thread())
            choice.trial[0].number = first + place
            order(choice, choice.ties, choice.stream)
            arms, units = choice.arms, turns.units.shape[0]
            for i in range(arms.shape[0]):
                arms[i].count = 0
            for t in range(units):
                arm = choose(choice, 0, choice.settings, choice.scores)
                turns.dealt[t] = arm
                arms[arm].count += 1
            end = 0
            for i in range(arms.shape[0]):
                turns.starts[i] = end
                end += arms[i].count
                arms[i].count = turns.starts[i]
            turns.starts[arms.shape[0]] = end
            for t in range(units):
                arm = turns.dealt[t]
                turns.units[arms[arm].count] = t
                arms[arm].count += 1

    return run


def _score_caller(policy: Policy) -> Callable[..., None]:
    """What takes the place of a call through an address (choice/scoring.py)."""
    score = Kernel(type(policy).score, inline=True)

    def call_score(address: int, arms: Any, trial: Any, settings: Any, scores: Any) -> None:
        numbers = open_bounded(first_of(settings))
        for i in range(arms.shape[0]):
            scores[i] = score(arms[i], trial, numbers)

    return call_score


def _all_may_be_chosen(choice: Any, scores: Any) -> bool:
    return True


def first_as_known(state: Any, turns: Any, room: Any) -> bool:
    """Write which units arms get first; whether all of them get enough to begin with."""
    arms, dim = state.coefs.shape
    each, enough = dim + 1, True
    for i in range(arms):
        enough = enough and turns.starts[i + 1] - turns.starts[i] >= each
    if not enough:
        return False
    wait()
    for place in range(member(), arms * each, team_size()):
        room.units[place] = turns.units[turns.starts[place // each] + place % each]
    wait()
    return True
