"""The demo's trial: one simulated world, in which any number of policies can be tried."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Union

import numpy as np

from equipoise.core.arrays import Matrix
from equipoise.core.estimates.estimates import Estimates
from equipoise.core.experiment.experiment import Experiment
from equipoise.core.policies import Oracle
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.problem import Problem
from equipoise.core.theory import optimal_allocation, optimal_loss
from equipoise.studies.noise import UNEQUAL

if TYPE_CHECKING:
    from equipoise.live.experiment.experiment import LiveExperiment

# The unequal scenario of the paper's synthetic experiments.
NOISE = UNEQUAL
DIM = 10
NAME = "demo"
"""What the experiment in the store is called."""

AnyExperiment = Union[Experiment, "LiveExperiment"]


@dataclass(frozen=True)
class ArmResult:
    """What a trial found out about one arm, beside the truth."""

    arm: str
    units: int
    true_noise: float
    estimated_noise: float
    noise_interval: tuple[float, float]
    expected_error: float
    """By the estimates: what an experimenter would know."""
    actual_error: float
    """‖β̂ − β‖², which only a simulation knows."""
    covered: int
    """Coefficients whose interval covers the truth, of d."""


@dataclass(frozen=True)
class TrialResult:
    """All arms under one policy."""

    policy: str
    confidence: float
    arms: tuple[ArmResult, ...]

    @property
    def worst_expected(self) -> float:
        """The largest expected error."""
        return max(arm.expected_error for arm in self.arms)

    @property
    def worst_actual(self) -> float:
        """The largest actual error."""
        return max(arm.actual_error for arm in self.arms)


@dataclass(frozen=True)
class Comparison:
    """One policy against the uniform one on the same world, and what knowing the noise would give."""

    budget: int
    dim: int
    noise: tuple[float, ...]
    seed: int
    chosen: TrialResult
    uniform: TrialResult
    optimal_units: tuple[int, ...]
    optimal_loss: float


class World:
    """Contexts, true models and noise, drawn once and met by every policy.

    The r-th unit of an arm has the same noise whenever it comes, so policies differ by their
    allocation alone.
    """

    def __init__(self, *, budget: int, seed: int) -> None:
        self.problem = Problem(arms=len(NOISE), dim=DIM, budget=budget, moment=np.eye(DIM))
        self.seed = seed
        contexts, coefs, shocks = map(np.random.default_rng, np.random.SeedSequence(seed).spawn(3))
        self.contexts: Matrix = contexts.standard_normal((budget, DIM))
        self.coefs: Matrix = coefs.standard_normal((len(NOISE), DIM))
        self.shocks: Matrix = shocks.standard_normal((len(NOISE), budget)) * np.sqrt(NOISE)[:, None]

    def experiment(self, policy: Policy) -> Experiment:
        """A fresh experiment in this world; the oracle is told the noise."""
        if isinstance(policy, Oracle) and policy.noise is None:
            policy = dataclasses.replace(policy, noise=NOISE)
        return Experiment(self.problem, policy=policy, seed=self.seed)

    def stored_experiment(self, policy: Policy, file: Path) -> LiveExperiment:
        """The same as a practice experiment in an SQLite file: every unit is stored before it is answered."""
        from equipoise.live.experiment.opening import create_experiment

        rehearsed = self.experiment(policy)
        return create_experiment(
            store=f"sqlite:///{file}",
            name=NAME,
            problem=rehearsed.problem,
            policy=rehearsed.policy,
            seed=self.seed,
            mode="practice",
        )

    def compare(
        self, chosen: AnyExperiment, uniform: AnyExperiment, advance: Callable[[], None] = lambda: None
    ) -> Comparison:
        """Run both experiments; ``advance`` is called after every unit."""
        budget = self.problem.units
        return Comparison(
            budget=budget,
            dim=DIM,
            noise=NOISE,
            seed=self.seed,
            chosen=self.run(chosen, advance),
            uniform=self.run(uniform, advance),
            optimal_units=tuple(optimal_allocation(noise=NOISE, dim=DIM, budget=budget).tolist()),
            optimal_loss=optimal_loss(NOISE, DIM, budget),
        )

    def run(self, experiment: AnyExperiment, advance: Callable[[], None] = lambda: None) -> TrialResult:
        """Pass all units through ``experiment``, one by one."""
        pulls = [0] * len(NOISE)
        for number, x in enumerate(self.contexts, 1):
            unit = f"U-{number:04}"
            i = self.problem.index(experiment.ask(x, unit=unit).arm)
            experiment.tell(unit, float(x @ self.coefs[i] + self.shocks[i, pulls[i]]))
            pulls[i] += 1
            advance()
        policy = experiment.policy
        name = policy.name if policy == Oracle(noise=NOISE) else policy.spec
        # The optimum that it is compared with is that of least squares.
        return self._result(name, experiment.estimates(estimator="ridge"))

    def _result(self, policy: str, estimates: Estimates) -> TrialResult:
        arms = []
        for i, fitted in enumerate(estimates):
            low, high = fitted.intervals.T
            arms.append(
                ArmResult(
                    arm=fitted.arm,
                    units=fitted.count,
                    true_noise=NOISE[i],
                    estimated_noise=fitted.noise_variance,
                    noise_interval=fitted.noise_interval,
                    expected_error=fitted.expected_error,
                    actual_error=float(np.sum((fitted.coef - self.coefs[i]) ** 2)),
                    covered=int(np.sum((low <= self.coefs[i]) & (self.coefs[i] <= high))),
                )
            )
        return TrialResult(policy=policy, confidence=estimates[0].confidence, arms=tuple(arms))
