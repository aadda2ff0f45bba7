"""Compiled scores and designs, one for every function: their addresses in this process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from equipoise.core.choice.scoring import compile_score
from equipoise.core.choice.weighing import compile_design
from equipoise.core.jit.fingerprint import code_fingerprint, lasting_fingerprint

if TYPE_CHECKING:
    from equipoise.core.policies.base.design import Design
    from equipoise.core.policies.base.policy import Policy


@dataclass(frozen=True)
class _CompiledScore:
    address: int
    owner: Any  # code whose owner is gone would be gone, too
    fingerprint: str


_SCORES: dict[Callable[..., float], _CompiledScore] = {}
_DESIGNS: dict[tuple[Callable[..., None], Callable[..., None]], _CompiledScore] = {}
# Experiments may still be on their way to these addresses.
_RETIRED: list[_CompiledScore] = []


def score_address(policy: Policy) -> int:
    """Address of the policy's compiled score in this process."""
    function = type(policy).score
    if function not in _SCORES:
        fingerprint, compiled = lasting_fingerprint(function), compile_score(function)
        _SCORES[function] = _CompiledScore(int(compiled.address), compiled, fingerprint)
    return _SCORES[function].address


def weights_address(design: Design) -> int:
    """Address of the design's compiled weights in this process."""
    kind = type(design)
    functions = kind.weigh, kind.remember
    fingerprint = " ".join(map(code_fingerprint, functions))
    known = _DESIGNS.get(functions)
    if known is None or known.fingerprint != fingerprint:
        if known is not None:
            _RETIRED.append(known)
        compiled = compile_design(*functions)
        known = _DESIGNS[functions] = _CompiledScore(int(compiled.address), compiled, fingerprint)
    return known.address


def recompile_if_changed(function: Callable[..., float]) -> None:
    """Machine code has constants of modules in it; a new one, say in a notebook, must be seen."""
    known = _SCORES.get(function)
    if known is not None and known.fingerprint != lasting_fingerprint(function):
        _RETIRED.append(_SCORES.pop(function))
