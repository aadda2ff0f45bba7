"""The six panels of Figure 1, and the sweeps that they are drawn from.

Panels (c) and (e), and (d) and (f), show two losses of the same trials, so they share a sweep.
"""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.core.policies.base.policy import registered_policies
from equipoise.lab.scenario import GaussianScenario, Scenario
from equipoise.studies.noise import EQUAL, UNEQUAL
from equipoise.studies.sweep.points import swept_scenarios

_PAPER = ("uniform", "oracle", "var-ucb", "trace-ucb")
_OURS = ("trace-gain",)

_DIMS = (5, 10, 15, 20, 23, 25, 30, 35, 40)
_BUDGETS = (115, 150, 185, 220, 255, 290, 325, 360)


@dataclass(frozen=True)
class Sweep:
    """Simulations along one axis."""

    name: str
    noise: tuple[float, ...]
    dims: tuple[int, ...]
    budgets: tuple[int, ...]
    trials: int

    @property
    def arenas(self) -> list[Scenario]:
        """One scenario a point."""
        first = GaussianScenario(self.noise, self.dims[0], self.budgets[0], estimator="ridge")
        return swept_scenarios(first, {"budget": self.budgets, "dim": self.dims})


@dataclass(frozen=True)
class Panel:
    """One loss of one sweep, as a curve a policy."""

    id: str
    sweep: Sweep
    loss: str

    @property
    def axis(self) -> str:
        """What varies: ``"d"`` or ``"n"``."""
        return "d" if len(self.sweep.dims) > 1 else "n"


_EQUAL_DIM = Sweep("equal-dim", EQUAL, _DIMS, (350,), 10_000)
_UNEQUAL_DIM = Sweep("unequal-dim", UNEQUAL, _DIMS, (350,), 10_000)
_EQUAL_BUDGET = Sweep("equal-budget", EQUAL, (10,), _BUDGETS, 30_000)
_UNEQUAL_BUDGET = Sweep("unequal-budget", UNEQUAL, (10,), _BUDGETS, 30_000)

PANELS = {
    panel.id: panel
    for panel in (
        Panel("a", _EQUAL_DIM, "median_max"),
        Panel("b", _UNEQUAL_DIM, "median_max"),
        Panel("c", _EQUAL_BUDGET, "expected_max"),
        Panel("d", _UNEQUAL_BUDGET, "expected_max"),
        Panel("e", _EQUAL_BUDGET, "median_max"),
        Panel("f", _UNEQUAL_BUDGET, "median_max"),
    )
}


def compared_policies() -> list[str]:
    """The paper's four policies, and ours as far as they are registered."""
    known = registered_policies()
    return [*_PAPER, *(name for name in _OURS if name in known)]
