"""Experiments in worlds that a script makes up, asked and told by one compiled call.

The call admits units and enters outcomes by the functions that ``ask`` and ``tell`` call, so what comes out
is the experiment that they would have made.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np

import equipoise as eq
from equipoise.core.arms.state import State
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.choice.decide import CHOOSE
from equipoise.core.experiment.admission import admit
from equipoise.core.experiment.entries import tell
from equipoise.core.experiment.record import draft
from equipoise.core.jit.decorators import compiled

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True)
class World:
    """A truth that all arms share, so that there is no effect of the arms to be found."""

    words: str
    noise: tuple[float, ...]
    dim: int
    units: int
    draw: Callable[[np.random.Generator, tuple[int, int]], Matrix]
    """Contexts without their constant."""
    curve: Callable[[Matrix], Vector] | None = None
    """What is added to the sum of the features, of contexts without their constant."""
    shape: Callable[[np.random.Generator, Matrix], Vector] | None = None
    """Noise of variance 1; normal unless given."""
    moment: Matrix | None = None

    def run(self, policy: eq.Policy | str, trial: int) -> eq.Experiment:
        """One trial, told at once; all policies meet the same units."""
        rng = np.random.default_rng([trial, self.dim, self.units])
        contexts = np.ones((self.units, self.dim))
        contexts[:, 1:] = self.draw(rng, (self.units, self.dim - 1))
        expected = contexts.sum(axis=1)
        if self.curve is not None:
            expected += self.curve(contexts[:, 1:])
        shocks = rng.normal(size=self.units) if self.shape is None else self.shape(rng, contexts)
        names = [str(i) for i in range(len(self.noise))]
        problem = eq.Problem(names, self.dim, budget=self.units, moment=self.moment)
        outcomes = expected[:, None] + np.sqrt(self.noise) * shocks[:, None]
        return quick_experiment(problem, policy, trial, contexts, outcomes)


def quick_experiment(
    problem: eq.Problem, policy: eq.Policy | str, seed: int, contexts: Matrix, outcomes: Matrix
) -> eq.Experiment:
    """All units asked and told at once; ``outcomes`` [units, m] are what every arm would give."""
    experiment = eq.Experiment(problem, policy, seed=seed)
    record = draft(experiment._record, len(contexts))
    stage = record.stage
    assert stage.whole, "policies that choose features need more than one call"
    scores = np.zeros(len(problem.arms))
    done = _run(
        stage.state, record.contexts, stage.columns, contexts, outcomes, stage.score, stage.settings, scores
    )
    assert done == len(contexts)
    experiment._record = record
    return experiment


@compiled
def _run(
    state: State,
    stored: Matrix,
    columns: Counts,
    contexts: Matrix,
    outcomes: Matrix,
    score: int,
    settings: Vector,
    scores: Vector,
) -> int:
    """Units that got an arm."""
    for t in range(contexts.shape[0]):
        arm: int = admit(state, stored, columns, contexts[t], score, settings, scores, CHOOSE)[0]
        if arm < 0:
            return t
        tell(state, t, outcomes[t, arm])
    return len(contexts)


def quiet_estimates(experiment: eq.Experiment) -> eq.Estimates:
    """Estimates with robust intervals, without warnings; intervals do not depend on the estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.errors.FitWarning)
        return experiment.estimates(estimator="ridge", intervals="robust")


def false_effects(estimates: eq.Estimates) -> float:
    """Share of pairs of arms whose intercepts differ at the 5 % level, by what their intervals rest on."""
    from scipy.stats import norm

    found = []
    for pair in combinations(estimates, 2):
        gap = variance = 0.0
        for arm, sign in zip(pair, (1.0, -1.0), strict=True):
            assert arm.least_squares is not None
            assert arm.inverse_root is not None
            gap += sign * arm.least_squares[0]
            variance += arm.noise_variance * arm.inflation * np.sum(arm.inverse_root[0] ** 2)
        found.append(abs(gap) > norm.ppf(0.975) * variance**0.5)
    return float(np.mean(found))


def in_processes(function: Callable[[A], B], tasks: Iterable[A], processes: int) -> Iterator[B]:
    """Answers in the order of the tasks, which are worked on side by side."""
    if processes < 2:
        yield from map(function, tasks)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(function, tasks)
