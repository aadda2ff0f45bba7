"""The world that plans are simulated in: the scenario that was given, or the plainest one."""

from __future__ import annotations

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.core.plain import changed_fields
from equipoise.core.theory.plan import Plan
from equipoise.lab.pieces import Delays, SparseTruth
from equipoise.lab.running.simulate import Progress
from equipoise.lab.scenario import GaussianScenario, Scenario

# What a closed form knows of a scenario, or what does not change errors.
_KNOWN = {
    *(
        "noise",
        "dim",
        "budget",
        "arms",
        "features",
        "intercept",
        "coef",
        "moment",
        "accrual",
        "delay",
        "lost",
    ),
    *("drop_out", "estimator", "ridge", "intervals", "objective", "weights", "costs"),
}


@dataclass(frozen=True, kw_only=True)
class Simulating:
    """How plans are simulated; fields are arguments of :func:`equipoise.plan`."""

    scenario: Scenario | None = None
    delay: Delays | None = None
    estimator: str | None = None
    trials: int = 2_000
    seed: int = 0
    workers: int | None = None
    executor: Executor | None = None
    device: str = "cpu"
    progress: Progress | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """Those that every simulation takes."""
        names = ("trials", "seed", "workers", "executor", "device")
        return {name: getattr(self, name) for name in names}


def planned_world(closed: Plan, budget: float, how: Simulating) -> Scenario:
    """The world of a plan at some budget."""
    scenario, estimator = how.scenario, how.estimator
    terms: dict[str, Any] = {
        "objective": closed.objective,
        "weights": closed.weights,
        "costs": closed.costs if closed.has_costs else None,
        **({} if estimator is None else {"estimator": estimator}),
    }
    if scenario is not None:
        if estimator is not None:
            terms["ridge"] = None  # the λ of the scenario belongs to its own estimator
        return scenario.replace(noise=closed.noise, dim=closed.dim, budget=budget, **terms)
    return GaussianScenario(
        closed.noise,
        closed.dim,
        budget,
        arms=closed.arms,
        delay=how.delay,
        lost=tuple(1.0 - share for share in closed.outcomes),
        # Coefficients the size of the noise: what shrinking does, and so the answer, then do not
        # depend on the unit of the outcome. Arms have nothing in common that could be pooled.
        truth=SparseTruth(features=closed.dim, values="normal", scale=math.sqrt(np.mean(closed.noise))),
        **terms,
    )


def outcome_shares(scenario: Scenario) -> Vector:
    """Share of every arm's outcomes that come."""
    lost = np.broadcast_to(np.asarray(scenario.lost, float), len(scenario.noise))
    if scenario.drop_out is None or scenario.delay is None:
        return 1.0 - lost
    rates = np.broadcast_to(np.asarray(scenario.drop_out.rate, float), lost.shape)
    in_time = scenario.accrual is not None
    stay = np.array([scenario.delay.discount(rate, in_time=in_time) for rate in rates.tolist()])
    return (1.0 - lost) * stay


def unknown_fields(scenario: Scenario) -> tuple[str, ...]:
    """Fields of a scenario that a closed form does not know."""
    return tuple(name for name, _ in changed_fields(scenario) if name not in _KNOWN)
