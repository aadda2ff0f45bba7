"""Replayed trials: the functions that an experiment calls, on the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from equipoise.core.arms.least_squares import is_settled, observe_at_once, settle
from equipoise.core.arms.rebuild import clear
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.choice.ties import Ties, new_ties, order_arms
from equipoise.core.estimates.estimators import RIDGE
from equipoise.core.jit.decorators import compiled
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.stages.stage import Stage, first_stage, next_stage
from equipoise.lab.replay.rows import (
    Rows,
    deal,
    held_out_error,
    new_rows,
    place_truth,
    read_outcome,
    start_clock,
)
from equipoise.lab.trial.blocks import run_in_blocks
from equipoise.lab.trial.ending import Ending
from equipoise.lab.trial.judge import Judge, new_judge, squared_distance
from equipoise.lab.trial.ledger import Ledger
from equipoise.lab.trial.rule import Rule, decide_by_rule, next_is_due, rule_of

if TYPE_CHECKING:
    from equipoise.lab.replay.arena import ReplayArena


class ReplayBench:
    """Everything one worker needs to replay trials of some policies; the table itself is shared."""

    def __init__(self, arena: ReplayArena, policies: Sequence[Policy], seed: int) -> None:
        zeroes = arena.scenario.estimator == RIDGE
        self.rows = new_rows(arena.rows, arena.fit, arena.units, zeroes=zeroes)
        self.seats = [ReplaySeat(arena, policy, seed, self.rows) for policy in policies]
        self._seed = seed

    def __call__(self, first: int, ledgers: Sequence[Ledger]) -> Vector:
        """Run trials ``first``, … of every policy until its ledger is full; seconds of each."""
        draw = partial(deal, self.rows, self._seed)
        return run_in_blocks(self.seats, first, ledgers, block=len(self.rows.dealt), draw=draw)


class ReplaySeat:
    """One policy in a replay, ready for any trial."""

    def __init__(self, arena: ReplayArena, policy: Policy, seed: int, rows: Rows) -> None:
        scenario = arena.scenario
        self._problem, self._seed, self._rows = arena.problem(), seed, rows
        self._policy = policy.informed(arena.noise)
        self._ending = Ending(
            self._problem, self._policy, seed, estimator=scenario.estimator, ridge=scenario.ridge
        )
        m, units = len(self._problem.arms), self._problem.units
        self._judge = new_judge(m, units, self._ending.ridge, arena.fit.moment)
        self._ties = new_ties(self._problem.arms)
        self.stage = self._first_stage()
        """The last one of the last trial."""

    def run(self, numbers: range, ledger: Ledger, row: int) -> None:
        """Replay trials that were dealt; fill the ledger from ``row`` on."""
        for place, number in enumerate(numbers):
            self.run_one(place, number)
            self._measure(place, ledger, row + place)

    def run_one(self, place: int, number: int) -> None:
        """Replay the trial at some place of the block, from its first stage to its last."""
        policy, rows = self._policy, self._rows
        if isinstance(policy, StagedPolicy):
            self.stage = self._first_stage()
        _start_trial(self.stage.state, self._ties, rows, place, number)
        while run_stage(self.stage.state, rule_of(self.stage), rows):
            assert isinstance(policy, StagedPolicy)
            self.stage = next_stage(
                self.stage, rows.features[place], self._problem, policy, self._seed, reuse=policy.reuses
            )

    def _measure(self, place: int, ledger: Ledger, row: int) -> None:
        """Write a row of the ledger; coverage is left unknown."""
        ledger.counts[row] = self.stage.state.arms["count"] + self.stage.state.arms["set_aside"]
        ledger.course[row, 0] = self.stage.state.trial["step"][0]
        contexts = self._rows.features[place]
        coefs = self._ending.own_coefs(self.stage, contexts)
        if coefs is None:
            last = self._ending.last_stage(self.stage, contexts)
            coefs = self._ending.coefs(self._ending.stages(last, contexts), contexts)
        _measure(self._rows, self._judge, coefs, ledger.errors[row])

    def _first_stage(self) -> Stage:
        return first_stage(self._problem, self._policy, self._seed, capacity=self._problem.units)


@compiled
def run_stage(state: State, rule: Rule, rows: Rows) -> bool:
    """Run until the next stage is due, or the budget is spent: then the answer is False."""
    clock = rows.clock[0]
    while clock.unit < rows.dealt.shape[1]:
        if next_is_due(state, rule):
            return True
        t = clock.unit
        for c in range(rule.columns.shape[0]):
            state.contexts[t, c] = rows.features[clock.place, t, rule.columns[c]]
        arm = decide_by_rule(state, rule)
        observe_at_once(state, t, arm, read_outcome(rows, t, arm, state.arms[arm].assigned == 1))
        clock.unit += 1
    if not is_settled(state):
        settle(state)
    return False


@compiled
def _start_trial(state: State, ties: Ties, rows: Rows, place: int, number: int) -> None:
    clear(state, number)
    order_arms(state, ties, rows.stream)
    start_clock(rows, place)


@compiled
def _measure(rows: Rows, judge: Judge, coefs: Matrix, errors: Vector) -> None:
    """Write every arm's error on the rows that were not dealt."""
    for i in range(errors.shape[0]):
        place_truth(rows, i)
        excess = squared_distance(judge.error_root, coefs[i], rows.truth[i])
        errors[i] = held_out_error(rows, coefs[i], excess, i)
