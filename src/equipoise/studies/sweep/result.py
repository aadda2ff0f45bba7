"""What a sweep found: a simulation a point, and tidy tables over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.tables.tidy import TidyTable
from equipoise.errors import InvalidArgument
from equipoise.lab.results.estimate import Estimate
from equipoise.lab.results.simulation import SimulationResult
from equipoise.lab.results.words import LOSSES
from equipoise.lab.scenario import Scenario
from equipoise.studies.sweep.axes import label
from equipoise.studies.sweep.points import place_words


@dataclass(frozen=True, eq=False)
class SweepResult:
    """Policies compared at every point of a sweep."""

    scenario: Scenario
    """What all points have in common; its swept fields are those that it was given with."""
    axes: Mapping[str, tuple[Any, ...]]
    """Values by axis, numbers and words."""
    joined: bool
    places: tuple[Mapping[str, Any], ...]
    """Where every point lies on the axes."""
    results: tuple[SimulationResult, ...]
    """The simulation at every point, in the same order."""
    seed: int
    version: str
    numerics: int = NUMERICS

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of the policies, as they were given."""
        return tuple(self.results[0].policies)

    @property
    def trials(self) -> int:
        """Trials of every policy at every point."""
        return self.results[0].trials

    @property
    def loss(self) -> str:
        """The loss that the policies were asked to make small, as far as there is one."""
        return "expected_max" if self.scenario.objective == "max" else "mean"

    @property
    def metadata(self) -> dict[str, Any]:
        """Everything that is needed to run it again."""
        return {
            "version": self.version,
            "numerics": self.numerics,
            "seed": self.seed,
            "trials": self.trials,
            "scenario": self.scenario.to_dict(),
            "axes": {name: list(values) for name, values in self.axes.items()},
            "joined": self.joined,
            "policies": list(self.policies),
            "units": "squared units of the outcome",
        }

    def __iter__(self) -> Iterator[tuple[Mapping[str, Any], SimulationResult]]:
        return iter(zip(self.places, self.results, strict=True))

    def __len__(self) -> int:
        return len(self.results)

    def at(self, **where: Any) -> SimulationResult:
        """The simulation at a point, ``at(dim=10, budget=350)``; an axis of one value may be left out."""
        wanted = {name: label(value) for name, value in where.items()}
        for name in wanted:
            if name not in self.axes:
                raise InvalidArgument(f"{name} was not swept", hint=f"swept: {', '.join(self.axes)}")
        found = [
            result for at, result in self if all(_same(at[name], value) for name, value in wanted.items())
        ]
        if len(found) != 1:
            many = "no point" if not found else f"{len(found)} points"
            listed = "; ".join(f"{name}: {', '.join(map(str, own))}" for name, own in self.axes.items())
            raise InvalidArgument(f"{many} at {place_words(wanted) or 'no given place'}", hint=listed)
        return found[0]

    def losses(self, *, quantiles: tuple[float, ...] = ()) -> TidyTable:
        """Tidy table: a column an axis, policy, loss, value, stderr."""
        rows = [
            (*at.values(), *row.values())
            for at, result in self
            for row in result.losses(quantiles=quantiles).records()
        ]
        return TidyTable([*self.axes, "policy", "loss", "value", "stderr"], rows, self.metadata)

    def differences(self, reference: str | None = None) -> TidyTable:
        """Every policy minus the reference, the first unless given, paired by trial; below zero is better.

        Columns are one an axis, policy, reference, loss, value and stderr, as
        :meth:`SimulationResult.difference` has them.
        """
        base = self.policies[0] if reference is None else reference
        rows = []
        for at, result in self:
            for policy in self.policies:
                if policy != base:
                    for loss in LOSSES:
                        found = result.difference(policy, base, loss)
                        rows.append((*at.values(), policy, base, loss, found.value, found.stderr))
        columns = [*self.axes, "policy", "reference", "loss", "value", "stderr"]
        return TidyTable(columns, rows, self.metadata)

    def curve(self, policy: str, loss: str | None = None) -> list[Estimate]:
        """A loss of a policy at every point, in the order of :attr:`places`."""
        chosen = self.loss if loss is None else loss
        return [loss_at(result, policy, chosen) for result in self.results]

    def figure(self, loss: str | None = None) -> Any:
        """A matplotlib figure: a line a policy along one axis, a panel a value of the other.

        ``figure().savefig("sweep.svg")`` writes it down.
        """
        from equipoise.studies.sweep.drawing import sweep_figure

        return sweep_figure(self, self.loss if loss is None else loss)

    def record(self) -> dict[str, Any]:
        """The object that ``--json`` prints: at every point what a simulation prints."""
        return {
            **{name: self.metadata[name] for name in ("version", "numerics", "scenario", "trials", "seed")},
            "axes": self.metadata["axes"],
            "joined": self.joined,
            "points": [{"at": dict(at), **result.record()} for at, result in self],
        }

    def __str__(self) -> str:
        return str(self.losses())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.losses()._repr_html_()


def loss_at(result: SimulationResult, policy: str, loss: str) -> Estimate:
    """A loss of a policy by its key."""
    if loss in LOSSES:
        estimate: Estimate = getattr(result[policy], loss)()
        return estimate
    losses = result.losses_of(policy)
    if loss not in losses:
        raise InvalidArgument(f"no loss {loss!r}", hint=f"losses: {', '.join(losses)}")
    return losses[loss]


def _same(one: Any, other: Any) -> bool:
    # 1 and True are equal, and not the same value.
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
