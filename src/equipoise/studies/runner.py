"""Running points: a simulation or a replay each, whose trials are kept as soon as they are finished.

Sweeps, the paper's figures and the leaderboard all run on this. Trials that are kept are not run again,
whoever asks for them: a policy that is there already, a point of another sweep, the first of more trials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.arena import Arena, Setting
from equipoise.lab.gpu.offers import CPU
from equipoise.lab.results.simulation import SimulationResult
from equipoise.lab.running.checkpoint import Codes, open_checkpoint
from equipoise.lab.running.simulate import named_policies, pack_trials, run_policies, unfinished
from equipoise.studies.losses import Point, summarise
from equipoise.studies.store import Store
from equipoise.version import __version__

Progress = Callable[[str, float, float], None]


@dataclass
class Meter:
    """Work done out of all work, so that the time left can be told."""

    total: float
    report: Progress | None
    done: float = 0.0

    def show(self, label: str, within: float = 0.0) -> None:
        """Say how far it is, ``within`` being the work done on the task at hand."""
        if self.report is not None:
            self.report(label, min(self.done + within, self.total), self.total)

    def finish(self, label: str, work: float) -> None:
        """A task is done."""
        self.done += work
        self.show(label)


@dataclass(frozen=True)
class Runner:
    """Everything that all simulations of a study have in common."""

    seed: int
    workers: int | None
    store: Store
    meter: Meter
    executor: Executor | None = None
    device: str = "cpu"
    codes: Codes = field(default_factory=Codes)

    @contextmanager
    def ready_first(
        self, points: Iterable[tuple[Arena, Sequence[Policy | str], int]]
    ) -> Iterator[Iterator[int]]:
        """The places of points, in the order in which they had better run.

        Points are arenas, policies and how many trials they will have. Programs for a GPU are compiled
        together while points run: next is the first of those that have theirs. Trials that are kept need
        none.
        """
        if self.device == CPU or self.executor is not None:
            yield iter(range(sum(1 for _ in points)))
            return
        from equipoise.lab.gpu.ahead import compiled_meanwhile

        lacking = ((point[0], self._unfinished(*point)) for point in points)
        with compiled_meanwhile(lacking, self.device) as programs:
            yield programs.ready_first()

    def _unfinished(self, scenario: Arena, policies: Sequence[Policy | str], trials: int) -> list[Policy]:
        """Policies of whose trials some are not kept."""
        named, folder = named_policies(policies), self.store.trials(scenario, self.seed)
        # Nobody looks for trials where there cannot be any: that would make the folder.
        is_there = folder is not None and folder.is_dir()
        store = open_checkpoint(folder, scenario, named, self.seed, self.codes) if is_there else None
        return [named[name] for name in unfinished(store, named, trials)]

    def result(
        self,
        scenario: Arena,
        policies: Sequence[Policy | str],
        trials: int,
        *,
        label: str,
        work: float | None = None,
    ) -> SimulationResult:
        """All trials of a point, run unless they are kept; ``work`` where policies have other costs."""
        work = simulation_work(scenario, len(policies), trials) if work is None else work
        folder = self.store.trials(scenario, self.seed)
        self.meter.show(label)
        found = run_policies(
            scenario,
            policies,
            trials=trials,
            seed=self.seed,
            workers=self.workers,
            executor=self.executor,
            device=self.device,
            checkpoint=folder,
            progress=lambda done, total: self.meter.show(label, work * done / total),
            codes=self.codes,
        )
        pack_trials(folder, scenario, policies, self.seed, found, self.codes)
        self.meter.finish(label, work)
        return SimulationResult(scenario, self.seed, __version__, found)

    def point(
        self,
        scenario: Arena,
        policies: Sequence[str],
        trials: int,
        *,
        name: str,
        work: float | None = None,
    ) -> Point:
        """What is left of a point without its trials."""
        label = f"{name}: d = {scenario.dim}, n = {scenario.budget}"
        return summarise(self.result(scenario, policies, trials, label=label, work=work))

    def kept(
        self,
        identity: Mapping[str, Any],
        measure: Callable[[], dict[str, Any]],
        *,
        label: str,
        work: float,
    ) -> dict[str, Any]:
        """A record from the store, or measured and stored; its work counts as done either way."""
        record = self.store.read(identity)
        if record is None:
            self.meter.show(label)
            record = measure()
            self.store.write(identity, record)
        self.meter.finish(label, work)
        return record

    def identity(self, name: str, scenario: Setting, policies: Sequence[str], trials: int) -> dict[str, Any]:
        """Everything that the numbers of a simulation depend on."""
        return {
            "name": name,
            "version": __version__,
            "numerics": NUMERICS,
            "seed": self.seed,
            "trials": trials,
            "scenario": scenario.to_dict(),
            "policies": [[policy, self.codes.fingerprint(policy)] for policy in policies],
        }


def simulation_work(scenario: Setting, policies: int, trials: int) -> float:
    """Seconds on one core, roughly; only ratios matter, for the time left."""
    return trials * policies * scenario.units * (250.0 + 1.4 * scenario.dim**2) * 1e-9


def scaled(trials: int, scale: float) -> int:
    """A number of trials times ``scale``; at least two, without which nothing has an error."""
    return max(2, round(trials * scale))
