"""What helpers are told: which program to compile, for which policy in which scenario."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from equipoise.core.jit.sources import is_stamped
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import Policy, parse_policy
from equipoise.lab.arena import Arena
from equipoise.lab.gpu.driver import Device
from equipoise.lab.gpu.offers import split
from equipoise.lab.gpu.turns.known import are_turns_known
from equipoise.lab.scenario import Scenario

_SECONDS = {
    **{"trials": (2.1, 0.9), "judged": (0.8, 0.9), "draws": (0.2, 0.4), "opened": (0.8, 0.8)},
    **{"turns": (0.5, 0.2), "elasticities": (0.9, 0.3)},
}
_SECONDS_IF_LOOKS = {"trials": (3.1, 2.4)}
"""What Numba's part of programs takes, about, and then each of them; only ratios matter."""
_OF_ARMS_ALONE = "turns", "elasticities"
"""Programs that serve all numbers of features."""
_SETTINGS = ("width", "bound", "delta", "caution")
"""Options of policies that are numbers in memory, and no part of a program."""

Task = dict[str, Any]
"""What a helper is told. Tasks of a ``kind`` have the same program."""


def tasks_of(arena: Arena, policies: Sequence[Policy | str], device: str) -> list[Task]:
    """The programs of some policies in an arena, as far as they will run on a GPU, each once."""
    named = {policy.spec: policy for policy in map(parse_policy, policies)}
    if not named:
        return []
    on_gpu = split(arena, named, device, elsewhere=False)
    if not isinstance(arena, Scenario):
        return []
    scenario, found = arena.to_dict(), list[Task]()
    world = _kind_of(scenario)
    for name, policy in named.items():
        if name not in on_gpu or not _is_known_to_helpers(policy):
            continue
        for what, kind in _programs(arena, policy):
            size = (len(arena.noise),) if what in _OF_ARMS_ALONE else (arena.dim, len(arena.noise))
            seconds = (_SECONDS_IF_LOOKS if type(policy).looks else {}).get(what, _SECONDS[what])
            task: Task = {"what": what, "kind": repr((what, world, kind, *size)), "seconds": seconds}
            found.append({"scenario": scenario, "policy": name, **task})
    return each_once([found])


def each_once(needed: Iterable[Iterable[Task]]) -> list[Task]:
    """The tasks of several points, those of a kind as the first of these has them."""
    found: dict[str, Task] = {}
    for task in itertools.chain.from_iterable(needed):
        found.setdefault(task["kind"], task)
    return list(found.values())


def done_name(device: Device, task: Task) -> str:
    """Under which name the disk says that a task was done."""
    return f"compiled ahead {device.description} {task['kind']}"


def _programs(scenario: Scenario, policy: Policy) -> Iterator[tuple[str, object]]:
    """What a policy needs in a scenario, and on what of the policy each depends."""
    options = {key: value for key, value in vars(policy).items() if key not in _SETTINGS}
    mine = policy.name, _kind_of(options)
    shared = mine if type(policy).weighs else _outline(policy)
    yield "draws", ()
    # Where turns are known, nothing of a policy is in programs that follow them.
    if are_turns_known(scenario, policy):
        yield from (("turns", mine), ("opened", "known turns"), ("trials", "known turns"))
    else:
        if _may_open(policy):
            yield "opened", shared
        yield from (("trials", mine), ("elasticities", mine))
    yield "judged", shared


def _is_known_to_helpers(policy: Policy) -> bool:
    """Whether all of a policy's functions are the package's own."""
    kind = type(policy)
    others = (kind.weigh, kind.remember) if issubclass(kind, Design) else ()
    return all(is_stamped(function) for function in (kind.score, *others))


def _may_open(policy: Policy) -> bool:
    """Whether a program of its own may begin a policy's trials."""
    kind = type(policy)
    return kind.forced_start and not kind.looks and not kind.weighs


def _outline(policy: Policy) -> tuple[bool, ...]:
    """What programs depend on that have nothing else of a policy: how much is kept of arms and units."""
    return type(policy).looks, policy.keeps_spread(), policy.lots() > 0.0


def _kind_of(value: object) -> object:
    """Plain values without their sizes, on which most programs do not depend, in some order."""
    if isinstance(value, Mapping):
        return sorted((name, _kind_of(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        return sorted({repr(_kind_of(item)) for item in value})
    return value if value is None or isinstance(value, bool | str) else value != 0
