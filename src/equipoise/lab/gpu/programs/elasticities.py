"""How far units follow variances when trials are over, read off a policy's own score.

That is all that intervals need of a policy, and it is read off records of arms alone. So this program serves
all numbers of features, and the one that judges (judging.py) serves all policies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils

from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arms.least_squares import is_settled
from equipoise.core.arms.state import State
from equipoise.core.arrays import Vector
from equipoise.core.choice import scoring
from equipoise.core.estimates import intervals
from equipoise.core.estimates.intervals import measure_elasticity
from equipoise.core.jit.bounded import open_bounded
from equipoise.core.jit.deferred import deferred
from equipoise.core.jit.handles import handled
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.gpu.programs.trials import Plan, copiers, first_of
from equipoise.lab.gpu.teams.lanes import (
    LANES,
    WARP,
    Team,
    member,
    number_of,
    of_member,
    team_size,
    use_threads,
    wait,
)
from equipoise.lab.trial.judge import Judge

_WORD = ir.IntType(64)


@handled
class Records(NamedTuple):
    """What a score may read of a trial that is over, and what becomes of it."""

    arms: npt.NDArray[Any]  # ARM[m]
    trial: npt.NDArray[Any]  # TRIAL[1]
    settings: Vector
    probe: npt.NDArray[Any]  # ARM[m] to try scores on
    elasticities: Vector  # [m]


SOURCES = {"arms": "state", "trial": "state", "settings": "rule", "elasticities": "judge"}
"""The groups in which trials have had these before."""


def records_of(state: State, settings: Vector, judge: Judge) -> Records:
    """The records of a trial."""
    return Records(state.arms, state.trial, settings, judge.probe, judge.elasticities)


def measuring_team(arms: int) -> Team:
    """A thread for every arm, as far as there are so many."""
    size = LANES
    while size < min(arms, WARP):
        size *= 2
    return Team(size)


def elasticity_program(plan: Plan) -> Callable[..., None]:
    """Writes the arms' elasticities: takes what is left free, how many trials there are, and nothing else."""
    assemblers = plan.assemblers()
    relink = Relinker()
    use_threads(relink)
    relink.replace(scoring.call_score, Kernel(_score_caller(plan.policy), inline=True))
    relink.replace(intervals.others_log_score, Kernel(_others_asker(plan.policy), inline=True))
    settle, measure = relink(is_settled), relink(measure_elasticity)
    _, copy_out = copiers(assemblers)
    records_of, keep = assemblers["records"].handle(held=True), assemblers["records"].keeper()
    thread, block, block_threads, blocks = map(number_of, ("tid", "ctaid", "ntid", "nctaid"))

    def measure_all(records: Any) -> None:
        wait()
        settle(records)
        arms, trial, found = records.arms, records.trial, records.elasticities
        _copy_records(arms, records.probe)
        step = trial[0].step
        # Where arms share a pool of variances, every one of them is tried in it: by all threads alike.
        first, stride = (0, 1) if trial[0].pools else (member(), team_size())
        for i in range(first, arms.shape[0], stride):
            found[i] = 0.0
        wait()
        if arms.shape[0] > 1:
            for ahead in range(2 * arms.shape[0] + 1):
                reacts = False
                for i in range(first, arms.shape[0], stride):
                    its_own = measure(arms, records.probe, i, trial[0], 0, records.settings, found)
                    reacts = reacts or its_own
                if _any(reacts):
                    break
                trial[0].step = step + ahead + 1
        trial[0].step = step
        wait()

    measured = Kernel(measure_all, inline=True)

    def run(free: int, count: int, nothing: int) -> None:
        size = team_size()
        local, teams = thread() // size, block_threads() // size
        for place in range(block() * teams + local, count, teams * blocks()):
            records = records_of(place, local)
            measured(records)
            keep(records, place, local)
            copy_out(place, local)
            wait()

    return run


def _score_caller(policy: Policy) -> Callable[..., None]:
    """What takes the place of a call through an address (choice/scoring.py): every thread scores all arms."""
    score = Kernel(type(policy).score, inline=True)

    def call_score(address: int, arms: Any, trial: Any, settings: Any, scores: Any) -> None:
        numbers = open_bounded(first_of(settings))
        starts = trial.forced_start and not trial.looks
        for i in range(arms.shape[0]):
            if starts and not arms[i].design_ready:
                scores[i] = np.inf
            else:
                scores[i] = score(arms[i], trial, numbers)

    return call_score


def _others_asker(policy: Policy) -> Callable[..., float]:
    """What takes the place of :func:`equipoise.core.estimates.intervals.others_log_score`."""
    score = Kernel(type(policy).score, inline=True)

    def ask(arms: Any, probes: Any, i: int, trial: Any, address: int, settings: Any, scored: Any) -> float:
        numbers, size = open_bounded(first_of(settings)), team_size()
        total, others = 0.0, 0
        wait()
        for first in range(0, arms.shape[0], size):
            j, mine = first + member(), np.nan
            if j < arms.shape[0] and j != i and arms[j].dof > 0 and arms[j].design_ready:
                probes[j].leverage = arms[j].trace
                found = score(probes[j], trial, numbers)
                if found > 0.0:
                    mine = log(found)
            wait()
            for k in range(min(size, arms.shape[0] - first)):
                its = of_member(mine, k)
                if its == its:
                    total += its
                    others += 1
        return total / max(others, 1)

    return ask


@deferred
def _any_thread(typing_context, condition):
    def generate(layout, context, builder, signature, arguments):
        return layout.team.any(builder, arguments[0])

    return types.boolean(types.boolean), generate


@deferred
def _copied(typing_context, source, target):
    def generate(layout, context, builder, signature, arguments):
        start, goal = (
            builder.bitcast(context.make_array(kind)(context, builder, array).data, _WORD.as_pointer())
            for kind, array in zip(signature.args, arguments, strict=True)
        )
        words = layout.groups["records"].arms.nbytes // 8
        own = builder.zext(layout.team.member(builder), _WORD)
        with cgutils.for_range_slice(builder, own, _WORD(words), _WORD(layout.team.size)) as (k, _):
            builder.store(builder.load(builder.gep(start, [k])), builder.gep(goal, [k]))

    return types.void(source, target), generate


# Typed as the functions they are inside compiled code, not as the code generators above.
_any: Any = _any_thread
"""Whether something holds for any thread of the trial."""
_copy_records: Any = _copied
"""Copy records as whole words, shared out among the threads."""
