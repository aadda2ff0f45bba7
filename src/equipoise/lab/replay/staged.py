"""Replays of policies that choose features, through the stages that an experiment goes through as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from equipoise.core.arms import least_squares as kernel
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.choice.highest_score import choose
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
from equipoise.lab.finish import judge_of_columns, ridge_coefs_of_stage
from equipoise.lab.replay.trials import (
    Counts,
    Deck,
    Rows,
    collect,
    deal,
    held_out_error,
    new_deck,
    new_rows,
    place_truth,
    read_context,
)
from equipoise.lab.trials import CONFIDENCE, Ledger
from equipoise.lab.verdict import Judge, new_judge, squared_distance

if TYPE_CHECKING:
    from equipoise.lab.replay.arena import ReplayArena


@dataclass(frozen=True, eq=False)
class StagedBench:
    """Everything one worker needs to replay trials of one policy; the table itself is shared."""

    problem: Problem
    policy: StagedPolicy
    seed: int
    rows: Rows
    deck: Deck
    judge: Judge  # of all features
    moment: Matrix
    contexts: Matrix  # [n, d]
    scores: Vector
    clock: Counts  # [1] units assigned


def new_staged_bench(arena: ReplayArena, policy: StagedPolicy, seed: int) -> StagedBench:
    """Arrays for trials of ``policy``."""
    problem = arena.problem()
    informed = policy.informed(arena.noise)
    assert isinstance(informed, StagedPolicy)
    return StagedBench(
        problem=problem,
        policy=informed,
        seed=seed,
        rows=new_rows(arena.rows, arena.fit),
        deck=new_deck(arena.rows, problem.units, seed),
        judge=new_judge(problem.dim, problem.units, 1.0 / problem.units, arena.fit.moment, CONFIDENCE),
        moment=arena.fit.moment,
        contexts=np.zeros((problem.units, problem.dim)),
        scores=np.zeros(len(problem.arms)),
        clock=np.zeros(1, np.int64),
    )


def run_staged_trials(bench: StagedBench, first: int, ledger: Ledger) -> None:
    """Run trials ``first``, ``first`` + 1, … until the ledger is full; coverage is left unknown."""
    for k in range(len(ledger.errors)):
        stage = run_staged_trial(bench, first + k)
        ledger.counts[k] = stage.state.arms["count"] + stage.state.arms["set_aside"]
        coefs = own_coefs(stage, bench.contexts, bench.policy)
        if coefs is None:
            stage = final_stage(stage, bench.contexts, bench.problem, bench.policy, bench.seed)
            judge = judge_of_columns(bench.judge, bench.moment, stage)
            coefs = ridge_coefs_of_stage(stage, judge, bench.problem.dim)
        _measure(bench.rows, bench.deck, bench.judge, bench.contexts, coefs, ledger.errors[k])


def run_staged_trial(bench: StagedBench, number: int) -> Stage:
    """Replay one trial; its last stage. The deck stays dealt until errors are measured."""
    stage = first_stage(bench.problem, bench.policy, bench.seed, capacity=bench.problem.units)
    number_trial(stage.state, bench.problem, number)
    _begin(bench.rows, bench.deck, bench.contexts, number)
    bench.clock[:] = 0
    while _run_stage(
        stage.state,
        stage.columns,
        bench.contexts,
        bench.rows,
        bench.deck,
        stage.score,
        stage.settings,
        bench.scores,
        bench.clock,
        stage.needed,
        stage.needed_in_all,
        stage.reserve,
    ):
        stage = next_stage(
            stage, bench.contexts, bench.problem, bench.policy, bench.seed, reuse=bench.policy.reuse
        )
    return stage


@compiled
def _begin(rows: Rows, deck: Deck, contexts: Matrix, trial: int) -> None:
    deal(deck, trial)
    for i in range(rows.origin.shape[0]):
        rows.origin[i] = rows.target_shift[i]
    for t in range(deck.swapped.shape[0]):
        read_context(rows, deck.order[t], contexts, t)


@compiled
def _run_stage(
    state: State,
    columns: Columns,
    contexts: Matrix,
    rows: Rows,
    deck: Deck,
    score: int,
    settings: Vector,
    scores: Vector,
    clock: Counts,
    needed: npt.NDArray[np.int64],
    needed_in_all: int,
    reserve: float,
) -> bool:
    """Run until the next stage is due, or the budget is spent: then the answer is False."""
    for t in range(clock[0], deck.swapped.shape[0]):
        clock[0] = t
        if is_due(state, needed, needed_in_all, reserve):
            return True
        # Averages the variances; with outcomes at once nothing is ever unsettled.
        kernel.is_settled(state)
        for c in range(columns.shape[0]):
            state.contexts[t, c] = contexts[t, columns[c]]
        i = choose(state, score, settings, scores)
        kernel.assign(state, i)
        row = deck.order[t]
        if rows.constant[0] and state.arms[i].assigned == 1:
            # As in trials.py: an arm's first outcome is its zero.
            rows.origin[i] = rows.targets[row, i]
        kernel.observe(state, t, rows.targets[row, i] - rows.origin[i])
    kernel.is_settled(state)
    return False


@compiled
def _measure(rows: Rows, deck: Deck, judge: Judge, contexts: Matrix, coefs: Matrix, errors: Vector) -> None:
    """Write every arm's error on the rows that were not dealt, and put the deck back in order."""
    for i in range(errors.shape[0]):
        place_truth(rows, i)
        excess = squared_distance(judge.error_root, coefs[i], rows.truth[i])
        errors[i] = held_out_error(rows, deck, contexts, coefs[i], excess, i)
    collect(deck)
