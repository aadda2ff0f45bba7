"""The six panels of Figure 1, and the sweeps that they are drawn from.

Panels (c) and (e), and (d) and (f), show two losses of the same trials, so they share a sweep.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from equipoise.core.policies.base.policy import registered_policies
from equipoise.errors import InvalidArgument
from equipoise.lab.reproduce.tables import TABLES
from equipoise.lab.scenario import GaussianScenario, Scenario

EQUAL = (1.0,) * 7
UNEQUAL = (0.01, 0.02, 0.75, 1.0, 2.0, 2.0, 3.0)

_PAPER = ("uniform", "oracle", "var-ucb", "trace-ucb")
_OURS = ("trace-gain",)

_DIMS = (5, 10, 15, 20, 23, 25, 30, 35, 40)
_BUDGETS = (115, 150, 185, 220, 255, 290, 325, 360)

RATE = "rate"
SPARSE = ("support", "sparse-budget", "sparse-screen")
ALL_SPARSE = "sparse"


@dataclass(frozen=True)
class Sweep:
    """Simulations along one axis."""

    name: str
    noise: tuple[float, ...]
    dims: tuple[int, ...]
    budgets: tuple[int, ...]
    trials: int

    @property
    def scenarios(self) -> list[Scenario]:
        """One scenario a point."""
        return [GaussianScenario(self.noise, dim, n) for n in self.budgets for dim in self.dims]


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


def chosen_panels(names: Sequence[str]) -> list[str]:
    """Names as they were typed, checked, in the paper's order; if there are none, all but sparse arms."""
    usual = [*PANELS, *TABLES, RATE]
    known = [*usual, ALL_SPARSE, *SPARSE]
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            raise InvalidArgument(f"no panel {name!r}", hint=f"{meant}panels: {', '.join(known)}")
    if not names:
        return usual
    every = ALL_SPARSE in names
    return [name for name in [*usual, *SPARSE] if name in names or (every and name in SPARSE)]


def needed_sweeps(panels: Iterable[str]) -> list[Sweep]:
    """The sweeps of some panels, each once."""
    return list(dict.fromkeys(PANELS[name].sweep for name in panels if name in PANELS))


def compared_policies() -> list[str]:
    """The paper's four policies, and ours as far as they are registered."""
    known = registered_policies()
    return [*_PAPER, *(name for name in _OURS if name in known)]


def scaled(trials: int, scale: float) -> int:
    """A number of trials times ``scale``; at least two, without which nothing has an error."""
    return max(2, round(trials * scale))
