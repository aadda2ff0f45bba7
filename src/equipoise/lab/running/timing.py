"""How fast trials run on one thread, compilation excluded."""

from __future__ import annotations

from collections.abc import Sequence

from equipoise.core.policies.base.policy import parse_policy
from equipoise.lab.running.simulate import run_chunk
from equipoise.lab.scenario import GaussianScenario


def decisions_per_second(
    *,
    arms: int,
    dim: int,
    budget: int,
    noise: Sequence[float],
    trials: int,
    seed: int,
    policy: str = "trace-ucb",
) -> float:
    """Decisions over the time spent in trials, random numbers and final estimates included."""
    scenario = GaussianScenario(
        noise=[noise[i % len(noise)] for i in range(arms)], dim=dim, budget=budget, estimator="ridge"
    )
    chosen = parse_policy(policy)
    [(_, seconds)] = run_chunk(scenario, [chosen], seed, 0, trials)
    return trials * budget / seconds
