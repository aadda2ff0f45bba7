"""Measuring panels of Figures 1 and 2: every policy at every point, and the claims at other widths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from equipoise.lab.arena import Arena
from equipoise.studies.losses import Point
from equipoise.studies.paper.figure1 import Panel, Sweep
from equipoise.studies.paper.figure2 import TablePanel, TableSweep
from equipoise.studies.paper.panel_result import PanelResult
from equipoise.studies.paper.widths import WidePanel, claims_by_width, width_policies
from equipoise.studies.runner import Runner, scaled, simulation_work
from equipoise.studies.verdicts import Finding


@dataclass(frozen=True)
class PaperStudy:
    """Which panels are measured, and how often."""

    panels: tuple[Panel, ...]
    tables: tuple[TableSweep, ...]
    policies: tuple[str, ...]
    scale: float  # of the paper's numbers of trials
    width_trials: int  # of the comparison of widths, before they are scaled; 0 leaves it out

    @property
    def sweeps(self) -> list[Sweep | TableSweep]:
        """What the panels are drawn from, each once."""
        return [*dict.fromkeys(panel.sweep for panel in self.panels), *self.tables]

    @property
    def trials(self) -> dict[str, int]:
        """Trials a point, by panel."""
        return {panel.id: scaled(sweep.trials, self.scale) for panel, sweep in self._drawn()}

    @property
    def tried(self) -> int:
        """Trials a point of the comparison of widths."""
        return scaled(self.width_trials, self.scale) if self.width_trials and self.sweeps else 0

    def work(self) -> float:
        """Seconds on one core, roughly."""
        return sum(
            simulation_work(arena, len(self.policies), scaled(sweep.trials, self.scale))
            + simulation_work(arena, len(width_policies(sweep.noise)), self._tried_of(sweep))
            for sweep in self.sweeps
            for arena in sweep.arenas
        )

    def points(self) -> Iterator[tuple[Arena, Sequence[str], int]]:
        """Arenas, policies and numbers of trials of all that is measured, in that order."""
        for sweep in self.sweeps:
            yield from ((arena, self.policies, scaled(sweep.trials, self.scale)) for arena in sweep.arenas)
        for sweep in self.sweeps if self.tried else ():
            policies, trials = width_policies(sweep.noise), self._tried_of(sweep)
            yield from ((arena, policies, trials) for arena in sweep.arenas)

    def measure(self, runner: Runner) -> dict[str, PanelResult]:
        """Every policy at every point, by panel."""
        points = {
            sweep.name: _measure(
                runner, sweep, self.policies, scaled(sweep.trials, self.scale), name=sweep.name
            )
            for sweep in self.sweeps
        }
        return {panel.id: PanelResult(panel, points[sweep.name]) for panel, sweep in self._drawn()}

    def measure_widths(self, runner: Runner) -> dict[str, tuple[Finding, ...]]:
        """The claims by width, with fewer trials; empty where they are left out."""
        if not self.tried:
            return {}
        points = {
            sweep.name: _measure(
                runner,
                sweep,
                width_policies(sweep.noise),
                self._tried_of(sweep),
                name=f"{sweep.name}-widths",
            )
            for sweep in self.sweeps
        }
        return claims_by_width(
            [WidePanel(panel, sweep.noise, points[sweep.name]) for panel, sweep in self._drawn()]
        )

    def _drawn(self) -> Iterator[tuple[Panel | TablePanel, Sweep | TableSweep]]:
        """Every panel with the points that it is drawn from."""
        for panel in self.panels:
            yield panel, panel.sweep
        for table in self.tables:
            yield table.panel, table

    def _tried_of(self, sweep: Sweep | TableSweep) -> int:
        # The paper replays tables a thousand times: no more of them for the widths.
        if isinstance(sweep, TableSweep):
            return min(self.tried, scaled(sweep.trials, self.scale))
        return self.tried


def _measure(
    runner: Runner, sweep: Sweep | TableSweep, policies: Sequence[str], trials: int, *, name: str
) -> list[Point]:
    return [runner.point(arena, policies, trials, name=name) for arena in sweep.arenas]
