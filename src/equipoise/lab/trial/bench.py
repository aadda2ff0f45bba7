"""Trials of several policies in one scenario, on the same draws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.choice.ties import new_ties
from equipoise.core.estimates.estimators import RIDGE
from equipoise.core.estimates.robust import ROBUST
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.stages.stage import Stage, first_stage, next_stage
from equipoise.lab.trial.blocks import run_in_blocks
from equipoise.lab.trial.calendar.stopping import run_with_looks
from equipoise.lab.trial.ending import Ending
from equipoise.lab.trial.judge import Judge, judge_coefs, judge_intervals, new_judge
from equipoise.lab.trial.ledger import Ledger
from equipoise.lab.trial.opening import room_for
from equipoise.lab.trial.robust import judge_robust
from equipoise.lab.trial.rule import rule_of
from equipoise.lab.trial.run import run_stage, start_trial
from equipoise.lab.trial.trials import run_trials
from equipoise.lab.trial.world import Draws

if TYPE_CHECKING:
    from equipoise.lab.scenario import Scenario

# Normals that are drawn when an arm has used up its noise: that interrupts a decision, so not every fourth.
_NOISE_AT_ONCE = 16


class ScenarioBench:
    """Everything one worker needs to run trials of some policies; nothing is shared between two of them."""

    def __init__(self, scenario: Scenario, policies: Sequence[Policy], seed: int) -> None:
        self.draws = Draws(scenario, seed, noise_at_once=_NOISE_AT_ONCE)
        self.seats = [ScenarioSeat(scenario, policy, seed, self.draws) for policy in policies]

    def __call__(self, first: int, ledgers: Sequence[Ledger]) -> Vector:
        """Run trials ``first``, … of every policy until its ledger is full; seconds of each."""
        draws = self.draws
        return run_in_blocks(self.seats, first, ledgers, block=draws.block, draw=draws.draw)


class ScenarioSeat:
    """One policy in a scenario, ready for any trial."""

    def __init__(self, scenario: Scenario, policy: Policy, seed: int, draws: Draws) -> None:
        self._problem, self._seed, self._world = scenario.problem(), seed, draws.world
        self._scenario, self._course = scenario, draws.course
        self.policy = policy.informed(scenario.noise)
        self._moment = scenario.true_moment()
        self._ending = Ending(
            self._problem, self.policy, seed, estimator=scenario.estimator, ridge=scenario.ridge
        )
        self.judge = self._judge_of(self._moment)
        self.ties = new_ties(self._problem.arms)
        staged = isinstance(self.policy, StagedPolicy)
        self._robust = scenario.intervals == ROBUST
        calendar = scenario.accrual is not None or scenario.stop is not None
        self._in_one_loop = scenario.estimator == RIDGE and not (staged or self._robust or calendar)
        self._stopped = math.nan
        self.ridge = self._ending.ridge
        if not staged:
            self.stage = self._first_stage(self.policy)
            """The last one of the last trial."""
            self._room = room_for(self.stage.state)

    def run(self, numbers: range, ledger: Ledger, row: int) -> None:
        """Run trials that the world has drawn; fill the ledger from ``row`` on."""
        if self._in_one_loop:
            state, rule, trials = self.stage.state, rule_of(self.stage), slice(numbers.start, numbers.stop)
            run_trials(state, rule, self.ties, self._world, self.judge, ledger, trials, row, self._room)
            return
        for place, number in enumerate(numbers):
            self.run_one(place, number)
            self._judge_trial(place, ledger, row + place)

    def run_one(self, place: int, number: int) -> None:
        """Run the trial at some place of the block, from its first stage to its last."""
        policy, world = self.policy, self._world
        if isinstance(policy, StagedPolicy):
            policy = policy.shown(np.flatnonzero(np.any(world.coefs[place] != 0.0, axis=0)))
            self.stage = self._first_stage(policy)
        start_trial(self.stage.state, self.ties, world, place, number)
        if self._scenario.stop is not None:
            estimator, ridge = self._scenario.estimator, self._scenario.ridge
            self._stopped = run_with_looks(
                self.stage, world, self._scenario.stop, estimator=estimator, ridge=ridge
            )
            return
        while run_stage(self.stage.state, rule_of(self.stage), world):
            assert isinstance(policy, StagedPolicy)
            contexts = world.contexts[place]
            self.stage = next_stage(
                self.stage, contexts, self._problem, policy, self._seed, reuse=policy.reuses
            )

    def _judge_trial(self, place: int, ledger: Ledger, row: int) -> None:
        """Write a row of the ledger, from the estimates that an experiment would give."""
        contexts, truth = self._world.contexts[place], self._world.coefs[place]
        counts = self.stage.state.arms["count"] + self.stage.state.arms["set_aside"]
        coefs = self._ending.own_coefs(self.stage, contexts)
        if coefs is None:
            last = self._ending.last_stage(self.stage, contexts)
            stages = self._ending.stages(last, contexts)
            self._judge_intervals(stages, truth, ledger, row)
            coefs = self._ending.coefs(stages, contexts)
            if not last.whole:
                chosen = np.unique(np.concatenate([stage.columns for stage in stages]))
                _judge_support(chosen, truth, ledger.support[row])
        ledger.counts[row] = counts
        state = self.stage.state
        ledger.course[row] = state.trial["step"][0], *self._course.ends(place, state), self._stopped
        judge_coefs(self.judge, coefs, truth, ledger.errors[row])

    def _judge_intervals(self, stages: Sequence[Stage], truth: Matrix, ledger: Ledger, row: int) -> None:
        """Coverage of the intervals of the features that the models have."""
        for stage in {id(stage): stage for stage in stages}.values():
            if stage.problem.dim == 0:
                continue
            judge, there = self.judge, truth
            if not stage.whole:
                judge = self._judge_of(self._moment[np.ix_(stage.columns, stage.columns)])
                there = np.ascontiguousarray(truth[:, stage.columns])
            # What is not judged, among very many arms, is not a number.
            covered, plainly = np.full(len(stages), np.nan), np.full(len(stages), np.nan)
            judge_intervals(stage.state, rule_of(stage), judge, there, covered, plainly)
            if self._robust and judge.intervals[0]:
                judge_robust(stage.state, judge.elasticities, there, covered, plainly)
            mine = [each is stage for each in stages]
            ledger.coverage[row, mine], ledger.plain_coverage[row, mine] = covered[mine], plainly[mine]

    def _first_stage(self, policy: Policy) -> Stage:
        return first_stage(self._problem, policy, self._seed, capacity=self._problem.units)

    def _judge_of(self, moment: Matrix) -> Judge:
        return new_judge(len(self._problem.arms), self._problem.units, self._ending.ridge, moment)


def _judge_support(columns: Counts, truth: Matrix, found: Counts) -> None:
    """Features that matter and were missed, and features that do not and were chosen."""
    matters = np.any(truth != 0.0, axis=0)
    chosen = np.zeros(len(matters), bool)
    chosen[columns] = True
    found[0], found[1] = np.count_nonzero(matters & ~chosen), np.count_nonzero(chosen & ~matters)
