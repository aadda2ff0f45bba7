"""Which trials a GPU runs, and why it does not run others."""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.core.estimates.robust import ROBUST
from equipoise.core.policies.base.policy import Policy
from equipoise.errors import DeviceUnavailable, InvalidArgument, NotOnDevice
from equipoise.lab.arena import Arena
from equipoise.lab.gpu.driver import open_device
from equipoise.lab.scenario import Scenario

CPU, CUDA, AUTO = DEVICES = "cpu", "cuda", "auto"


def check_device(device: object) -> None:
    """Refuse words that name no device."""
    if device not in DEVICES:
        raise InvalidArgument(f"device={device!r} is not known", hint="use 'cpu', 'cuda' or 'auto'")


def obstacle(arena: Arena, policy: Policy) -> str | None:
    """Why trials of a policy cannot run on a GPU; None if they can."""
    if not isinstance(arena, Scenario):
        return "replayed tables are drawn from on the processor"
    if type(policy).staged:
        return f"{policy.spec} chooses features, which takes a processor after every stage"
    if arena.intervals == ROBUST:
        return "robust intervals are made by the code of experiments, on the processor"
    if arena.stop is not None:
        return "trials that stop at a target are looked at by the processor"
    if arena.accrual is not None:
        return "calendar time is kept on the processor"
    return None


def split(arena: Arena, policies: Mapping[str, Policy], device: str, *, elsewhere: bool) -> set[str]:
    """The names of those policies whose trials go to a GPU; refuses what was asked for and cannot be had.

    Trials that run ``elsewhere``, on a cluster, go to a GPU only if it was asked for: nobody knows whether
    there is one.
    """
    check_device(device)
    if device == CPU:
        return set()
    obstacles = {name: obstacle(arena, policy) for name, policy in policies.items()}
    possible = {name for name, reason in obstacles.items() if reason is None}
    if device == AUTO:
        return possible if possible and not elsewhere and _is_there() else set()
    for name, reason in obstacles.items():
        if reason is not None:
            raise NotOnDevice(
                f"{name} cannot run on a GPU here: {reason}", hint="use device='auto', or 'cpu'"
            )
    if not elsewhere:
        _open_one()
    return possible


def _open_one() -> None:
    # One that was opened before is asked something: this process may be forked from the one that did, or a
    # program may have broken it.
    open_device().free_bytes()


def _is_there() -> bool:
    try:
        _open_one()
    except DeviceUnavailable:
        return False
    return True
