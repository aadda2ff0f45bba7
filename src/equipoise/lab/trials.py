"""Trials as one compiled loop over the very functions that :class:`equipoise.Experiment` calls."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arms import least_squares as kernel
from equipoise.core.arms.rebuild import clear
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.choice.highest_score import choose
from equipoise.core.choice.ties import Ties, new_ties, order_arms
from equipoise.core.draws.streams import Stream, new_stream
from equipoise.core.estimates.intervals import measure_elasticities
from equipoise.core.estimates.shrinkage import METHODS, Room, new_room
from equipoise.core.jit.decorators import compiled, inlined
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.scores import score_address
from equipoise.core.policies.base.settings import score_settings
from equipoise.core.stages.fresh import trial_state
from equipoise.lab.arrivals import deliver, next_arrival
from equipoise.lab.pieces import GAUSSIAN_CONTEXTS, GAUSSIAN_NOISE
from equipoise.lab.scenario import Scenario
from equipoise.lab.verdict import Judge, judge_arms, judge_coefs, new_judge
from equipoise.lab.world import (
    World,
    draw_any_truth,
    draw_contexts,
    draw_delay,
    draw_gaussian_contexts,
    draw_outcome,
    draw_shocks,
    draw_truth,
    new_world,
)

CONFIDENCE = 0.95
# Beyond this many arms the elasticities that intervals need would cost more than the trial.
MOST_ARMS_WITH_COVERAGE = 50

Counts = npt.NDArray[np.int64]


class Ledger(NamedTuple):
    """What every trial ended with; rows are trials, columns arms."""

    errors: Matrix
    counts: Counts
    coverage: Matrix  # share of coefficients inside their intervals; nan where not computed
    plain_coverage: Matrix  # the same for t intervals without correction
    support: Counts  # features that were missed, and that were too many; −1 where none are chosen


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
    probe: npt.NDArray[Any]  # ARM[m] to try scores on
    elasticities: Vector
    ties: Ties
    method: str | None  # how coefficients are estimated, where not by the judge's fixed λ
    room: Room | None


def new_bench(scenario: Scenario, policy: Policy, seed: int) -> Bench:
    """Arrays for trials of ``policy`` on ``scenario``; nothing is shared between two of them."""
    problem = scenario.problem()
    policy = policy.informed(scenario.noise)
    state = trial_state(problem, policy, seed, capacity=problem.units)
    method = scenario.ridge if isinstance(scenario.ridge, str) else None
    ridge = 1.0 / problem.units if scenario.ridge is None or method else float(scenario.ridge)
    m = len(problem.arms)
    return Bench(
        state=state,
        world=new_world(scenario, seed),
        judge=new_judge(problem.dim, problem.units, ridge, scenario.true_moment(), CONFIDENCE),
        stream=new_stream(),
        score=score_address(policy),
        settings=score_settings(policy, problem),
        scores=np.zeros(m),
        pulls=np.zeros(m, np.int64),
        due=np.zeros(problem.units, np.int64),
        probe=state.arms.copy(),
        elasticities=np.zeros(m),
        ties=new_ties(problem.arms),
        method=method,
        room=None if method is None else new_room(state, problem.units),
    )


def new_ledger(trials: int, arms: int) -> Ledger:
    """Room for the results of some trials."""
    shape = (trials, arms)
    return Ledger(
        np.zeros(shape),
        np.zeros(shape, np.int64),
        np.full(shape, np.nan),
        np.full(shape, np.nan),
        np.full((trials, 2), -1, np.int64),
    )


def run_trials(bench: Bench, first: int, ledger: Ledger) -> None:
    """Run trials ``first``, ``first`` + 1, … until the ledger is full."""
    setting = bench.world.setting[0]
    judges_intervals = len(bench.scores) <= MOST_ARMS_WITH_COVERAGE
    if setting["delay"] or setting["lost"] > 0.0:
        run = _run_late
    elif (
        setting["contexts"] != GAUSSIAN_CONTEXTS
        or setting["noise"] != GAUSSIAN_NOISE
        or bench.method is not None
        or setting["features"] >= 0
    ):
        run = _run_prompt
    else:
        _run_textbook(*bench[:-2], *ledger[:4], first, judges_intervals)
        return
    # Unusual worlds and estimates are put together here, so that only what they use is compiled.
    for k in range(len(ledger.errors)):
        clear(bench.state, first + k)
        order_arms(bench.state, bench.ties, bench.stream)
        draw_any_truth(bench.world, bench.stream, first + k)
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
        judge_trial(
            bench.state,
            bench.judge,
            bench.score,
            bench.settings,
            bench.probe,
            bench.elasticities,
            bench.world.coefs,
            *ledger[:4],
            k,
            judges_intervals,
        )
        if bench.method is not None and bench.room is not None:
            METHODS[bench.method](bench.state, bench.room)
            judge_coefs(bench.judge, bench.room.coefs, bench.world.coefs, ledger.errors[k])


@compiled
def _run_textbook(
    state: State,
    world: World,
    judge: Judge,
    stream: Stream,
    score: int,
    settings: Vector,
    scores: Vector,
    pulls: Counts,
    due: Counts,
    probe: npt.NDArray[Any],
    elasticities: Vector,
    ties: Ties,
    errors: Matrix,
    counts: Counts,
    coverage: Matrix,
    plain_coverage: Matrix,
    first: int,
    judges_intervals: bool,
) -> None:
    """Gaussian contexts and noise, outcomes at once: all trials in one compiled loop."""
    for k in range(errors.shape[0]):
        clear(state, first + k)
        order_arms(state, ties, stream)
        draw_truth(world, stream, first + k)
        draw_gaussian_contexts(world, stream, first + k, state.contexts)
        for i in range(pulls.shape[0]):
            pulls[i] = 0
        _run_prompt(state, world, stream, score, settings, scores, pulls, due, first + k)
        judge_trial(
            state,
            judge,
            score,
            settings,
            probe,
            elasticities,
            world.coefs,
            errors,
            counts,
            coverage,
            plain_coverage,
            k,
            judges_intervals,
        )


@inlined
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
        i = next_unit(state, world, stream, score, settings, scores, pulls, state.contexts, trial, t)
        if i < 0:
            break
        kernel.observe_at_once(state, t, state.outcomes[t])
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
            i = next_unit(state, world, stream, score, settings, scores, pulls, state.contexts, trial, t)
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


@inlined
def next_unit(
    state: State,
    world: World,
    stream: Stream,
    score: int,
    settings: Vector,
    scores: Vector,
    pulls: Counts,
    contexts: Matrix,
    trial: int,
    t: int,
) -> int:
    """Choose the arm of unit t and put its outcome aside; return the arm, −1 if none may be chosen.

    ``contexts`` have all features, of which the state may see some.
    """
    i = choose(state, score, settings, scores)
    if i < 0:
        return i
    kernel.assign(state, i)
    state.outcomes[t] = draw_outcome(world, stream, trial, t, i, pulls[i], contexts)
    return i


@inlined
def judge_trial(
    state: State,
    judge: Judge,
    score: int,
    settings: Vector,
    probe: npt.NDArray[Any],
    elasticities: Vector,
    truth: Matrix,
    errors: Matrix,
    counts: Counts,
    coverage: Matrix,
    plain_coverage: Matrix,
    k: int,
    judges_intervals: bool,
) -> None:
    """Write row k of the ledger."""
    if judges_intervals:
        kernel.is_settled(state)
        step = state.trial[0].step
        for i in range(probe.shape[0]):
            probe[i] = state.arms[i]
            elasticities[i] = 0.0
        # Looks at later steps, which come back with the line below.
        measure_elasticities(state.arms, probe, state.trial, score, settings, elasticities)
        state.trial[0].step = step
    for i in range(counts.shape[1]):
        counts[k, i] = state.arms[i].count
    judge_arms(state, judge, truth, elasticities, judges_intervals, errors[k], coverage[k], plain_coverage[k])
