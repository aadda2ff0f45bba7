"""Trials as one compiled loop over the very functions that :class:`equipoise.Experiment` calls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core import arms as kernel
from equipoise.core.choice import choose
from equipoise.core.compiled import compiled, inlined
from equipoise.core.experiment import trial_state
from equipoise.core.intervals import elasticities
from equipoise.core.layout import Matrix, State, Vector
from equipoise.core.policy import Policy, score_address
from equipoise.lab.random import Stream, new_stream
from equipoise.lab.scenario import Scenario
from equipoise.lab.verdict import Judge, judge_arms, new_judge
from equipoise.lab.world import (
    World,
    draw_contexts,
    draw_delay,
    draw_outcome,
    draw_shocks,
    draw_truth,
    is_lost,
    new_world,
)

CONFIDENCE = 0.95
# Beyond this many arms the elasticities that intervals need would cost more than the trial.
_MOST_ARMS_WITH_COVERAGE = 50

Counts = npt.NDArray[np.int64]


class Ledger(NamedTuple):
    """What every trial ended with; rows are trials, columns arms."""

    errors: Matrix
    counts: Counts
    coverage: Matrix  # share of coefficients inside their intervals; nan where not computed
    plain_coverage: Matrix  # the same for t intervals without correction


class Bench(NamedTuple):
    """Everything one worker needs to run trials of one policy."""

    state: State
    world: World
    judge: Judge
    stream: Stream
    score: int
    settings: Vector
    scores: Vector
    pulls: Counts  # [m] noise values used up
    due: Counts  # [n] step at which an outcome arrives
    elasticities: Vector


def new_bench(scenario: Scenario, policy: Policy, seed: int) -> Bench:
    """Arrays for trials of ``policy`` on ``scenario``; nothing is shared between two of them."""
    problem = scenario.problem()
    policy = policy.informed(scenario.noise)
    state = trial_state(problem, policy, seed, capacity=problem.budget)
    ridge = 1.0 / problem.budget if scenario.ridge is None else scenario.ridge
    m = len(problem.arms)
    return Bench(
        state=state,
        world=new_world(scenario, seed),
        judge=new_judge(problem.dim, problem.budget, ridge, scenario.true_moment(), CONFIDENCE),
        stream=new_stream(),
        score=score_address(policy),
        settings=np.ascontiguousarray(policy.settings(problem), dtype=float),
        scores=np.zeros(m),
        pulls=np.zeros(m, np.int64),
        due=np.zeros(problem.budget, np.int64),
        elasticities=np.zeros(m),
    )


def new_ledger(trials: int, arms: int) -> Ledger:
    """Room for the results of some trials."""
    shape = (trials, arms)
    return Ledger(np.zeros(shape), np.zeros(shape, np.int64), np.full(shape, np.nan), np.full(shape, np.nan))


def run_trials(bench: Bench, first: int, ledger: Ledger) -> None:
    """Run trials ``first``, ``first`` + 1, … until the ledger is full."""
    late = bool(bench.world.setting["delay"][0]) or bench.world.setting["lost"][0] > 0.0
    run = _run_late if late else _run_prompt
    for k in range(len(ledger.errors)):
        kernel.clear(bench.state)
        draw_truth(bench.world, bench.stream, first + k)
        draw_contexts(bench.world, bench.stream, first + k, bench.state.contexts)
        draw_shocks(bench.world, bench.stream, first + k)
        bench.pulls[:] = 0
        run(
            bench.state,
            bench.world,
            bench.stream,
            bench.score,
            bench.settings,
            bench.scores,
            bench.pulls,
            bench.due,
            first + k,
        )
        _judge(bench, ledger, k)


@compiled
def _run_prompt(
    state: State,
    world: World,
    stream: Stream,
    score: int,
    settings: Vector,
    scores: Vector,
    pulls: Counts,
    due: Counts,
    trial: int,
) -> None:
    """Outcomes arrive at once."""
    for t in range(due.shape[0]):
        # Averages the variances; with outcomes at once nothing is ever unsettled.
        kernel.is_settled(state)
        i = _next_unit(state, world, stream, score, settings, scores, pulls, trial, t)
        kernel.observe(state, t, state.outcomes[t])
        pulls[i] += 1


@compiled
def _run_late(
    state: State,
    world: World,
    stream: Stream,
    score: int,
    settings: Vector,
    scores: Vector,
    pulls: Counts,
    due: Counts,
    trial: int,
) -> None:
    """Outcomes arrive late, or never; after the last unit all that will come are waited for."""
    budget = due.shape[0]
    oldest = 0  # every row before it is closed
    last = budget
    t = 0
    while t < last:
        if t < budget:
            if not kernel.is_settled(state):
                kernel.settle(state)
            i = _next_unit(state, world, stream, score, settings, scores, pulls, trial, t)
            pulls[i] += 1
            due[t] = t + draw_delay(world, stream, trial, t)
            last = max(last, due[t] + 1)
        open_from = min(t + 1, budget)
        for row in range(min(t, budget - 1), oldest - 1, -1):
            if due[row] > t:
                open_from = row
        for row in range(oldest, min(t + 1, budget)):
            if due[row] == t:
                if is_lost(world, stream, trial, row):
                    kernel.lose(state, row)
                else:
                    kernel.observe(state, row, state.outcomes[row])
        oldest = open_from
        t += 1
    if not kernel.is_settled(state):
        kernel.settle(state)


@inlined
def _next_unit(
    state: State,
    world: World,
    stream: Stream,
    score: int,
    settings: Vector,
    scores: Vector,
    pulls: Counts,
    trial: int,
    t: int,
) -> int:
    """Choose the arm of unit t and put its outcome aside; return the arm."""
    i = choose(state, score, settings, scores)
    kernel.assign(state, i)
    state.outcomes[t] = draw_outcome(world, stream, trial, t, i, pulls[i], state.contexts)
    return i


def _judge(bench: Bench, ledger: Ledger, k: int) -> None:
    state = bench.state
    ledger.counts[k] = state.arms["count"]
    judges_intervals = len(bench.scores) <= _MOST_ARMS_WITH_COVERAGE
    if judges_intervals:
        kernel.is_settled(state)
        bench.elasticities[:] = elasticities(state, bench.score, bench.settings)
    judge_arms(
        state,
        bench.judge,
        bench.world.coefs,
        bench.elasticities,
        judges_intervals,
        ledger.errors[k],
        ledger.coverage[k],
        ledger.plain_coverage[k],
    )
