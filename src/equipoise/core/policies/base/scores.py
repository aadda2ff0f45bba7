"""Compiled scores, one for every function: their addresses in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equipoise.core.choice.scoring import compile_score
from equipoise.core.jit.fingerprint import code_fingerprint

if TYPE_CHECKING:
    from equipoise.core.policies.base.policy import Policy


@dataclass(frozen=True)
class _CompiledScore:
    address: int
    owner: Any  # code whose owner is gone would be gone, too
    fingerprint: str


_SCORES: dict[Callable[..., float], _CompiledScore] = {}
# Experiments may still be on their way to these addresses.
_RETIRED: list[_CompiledScore] = []


def score_address(policy: Policy) -> int:
    """Address of the policy's compiled score in this process."""
    function = type(policy).score
    if function not in _SCORES:
        fingerprint, compiled = code_fingerprint(function), compile_score(function)
        _SCORES[function] = _CompiledScore(int(compiled.address), compiled, fingerprint)
    return _SCORES[function].address


def recompile_if_changed(function: Callable[..., float]) -> None:
    """Machine code has constants of modules in it; a new one, say in a notebook, must be seen."""
    known = _SCORES.get(function)
    if known is not None and known.fingerprint != code_fingerprint(function):
        _RETIRED.append(_SCORES.pop(function))
