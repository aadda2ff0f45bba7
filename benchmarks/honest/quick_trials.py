"""Experiments in worlds that a script makes up, asked and told by one compiled call.

The call admits units and enters outcomes by the functions that ``ask`` and ``tell`` call, so what comes out
is the experiment that they would have made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

import equipoise as eq
from equipoise.core.arms import least_squares as kernel
from equipoise.core.arms.state import State
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.choice.decide import CHOOSE
from equipoise.core.diagnosis.balance import balance_of
from equipoise.core.diagnosis.complaint import imbalance
from equipoise.core.diagnosis.drift import FIT_LEVEL, drifted_arms
from equipoise.core.diagnosis.evidence import evidence_of
from equipoise.core.diagnosis.lack_of_fit import LackOfFit, lack_of_fit
from equipoise.core.estimates.arm_estimate import ArmEstimate
from equipoise.core.estimates.estimates import estimate_arms
from equipoise.core.experiment.admission import ALL_ARMS, NOT_RECORDED, admit
from equipoise.core.experiment.entering.entries import tell
from equipoise.core.experiment.record import draft
from equipoise.core.jit.decorators import compiled
from equipoise.core.text_tables import markdown_table


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

    def run(
        self, policy: eq.Policy | str, trial: int, *, arms: Counts | None = None, floor: int = 0
    ) -> eq.Experiment:
        """One trial, told at once; all policies meet the same units.

        ``arms`` are what units get instead of what the policy chooses, ``floor`` what every arm must get.
        """
        rng = np.random.default_rng([trial, self.dim, self.units])
        contexts = np.ones((self.units, self.dim))
        contexts[:, 1:] = self.draw(rng, (self.units, self.dim - 1))
        expected = contexts.sum(axis=1)
        if self.curve is not None:
            expected += self.curve(contexts[:, 1:])
        shocks = rng.normal(size=self.units) if self.shape is None else self.shape(rng, contexts)
        names = [str(i) for i in range(len(self.noise))]
        floors = dict.fromkeys(names, floor) if floor else None
        problem = eq.Problem(names, self.dim, budget=self.units, moment=self.moment, floors=floors)
        outcomes = expected[:, None] + np.sqrt(self.noise) * shocks[:, None]
        return quick_experiment(problem, policy, trial, contexts, outcomes, arms)


def quick_experiment(
    problem: eq.Problem,
    policy: eq.Policy | str,
    seed: int,
    contexts: Matrix,
    outcomes: Matrix,
    arms: Counts | None = None,
) -> eq.Experiment:
    """All units asked and told at once; ``outcomes`` [units, m] are what every arm would give.

    The policy chooses, unless ``arms`` [units] are given.
    """
    experiment = eq.Experiment(problem, policy, seed=seed)
    record = draft(experiment._record, len(contexts))
    stage = record.stage
    assert stage.whole, "policies that choose features need more than one call"
    scores = np.zeros(len(problem.arms))
    told = np.full(len(contexts), CHOOSE) if arms is None else np.asarray(arms, dtype=np.int64)
    done = _run(
        stage.state,
        record.contexts,
        stage.columns,
        contexts,
        outcomes,
        stage.score,
        stage.settings,
        scores,
        told,
        ALL_ARMS,
        NOT_RECORDED,
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
    told: Counts,
    everywhere: Counts,
    nothing: Vector,
) -> int:
    """Units that got an arm."""
    for t in range(contexts.shape[0]):
        arm: int = admit(
            state, stored, columns, contexts[t], score, settings, scores, told[t], 0, everywhere, nothing
        )[0]
        if arm < 0:
            return t
        tell(state, t, outcomes[t, arm])
    return len(contexts)


class Findings(NamedTuple):
    """What an experiment's estimates, their diagnosis and its warning come to."""

    arms: list[ArmEstimate]
    """With robust intervals."""
    fit: LackOfFit
    imbalance: bool
    warned: bool


def findings(experiment: eq.Experiment) -> Findings:
    """What ``estimates`` and ``lack_of_fit`` say, found once; intervals do not depend on the estimator."""
    stage = experiment._snapshot().stage
    if not kernel.is_settled(stage.state):
        kernel.settle(stage.state)
    arms = estimate_arms(stage, estimator="ridge", ridge=None, confidence=0.95, intervals="robust")
    evidence, inflation = evidence_of(stage), np.array([arm.inflation for arm in arms])
    fit, warned = lack_of_fit(evidence, inflation), False
    if fit.p_value < FIT_LEVEL:
        warned = bool(drifted_arms(evidence, inflation, fit).any())
    return Findings(arms, fit, imbalance(balance_of(evidence)) is not None, warned)


def false_effects(arms: Sequence[ArmEstimate]) -> float:
    """Share of pairs of arms whose intercepts differ at the 5 % level, by what their intervals rest on."""
    from scipy.stats import norm

    found = []
    for pair in combinations(arms, 2):
        gap = variance = 0.0
        for arm, sign in zip(pair, (1.0, -1.0), strict=True):
            assert arm.least_squares is not None
            assert arm.inverse_root is not None
            gap += sign * arm.least_squares[0]
            variance += arm.noise_variance * arm.inflation * np.sum(arm.inverse_root[0] ** 2)
        found.append(abs(gap) > norm.ppf(0.975) * variance**0.5)
    return float(np.mean(found))


class Task(NamedTuple):
    """Trials of one policy in one world."""

    world: str
    policy: str
    first: int
    trials: int


def answers(
    measure: Callable[[Task], list[str]], tasks: Sequence[Task], processes: int, keep: Path | None
) -> Iterator[list[str]]:
    """Cells of every task, in order, worked on side by side; those kept in a file are not made again."""
    kept: dict[str, list[str]] = {}
    if keep is not None and keep.exists():
        kept = json.loads(keep.read_text())
    missing = [task for task in tasks if str(tuple(task)) not in kept]
    with ProcessPoolExecutor(processes) as pool:
        found = pool.map(measure, missing)
        for task in tasks:
            if task in missing:
                kept[str(tuple(task))] = next(found)
                if keep is not None:
                    keep.write_text(json.dumps(kept, indent=1))
            yield kept[str(tuple(task))]


def show(header: list[str], rows: list[list[str]], caption: str, target: Path | None) -> None:
    """Print a table with what it needs to be read, and write it to a file."""
    table = f"{markdown_table(header, rows)}\n{caption}\n"
    print(table)
    if target is not None:
        target.write_text(table)
