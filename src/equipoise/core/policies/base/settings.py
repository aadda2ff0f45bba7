"""Settings: the numbers that a compiled score reads, checked before any score reads them.

Compiled code finds not a number where there is no setting (see jit/bounded.py), which nobody would notice. So
a score is rehearsed in Python first, with what it will get.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.core.jit.bounded import bounded
from equipoise.core.policies.base.definition import rehearse_score
from equipoise.errors import InvalidPolicy

if TYPE_CHECKING:
    from equipoise.core.policies.base.policy import Policy
    from equipoise.core.problem.problem import Problem

_MOST_REMEMBERED = 1_000
_REHEARSED: set[tuple[Any, ...]] = set()


def score_settings(policy: Policy, problem: Problem) -> Vector:
    """The policy's settings for a problem, in the form in which its compiled score may read them."""
    with np.errstate(all="ignore"):  # what is not finite is refused below
        settings = _checked(policy, policy.settings(problem))
    function, m = type(policy).score, len(problem.arms)
    digest = hashlib.blake2b(settings.tobytes(), digest_size=16).digest()
    occasion = (function, digest, m, problem.dim, problem.units)
    if occasion not in _REHEARSED:
        rehearse_score(function, settings, arms=m, dim=problem.dim, units=problem.units)
        if len(_REHEARSED) >= _MOST_REMEMBERED:
            _REHEARSED.clear()
        _REHEARSED.add(occasion)
    return bounded(settings)


def _checked(policy: Policy, given: Any) -> Vector:
    from equipoise.core.policies.base.policy import Policy

    name = type(policy).__qualname__
    try:
        settings = np.array(given, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidPolicy(f"settings of {name} are not a list of numbers: {given!r}") from None
    if settings.ndim != 1:
        raise InvalidPolicy(
            f"settings of {name} have shape {settings.shape}, expected one dimension",
            hint="return a list of numbers",
        )
    # A field that is no number has its place, too.
    wrong = np.isinf(settings) if type(policy).settings is Policy.settings else ~np.isfinite(settings)
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise InvalidPolicy(
            f"settings[{place}] of {name} is {settings[place]}, not a finite number",
            hint=f"built as {policy!r}",
        )
    return settings
