"""The error that a budget gives, by simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.policies.base.policy import Policy, parse_policy
from equipoise.core.problem.objective import combine
from equipoise.core.theory.plan import Plan
from equipoise.errors import InvalidArgument
from equipoise.lab.results.estimate import Estimate, finite, plain_estimate
from equipoise.lab.results.policy import objective_estimate
from equipoise.lab.running.planned_world import Simulating, planned_world
from equipoise.lab.running.simulate import simulate

_LIKELY = (0.1, 0.9)


@dataclass(frozen=True)
class SimulatedError:
    """The error of a policy at a budget."""

    policy: str
    budget: float
    error: Estimate
    """The objective's value of the arms' mean errors, as closed forms have it."""
    likely: tuple[float, float]
    """What the objective's value of a single trial lies between in 8 of 10 trials."""
    pulls: tuple[float, ...]
    """Mean units of every arm whose outcome came."""
    units: Estimate
    """Mean units that were assigned."""
    coverage: Estimate
    duration: Estimate | None
    """Mean time until the last outcome; None without an accrual."""
    time: str | None
    trials: int
    seed: int
    estimator: str
    """How trials were judged."""

    def record(self) -> dict[str, Any]:
        """Plain values."""
        found = {
            "budget": self.budget,
            "error": plain_estimate(self.error),
            "likely": [finite(end) for end in self.likely],
            "pulls": list(self.pulls),
            "units": plain_estimate(self.units),
            "coverage": plain_estimate(self.coverage),
            "trials": self.trials,
            "seed": self.seed,
        }
        return found if self.duration is None else {**found, "duration": plain_estimate(self.duration)}

    def headings(self) -> list[str]:
        """Of a table of them."""
        timed = [] if self.time is None else [self.time]
        return ["simulated", "units", "error", "8 of 10 trials", "root", "outcomes an arm", *timed]

    def cells(self) -> list[str]:
        """Its row."""
        low, high = self.likely
        return [
            self.policy,
            f"{self.units.value:.10g}",
            str(self.error),
            f"{low:.3g} – {high:.3g}",
            f"{math.sqrt(self.error.value):.3g}",
            " ".join(f"{units:.0f}" for units in self.pulls),
            *([] if self.duration is None else [f"{self.duration.value:.3g}"]),
        ]


def simulated_error(closed: Plan, policy: Policy | str, how: Simulating) -> SimulatedError:
    """The error that the budget of a plan gives ``policy``."""
    if closed.budget is None:
        raise InvalidArgument("the plan has no budget", hint="eq.plan(budget=300, …)")
    chosen = parse_policy(policy)
    world = planned_world(closed, closed.budget, how)
    result = simulate(world, [chosen], **how.settings, progress=how.progress)
    found = result[chosen.spec]
    ones = np.ones(len(closed.noise))
    single = [combine(errors, ones, closed.objective) for errors in found.errors.tolist()]
    low, high = np.quantile(single, _LIKELY).tolist()
    accrual = world.accrual
    return SimulatedError(
        policy=policy if isinstance(policy, str) else chosen.spec,
        budget=closed.budget,
        error=objective_estimate(found, closed.objective),
        likely=(low, high),
        pulls=tuple(units.value for units in found.pulls()),
        units=found.units(),
        coverage=found.coverage(),
        duration=None if accrual is None else found.duration(),
        time=None if accrual is None else accrual.time,
        trials=how.trials,
        seed=how.seed,
        estimator=world.estimator,
    )
