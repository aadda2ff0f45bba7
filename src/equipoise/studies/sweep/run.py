"""Run: every policy at every point, on common random numbers, kept as soon as it is finished."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from equipoise.core.policies.base.policy import Policy
from equipoise.errors import InvalidArgument
from equipoise.lab.results.simulation import SimulationResult
from equipoise.lab.running.simulate import check_counts, named_policies
from equipoise.lab.scenario import Scenario
from equipoise.studies.runner import Meter, Progress, Runner, simulation_work
from equipoise.studies.store import Store, open_folder
from equipoise.studies.sweep.axes import Axis
from equipoise.studies.sweep.points import SweepPoint, new_axes, sweep_points
from equipoise.studies.sweep.result import SweepResult
from equipoise.version import __version__


def sweep(
    scenario: Scenario,
    *,
    policies: Sequence[Policy | str],
    trials: int = 1_000,
    seed: int = 0,
    joined: bool = False,
    workers: int | None = None,
    executor: Executor | None = None,
    device: str = "cpu",
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    **axes: Iterable[Any],
) -> SweepResult:
    """Policies along any field of the scenario or of a policy, or along two of them as a grid.

    All policies meet the same draws at every point. Everything is checked before the first trial: a point
    that cannot be run is named.

    Parameters
    ----------
    scenario
        What all points have in common.
    policies
        Policies or their text forms.
    trials, seed, workers, executor, device
        As in :func:`equipoise.simulate`, at every point.
    joined
        Whether axes go together, value by value, instead of every value of one with every value of the other.
    checkpoint
        A folder that keeps finished trials. Another sweep with the same folder runs only what is missing:
        more trials, other values, further policies.
    progress
        Called with a label, the work done and all work.
    axes
        Values by name. A field of the scenario (``dim``, ``noise``), one arm's entry (``noise[2]``), a field
        of a piece (``contexts.dof``, ``delay.mean``), or a field of policies (``width``), which policies
        without it ignore; ``trace-ucb.width`` is of that policy alone. Names that are no Python names are
        given as ``**{"delay.mean": [0, 10]}``.

    Examples
    --------
    >>> import equipoise as eq
    >>> scenario = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=40)
    >>> found = eq.sweep(scenario, dim=range(2, 7, 2), policies=["uniform", "trace-ucb"], trials=20, seed=1)
    >>> found.losses().columns
    ('dim', 'policy', 'loss', 'value', 'stderr')
    >>> found.at(dim=4)["uniform"].trials
    20
    """
    check_counts(trials=trials, seed=seed, workers=workers)
    chosen, points = planned_points(scenario, policies, axes, joined=joined)
    folder = None if checkpoint is None else open_folder(Path(checkpoint), option="--checkpoint")
    shared = _by_scenario(points)
    total = sum(simulation_work(world, len(used), trials) for world, (_, used) in shared.items())
    runner = Runner(int(seed), workers, Store(folder), Meter(total, progress), executor, device)
    results: dict[int, SimulationResult] = {}
    worlds = [(world, list(used.values()), int(trials)) for world, (_, used) in shared.items()]
    with runner.ready_first(worlds) as order:
        for world, used, _ in (worlds[number] for number in order):
            places, _ = shared[world]
            title = points[places[0]].title
            label = title if len(places) == 1 else f"{title}, … ({len(places)} points)"
            found = runner.result(world, used, int(trials), label=label)
            for place in places:
                results[place] = _own(found, points[place])
    return SweepResult(
        scenario=scenario,
        axes={axis.name: axis.labels for axis in chosen},
        joined=joined,
        places=tuple(dict(point.at) for point in points),
        results=tuple(results[place] for place in range(len(points))),
        seed=int(seed),
        version=__version__,
    )


def planned_points(
    scenario: Scenario, policies: Sequence[Policy | str], axes: Mapping[str, Iterable[Any]], *, joined: bool
) -> tuple[tuple[Axis, ...], list[SweepPoint]]:
    """The axes of a sweep and its points, if all of them can be run."""
    if not isinstance(scenario, Scenario):
        raise InvalidArgument(f"{scenario!r} is not a scenario", hint="e.g. eq.GaussianScenario(...)")
    named = named_policies(policies)
    chosen = new_axes(axes, scenario, named, joined=joined)
    return chosen, sweep_points(scenario, named, chosen, joined=joined)


def _by_scenario(points: Sequence[SweepPoint]) -> dict[Scenario, tuple[list[int], dict[str, Policy]]]:
    """Points that share a scenario, and all their policies: those that are the same run once."""
    shared: dict[Scenario, tuple[list[int], dict[str, Policy]]] = {}
    for place, point in enumerate(points):
        places, used = shared.setdefault(point.scenario, ([], {}))
        places.append(place)
        used.update({policy.spec: policy for policy in point.policies.values()})
    return shared


def _own(found: SimulationResult, point: SweepPoint) -> SimulationResult:
    """The policies of a point, by the names they were given."""
    policies = {
        name: dataclasses.replace(found[policy.spec], name=name) for name, policy in point.policies.items()
    }
    return SimulationResult(found.scenario, found.seed, found.version, policies)
