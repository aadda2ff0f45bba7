"""Trials of one policy with one budget, from the moment of the forecast to the end."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import State, copied
from equipoise.core.arrays import Counts, Matrix
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.settings import score_settings
from equipoise.core.policies.base.staged import StagedPolicy
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.stage import Stage, acting_policy, next_stage
from equipoise.lab.forecast.future import Outlook, expect_awaited, measure_errors, new_outlook, run_until
from equipoise.lab.forecast.losses import Fates
from equipoise.lab.forecast.truths import Truths
from equipoise.lab.trial.ending import Ending
from equipoise.lab.trial.rule import Rule, rule_of

# Given back before every trial; contexts of assigned units never change, and the others are scratch.
_RESTORED = ("arms", "trial", "factors", "coefs", "gains", "seen_factor", "lots", "memory", "plan", "spreads")


@dataclass(frozen=True, eq=False)
class Setup:
    """A policy and a budget to forecast: everything that its trials have in common."""

    policy: Policy
    problem: Problem
    """With all features, and that budget."""
    stage: Stage
    """The experiment as it stands."""
    seen: Matrix
    """[step, d] contexts of the units assigned, in all features."""
    truths: Truths
    fates: Fates
    contexts: Matrix
    """[rows, d] of which those to come are drawn."""
    error_root: Matrix
    """Lower C with Σ = CCᵀ: what errors are measured by."""
    looks: tuple[int, ...]
    """Units assigned when errors are looked at; the first is now, and the last the end."""
    coefs_now: Matrix
    """[m, d] estimates now."""
    estimator: str
    ridge: float | None


@dataclass(frozen=True, eq=False)
class Findings:
    """What trials of one setup found, one row each."""

    errors: npt.NDArray[np.float64]
    """[trials, looks, m] squared errors."""
    counts: Counts
    """[trials, m] units that every arm got from now on."""


def new_findings(trials: int, setup: Setup) -> Findings:
    """Room for some trials."""
    m = len(setup.stage.problem.arms)
    return Findings(np.zeros((trials, len(setup.looks), m)), np.zeros((trials, m), np.int64))


class Seat:
    """One setup, ready for any trial; nothing that changes is shared with another."""

    def __init__(self, setup: Setup, seed: int) -> None:
        self._setup, self._seed, self._policy = setup, seed, setup.policy
        self._first = setup.stage.state
        capacity = len(self._first.rows)
        state = copied(self._first, capacity)
        state = state._replace(contexts=self._first.contexts.copy())
        self._start = replace(setup.stage, state=state, settings=setup.stage.settings.copy())
        self._stage = self._start
        self._rule: Rule = rule_of(self._start)
        self._first_rule = self._rule
        self.outlook: Outlook = new_outlook(setup, capacity)
        step = int(self._first.trial["step"][0])
        self._step, self._assigned = step, self._first.arms["assigned"].copy()
        self._ending = Ending(setup.problem, setup.policy, seed, estimator=setup.estimator, ridge=setup.ridge)

    @property
    def state(self) -> State:
        """The trial at hand."""
        return self._stage.state

    def run(self, first: int, findings: Findings) -> None:
        """Run trials ``first``, … until the findings are full."""
        for k in range(len(findings.errors)):
            self.run_one(first + k, findings.errors[k])
            findings.counts[k] = self.state.arms["assigned"] - self._assigned

    def run_one(self, number: int, errors: Matrix) -> None:
        """Trial ``number``; writes one row of errors a look."""
        setup, outlook = self._setup, self.outlook
        self.begin(number)
        expect_awaited(self.state, outlook)
        measure_errors(outlook, setup.coefs_now, errors[0])
        last = len(setup.looks) - 1
        for look, units in enumerate(setup.looks[1:], 1):
            while run_until(self.state, self._rule, outlook, units, look == last):
                self._begin_stage()
            measure_errors(outlook, self._ending.estimated(self._stage, outlook.units), errors[look])

    def _begin_stage(self) -> None:
        """The stage that the next unit begins."""
        policy = self._policy
        assert isinstance(policy, StagedPolicy)
        self._stage = next_stage(
            self._stage, self.outlook.units, self._setup.problem, policy, self._seed, reuse=policy.reuses
        )
        self._rule = rule_of(self._stage)

    def begin(self, number: int) -> None:
        """The experiment as it stands, and the trial's truth; lots to come are the trial's own."""
        self._stage, self._rule = self._start, self._first_rule
        state, step = self.state, self._step
        for name in _RESTORED:
            np.copyto(getattr(state, name), getattr(self._first, name))
        for name in ("rows", "outcomes"):
            np.copyto(getattr(state, name)[:step], getattr(self._first, name)[:step])
        state.trial["seed"], state.trial["number"] = self._seed, number
        outlook, truths = self.outlook, self._setup.truths
        outlook.trial["seed"], outlook.trial["number"] = self._seed, number
        np.copyto(outlook.rates, self._setup.fates.rates[number])
        np.copyto(outlook.coefs, truths.coefs[number])
        np.copyto(outlook.deviations, truths.deviations[number])
        outlook.pulls[:] = 0
        policy = self._setup.policy
        told = policy.informed((outlook.deviations * outlook.deviations).tolist())
        if told is not policy:
            # An oracle without numbers is told those of the trial.
            acting = acting_policy(told, self._stage.columns if self._stage.chosen else None)
            self._rule.settings[:] = score_settings(acting, self._stage.problem)
            self._policy = self._ending.policy = told
