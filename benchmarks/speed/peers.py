"""How fast the linear bandits of other libraries decide: a context in, an arm out, an outcome learned.

They answer another question (which arm pays most), but a decision costs them the same kind of work:
one linear model an arm, updated after every unit. Each runs in its own loop, the way its documentation
shows. They are no dependency of this package; to compare with them:

    pip install river mabwiser
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module

import numpy as np

import equipoise as eq
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.text_tables import text_table
from equipoise.lab.running.timing import decisions_per_second
from equipoise.studies.noise import UNEQUAL

ARMS, DIM, UNITS = 7, 10, 20_000
NOISE = list(UNEQUAL)
SECONDS_A_PEER = 5.0

Step = Callable[[int], None]
Maker = Callable[[Matrix, Matrix], Step]


def main() -> None:
    rng = np.random.default_rng(1)
    contexts = rng.normal(size=(UNITS, DIM))
    outcomes = contexts @ rng.normal(size=(DIM, ARMS)) + np.sqrt(NOISE) * rng.normal(size=(UNITS, ARMS))
    rates = {"equipoise, simulated trials": lab_rate()}
    for name, maker in MAKERS.items():
        try:
            step = maker(contexts, outcomes)
        except ImportError as error:
            print(f"{name}: left out, {error} (pip install river mabwiser)")
            continue
        rates[name] = rate(step)
    print_table(rates)


def print_table(rates: dict[str, float]) -> None:
    """Decisions a second, and how many times as fast the package is: in trials and unit by unit."""
    trials, units = rates["equipoise, simulated trials"], rates["equipoise, ask and tell"]
    rows = [
        [name, f"{value:,.0f}", f"{trials / value:,.1f}", f"{units / value:,.1f}"]
        for name, value in rates.items()
    ]
    print(f"m = {ARMS}, d = {DIM}, one core")
    print(text_table(["", "decisions a second", "trials are × as fast", "ask and tell is × as fast"], rows))


def rate(step: Step) -> float:
    """Decisions a second of a loop, its first hundred left out."""
    for t in range(100):
        step(t)
    done, start = 100, time.perf_counter()
    while done < UNITS and time.perf_counter() - start < SECONDS_A_PEER:
        step(done)
        done += 1
    return (done - 100) / (time.perf_counter() - start)


def lab_rate() -> float:
    """Simulated trials, random numbers and final estimates included."""
    return max(
        decisions_per_second(arms=ARMS, dim=DIM, budget=350, noise=NOISE, trials=1_000, seed=seed)
        for seed in range(3)
    )


def equipoise_step(contexts: Matrix, outcomes: Matrix) -> Step:
    problem = eq.Problem(ARMS, DIM, budget=UNITS, moment=np.eye(DIM))
    experiment = eq.Experiment(problem, eq.TraceUCB(), seed=1)

    def step(t: int) -> None:
        assignment = experiment.ask(contexts[t])
        experiment.tell(assignment.id, outcomes[t, problem.index(assignment.arm)])

    return step


def river_step(contexts: Matrix, outcomes: Matrix) -> Step:
    policy = import_module("river.bandit").LinUCBDisjoint(seed=1)
    arms = list(range(ARMS))
    # River's features are dictionaries; making them is not the policy's work.
    features = [dict(enumerate(x)) for x in contexts.tolist()]

    def step(t: int) -> None:
        arm = policy.pull(arms, context=features[t])
        policy.update(arm, features[t], outcomes[t, arm])

    return step


def mabwiser_step(contexts: Matrix, outcomes: Matrix) -> Step:
    module = import_module("mabwiser.mab")
    arms = list(range(ARMS))
    bandit = module.MAB(arms, module.LearningPolicy.LinUCB(alpha=1.0), seed=1)
    bandit.fit(np.array(arms), _diagonal(outcomes), contexts[:ARMS])

    def step(t: int) -> None:
        context = contexts[t : t + 1]
        arm = bandit.predict(context)
        bandit.partial_fit([arm], [outcomes[t, arm]], context)

    return step


def _diagonal(outcomes: Matrix) -> Vector:
    """One outcome an arm: the library wants data before its first prediction."""
    return np.diagonal(outcomes).copy()


MAKERS: dict[str, Maker] = {
    "equipoise, ask and tell": equipoise_step,
    "river, LinUCBDisjoint": river_step,
    "MABWiser, LinUCB": mabwiser_step,
}

if __name__ == "__main__":
    main()
