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
        points = self.points()
        return sum(simulation_work(arena, len(policies), trials) for arena, policies, trials in points)

    def points(self) -> Iterator[tuple[Arena, Sequence[str], int]]:
        """Arenas, policies and numbers of trials of all that is measured."""
        yield from (part.point(place) for part, place in self._in_order())

    def measure(self, runner: Runner) -> tuple[dict[str, PanelResult], dict[str, tuple[Finding, ...]]]:
        """Every policy at every point, by panel; and the claims by width, unless these are left out."""
        parts, found = self._in_order(), dict[tuple[str, int], Point]()
        with runner.ready_first(part.point(place) for part, place in parts) as order:
            for part, place in (parts[number] for number in order):
                found[part.name, place] = runner.point(*part.point(place), name=part.name)
        points: dict[str, list[Point]] = {}
        for part in self._parts():
            points[part.name] = [found[part.name, place] for place in range(len(part.arenas))]
        results = {panel.id: PanelResult(panel, points[sweep.name]) for panel, sweep in self._drawn()}
        if not self.tried:
            return results, {}
        wide = [WidePanel(panel, sweep.noise, points[_of_widths(sweep)]) for panel, sweep in self._drawn()]
        return results, claims_by_width(wide)

    def _in_order(self) -> list[tuple[_Part, int]]:
        """All points, by their places in parts; those with few features come first.

        A GPU's programs for some number of features serve all points that have it, and the next ones are
        compiled meanwhile.
        """
        places = [(part, place) for part in self._parts() for place in range(len(part.arenas))]
        return sorted(places, key=_features)

    def _parts(self) -> list[_Part]:
        parts = [
            _Part(sweep.name, sweep.arenas, self.policies, scaled(sweep.trials, self.scale))
            for sweep in self.sweeps
        ]
        if self.tried:
            parts += [
                _Part(
                    _of_widths(sweep), sweep.arenas, tuple(width_policies(sweep.noise)), self._tried_of(sweep)
                )
                for sweep in self.sweeps
            ]
        return parts

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


@dataclass(frozen=True)
class _Part:
    """The points of a sweep for some policies."""

    name: str
    arenas: Sequence[Arena]
    policies: tuple[str, ...]
    trials: int

    def point(self, place: int) -> tuple[Arena, Sequence[str], int]:
        """Arena, policies and number of trials at a place."""
        return self.arenas[place], self.policies, self.trials


def _of_widths(sweep: Sweep | TableSweep) -> str:
    """What the comparison of widths at the points of a sweep is called."""
    return f"{sweep.name}-widths"


def _features(point: tuple[_Part, int]) -> int:
    part, place = point
    return part.arenas[place].dim
