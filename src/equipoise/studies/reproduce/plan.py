"""What a run will measure: it knows its work beforehand, and what it found afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import DataNotFound
from equipoise.studies.paper.claims import check_claims
from equipoise.studies.paper.figure1 import PANELS, compared_policies
from equipoise.studies.paper.figure2 import TABLES, TableSweep, open_sweep
from equipoise.studies.paper.measure import PaperStudy
from equipoise.studies.rate.measure import measure_rate, rate_work
from equipoise.studies.reproduce.choice import RATE
from equipoise.studies.reproduce.record import Reproduction
from equipoise.studies.runner import Runner
from equipoise.studies.sparse.studies import STUDIES
from equipoise.studies.sparse.study import SparseResult, Study
from equipoise.version import __version__


@dataclass(frozen=True)
class Plan:
    """Panels, the rate and studies of sparse arms."""

    paper: PaperStudy
    rate: bool
    sparse: tuple[Study, ...]
    scale: float
    only_sparse: bool
    left_out: tuple[str, ...]  # tables that are not at hand, and why

    def work(self) -> float:
        """Seconds on one core, roughly."""
        rate = rate_work(self.scale) if self.rate else 0.0
        return self.paper.work() + rate + sum(study.work(self.scale) for study in self.sparse)

    def measure(self, runner: Runner) -> Reproduction:
        """Everything but the figures."""
        results, by_width = self.paper.measure(runner)
        rate = measure_rate(runner, self.scale) if self.rate else None
        sparse = tuple(study.measure(runner, self.scale) for study in self.sparse)
        return Reproduction(
            version=__version__,
            seed=runner.seed,
            policies=(*(() if self.only_sparse else self.paper.policies), *_policies_of(sparse)),
            trials=self.paper.trials | {of: n for result in sparse for of, n in result.trials.items()},
            results=results,
            findings=check_claims(results) + (() if rate is None else rate.findings()),
            sparse=sparse,
            width_trials=self.paper.tried,
            by_width=by_width,
            rate=rate,
            left_out=self.left_out,
        )


def new_plan(
    names: Sequence[str], *, scale: float, width_trials: int, data: str | Path | None, asked: bool
) -> Plan:
    """The plan of some panels; a table that was not ``asked`` for by name may be missing."""
    tables, left_out = _open_tables([name for name in names if name in TABLES], data, asked=asked)
    panels = tuple(PANELS[name] for name in names if name in PANELS)
    sparse = tuple(STUDIES[name] for name in names if name in STUDIES)
    return Plan(
        paper=PaperStudy(panels, tables, tuple(compared_policies()), scale, width_trials),
        rate=RATE in names,
        sparse=sparse,
        scale=scale,
        only_sparse=len(sparse) == len(names),
        left_out=left_out,
    )


def _open_tables(
    names: Sequence[str], folder: str | Path | None, *, asked: bool
) -> tuple[tuple[TableSweep, ...], tuple[str, ...]]:
    """Tables at hand, and why others are not."""
    tables, left_out = [], []
    for name in names:
        try:
            tables.append(open_sweep(name, folder))
        except DataNotFound as error:
            if asked:
                raise
            left_out.append(str(error))
    return tuple(tables), tuple(left_out)


def _policies_of(results: Sequence[SparseResult]) -> list[str]:
    return list(dict.fromkeys(policy for result in results for policy in result.policies))
