"""Courses by the thousand trials, in chunks, on threads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field

import numpy as np

from equipoise.core.arrays import Matrix
from equipoise.core.experiment.record import Record
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.problem import Problem
from equipoise.lab.forecast.losses import Fates
from equipoise.lab.forecast.result import Course
from equipoise.lab.forecast.seat import Findings, Seat, Setup, new_findings
from equipoise.lab.forecast.start import starting_stage
from equipoise.lab.forecast.truths import Truths
from equipoise.lab.running.simulate import Progress, cut_trials, worker_pool

# Estimating all arms takes about as long as so many decisions.
_DECISIONS_A_LOOK = 500


@dataclass
class Runner:
    """Everything that the courses of a forecast have in common."""

    record: Record
    truths: Truths
    fates: Fates
    contexts: Matrix
    """Rows that those to come are drawn from."""
    error_root: Matrix
    coefs_now: Matrix
    policies: dict[str, Policy]
    informed: dict[str, Policy]
    """The same, told the noise as estimated, where they must be told one to begin with."""
    estimator: str
    ridge: float | None
    trials: int
    seed: int
    workers: int | None
    progress: Progress | None
    _done: int = field(default=0, init=False)
    _expected: int = field(default=0, init=False)

    def courses(self, wanted: Sequence[tuple[str, Problem]], looks: int) -> tuple[Course, ...]:
        """Run every trial of some policies and problems."""
        setups = [self._setup(name, problem, looks) for name, problem in wanted]
        found = [new_findings(self.trials, setup) for setup in setups]
        self._expected += self.trials * len(setups)
        self._run(setups, found)
        return tuple(
            Course(
                policy=name,
                budget=problem.budget,
                units=setup.looks,
                errors=findings.errors,
                counts=findings.counts,
                weights=problem.weights,
                objective=problem.objective,
            )
            for (name, problem), setup, findings in zip(wanted, setups, found, strict=True)
        )

    def _setup(self, name: str, problem: Problem, looks: int) -> Setup:
        stage, step = starting_stage(self.record, self.informed[name], problem), self.record.step
        steps = np.linspace(step, max(problem.units, step), looks + 1)[1:]
        moments = sorted({int(units) for units in np.ceil(steps)})
        return Setup(
            policy=self.policies[name],
            problem=problem,
            stage=stage,
            seen=self.record.contexts[:step],
            truths=self.truths,
            fates=self.fates,
            contexts=self.contexts,
            error_root=self.error_root,
            looks=(step, *moments),
            coefs_now=self.coefs_now,
            estimator=self.estimator,
            ridge=self.ridge,
        )

    def _run(self, setups: Sequence[Setup], found: Sequence[Findings]) -> None:
        """Fill the findings; whoever stops on the way leaves nothing running."""
        running: dict[Future[Findings], tuple[int, int]] = {}
        with worker_pool(None, self.workers) as pool:
            try:
                for place, setup in enumerate(setups):
                    for chunk in cut_trials(1, self.trials, _work(setup)):
                        future = pool.submit(_run_chunk, setup, self.seed, chunk.first, chunk.trials)
                        running[future] = place, chunk.first
                while running:
                    finished, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in finished:
                        place, first = running.pop(future)
                        self._keep(found[place], first, future.result())
            finally:
                for future in running:
                    future.cancel()

    def _keep(self, whole: Findings, first: int, part: Findings) -> None:
        last = first + len(part.errors)
        whole.errors[first:last], whole.counts[first:last] = part.errors, part.counts
        self._done += last - first
        if self.progress is not None:
            self.progress(self._done, self._expected)


def _work(setup: Setup) -> int:
    """What a trial takes, in decisions."""
    return setup.looks[-1] - setup.looks[0] + _DECISIONS_A_LOOK * (len(setup.looks) - 1)


def _run_chunk(setup: Setup, seed: int, first: int, trials: int) -> Findings:
    findings = new_findings(trials, setup)
    Seat(setup, seed).run(first, findings)
    return findings
