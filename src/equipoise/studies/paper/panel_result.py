"""The points of a panel as curves: a loss of every policy along the axis, and ratios of two policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.studies.losses import Losses, Measured, Point
from equipoise.studies.paper.figure1 import Panel
from equipoise.studies.paper.figure2 import TablePanel


@dataclass(frozen=True)
class PanelResult:
    """The points of a panel."""

    panel: Panel | TablePanel
    points: Sequence[Point]

    @property
    def policies(self) -> list[str]:
        """Names of the policies."""
        return list(self.points[0].losses[self.panel.loss].values)

    def curve(self, policy: str) -> list[Measured]:
        """The panel's loss of a policy along the axis."""
        return [Measured(self._at(point), *self._losses(point).estimate(policy)) for point in self.points]

    def ratios(self, policy: str, reference: str) -> list[Measured]:
        """Ratio of two policies' losses along the axis."""
        return [
            Measured(self._at(point), *self._losses(point).ratio(policy, reference)) for point in self.points
        ]

    def _at(self, point: Point) -> int:
        return point.dim if self.panel.axis == "d" else point.budget

    def _losses(self, point: Point) -> Losses:
        return point.losses[self.panel.loss]
