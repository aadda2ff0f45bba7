"""Trials of policies that choose features: compiled from one choice to the next.

The stages are those of :mod:`equipoise.core.stages.stage`, which an experiment goes through as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise.core.arms import least_squares as kernel
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.draws.streams import Stream, new_stream
from equipoise.core.estimates.shrinkage import METHODS, new_room
from equipoise.core.jit.decorators import compiled
from equipoise.core.policies.base.staged import Columns, StagedPolicy
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.fresh import number_trial
from equipoise.core.stages.stage import (
    Stage,
    final_stage,
    first_stage,
    is_due,
    next_stage,
    own_coefs,
)
from equipoise.lab.arrivals import deliver, next_arrival
from equipoise.lab.finish import judge_of_columns, ridge_coefs_of_stage
from equipoise.lab.scenario import Scenario
from equipoise.lab.trials import CONFIDENCE, MOST_ARMS_WITH_COVERAGE, Counts, Ledger, judge_trial, next_unit
from equipoise.lab.verdict import Judge, judge_coefs, new_judge
from equipoise.lab.world import (
    World,
    draw_any_truth,
    draw_contexts,
    draw_delay,
    draw_shocks,
    new_world,
)

# Places of what the loop remembers between two stages.
_UNIT, _OLDEST, _LAST, _BUDGET = range(4)


@dataclass(frozen=True, eq=False)
class StagedBench:
    """Everything one worker needs to run trials of one policy."""

    problem: Problem
    policy: StagedPolicy
    seed: int
    method: str | None  # how coefficients are estimated, where not by the judge's fixed λ
    moment: Matrix  # true Σ
    world: World
    judge: Judge  # of all features
    stream: Stream
    contexts: Matrix  # [n, d]
    scores: Vector  # [m]
    pulls: Counts  # [m] noise values used up
    due: Counts  # [n] step at which an outcome arrives
    clock: Counts


def new_staged_bench(scenario: Scenario, policy: StagedPolicy, seed: int) -> StagedBench:
    """Arrays for trials of ``policy`` on ``scenario``; nothing is shared between two of them."""
    problem = scenario.problem()
    informed = policy.informed(scenario.noise)
    assert isinstance(informed, StagedPolicy)
    method = scenario.ridge if isinstance(scenario.ridge, str) else None
    ridge = 1.0 / problem.units if scenario.ridge is None or method else float(scenario.ridge)
    moment = scenario.true_moment()
    m = len(problem.arms)
    return StagedBench(
        problem=problem,
        policy=informed,
        seed=seed,
        method=method,
        moment=moment,
        world=new_world(scenario, seed),
        judge=new_judge(problem.dim, problem.units, ridge, moment, CONFIDENCE),
        stream=new_stream(),
        contexts=np.zeros((problem.units, problem.dim)),
        scores=np.zeros(m),
        pulls=np.zeros(m, np.int64),
        due=np.zeros(problem.units, np.int64),
        clock=np.zeros(4, np.int64),
    )


def run_staged_trials(bench: StagedBench, first: int, ledger: Ledger) -> None:
    """Run trials ``first``, ``first`` + 1, … until the ledger is full."""
    for k in range(len(ledger.errors)):
        stage = run_staged_trial(bench, first + k)
        _judge(bench, stage, ledger, k)


def run_staged_trial(bench: StagedBench, number: int) -> Stage:
    """Run one trial; its last stage."""
    draw_any_truth(bench.world, bench.stream, number)
    draw_contexts(bench.world, bench.stream, number, bench.contexts)
    draw_shocks(bench.world, bench.stream, number)
    policy = bench.policy.shown(np.flatnonzero(np.any(bench.world.coefs != 0.0, axis=0)))
    stage = first_stage(bench.problem, policy, bench.seed, capacity=bench.problem.units)
    number_trial(stage.state, bench.problem, number)
    bench.pulls[:] = 0
    bench.clock[:] = (0, 0, bench.problem.units, bench.problem.units)
    while _run_stage(
        stage.state,
        stage.columns,
        bench.contexts,
        bench.world,
        bench.stream,
        stage.score,
        stage.settings,
        bench.scores,
        bench.pulls,
        bench.due,
        bench.clock,
        stage.needed,
        stage.needed_in_all,
        stage.reserve,
        number,
    ):
        stage = next_stage(stage, bench.contexts, bench.problem, policy, bench.seed, reuse=policy.reuse)
    return stage


@compiled
def _run_stage(
    state: State,
    columns: Columns,
    contexts: Matrix,
    world: World,
    stream: Stream,
    score: int,
    settings: Vector,
    scores: Vector,
    pulls: Counts,
    due: Counts,
    clock: Counts,
    needed: npt.NDArray[np.int64],
    needed_in_all: int,
    reserve: float,
    trial: int,
) -> bool:
    """Run until the next stage is due, or nothing is left to wait for: then the answer is False.

    Outcomes arrive at once, late or never; after the last unit all that will come are waited for.
    """
    t, oldest, last, budget = clock[_UNIT], clock[_OLDEST], clock[_LAST], clock[_BUDGET]
    while t < last:
        if t < budget:
            if is_due(state, needed, needed_in_all, reserve):
                clock[_UNIT], clock[_OLDEST], clock[_LAST], clock[_BUDGET] = t, oldest, last, budget
                return True
            if not kernel.is_settled(state):
                kernel.settle(state)
            for c in range(columns.shape[0]):
                state.contexts[t, c] = contexts[t, columns[c]]
            i = next_unit(state, world, stream, score, settings, scores, pulls, contexts, trial, t)
            if i < 0:
                budget = t
            else:
                pulls[i] += 1
                due[t] = t + draw_delay(world, stream, trial, t)
                last = max(last, due[t] + 1)
        oldest = deliver(state, world, stream, due, trial, t, oldest, budget)
        t += 1
        if t >= budget:
            t = next_arrival(due, t, oldest, last, budget)
    if not kernel.is_settled(state):
        kernel.settle(state)
    return False


def _judge(bench: StagedBench, stage: Stage, ledger: Ledger, k: int) -> None:
    """Write row k of the ledger, from the estimates that an experiment would give."""
    truth = bench.world.coefs
    ledger.counts[k] = stage.state.arms["count"] + stage.state.arms["set_aside"]
    coefs = own_coefs(stage, bench.contexts, bench.policy)
    if coefs is None:
        stage = final_stage(stage, bench.contexts, bench.problem, bench.policy, bench.seed)
        judge = judge_of_columns(bench.judge, bench.moment, stage)
        if stage.problem.dim > 0:
            _judge_intervals(stage, judge, truth, ledger, k)
        coefs = ridge_coefs_of_stage(stage, judge, bench.problem.dim)
        if bench.method is not None:
            room = new_room(stage.state, bench.problem.units)
            METHODS[bench.method](stage.state, room)
            coefs[:, stage.columns] = room.coefs
        _judge_support(stage.columns, truth, ledger.support[k])
    judge_coefs(bench.judge, coefs, truth, ledger.errors[k])


def _judge_intervals(stage: Stage, judge: Judge, truth: Matrix, ledger: Ledger, k: int) -> None:
    """Coverage of the intervals of the features that the models have."""
    m = len(stage.state.arms)
    judge_trial(
        stage.state,
        judge,
        stage.score,
        stage.settings,
        stage.state.arms.copy(),
        np.zeros(m),
        np.ascontiguousarray(truth[:, stage.columns]),
        np.zeros((1, m)),
        np.zeros((1, m), np.int64),
        ledger.coverage[k : k + 1],
        ledger.plain_coverage[k : k + 1],
        0,
        m <= MOST_ARMS_WITH_COVERAGE,
    )


def _judge_support(columns: Columns | None, truth: Matrix, found: npt.NDArray[np.int64]) -> None:
    """Features that matter and were missed, and features that do not and were chosen."""
    matters = np.any(truth != 0.0, axis=0)
    chosen = np.zeros(len(matters), bool)
    chosen[columns] = True
    found[0], found[1] = np.count_nonzero(matters & ~chosen), np.count_nonzero(chosen & ~matters)
