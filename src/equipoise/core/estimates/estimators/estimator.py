"""What an estimator is, and which there are.

A new one is one file beside this one: a kernel that reads a trial's state and writes coefficients, a
``register`` at its end, and its name in the package's table of contents.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix
from equipoise.core.estimates.estimators.workspace import Workspace
from equipoise.core.problem.real import real_number
from equipoise.errors import InvalidArgument

RIDGE = "ridge"


@dataclass(frozen=True)
class Estimator:
    """How coefficients are made of the data, once for all layers; compiled when first used."""

    name: str
    fit: Callable[[State, Workspace], None]
    """Writes ``coefs``, ``centers`` and ``ridges`` of all arms of a settled state."""
    expect: Callable[[State, Workspace, Matrix], None] | None = None
    """Writes ``noise_errors`` and ``biases`` afterwards, given R with Σ = RᵀR; None: ``fit`` has."""


ESTIMATORS: dict[str, Estimator] = {}


def register(estimator: Estimator) -> None:
    """Make an estimator known by its name."""
    ESTIMATORS[estimator.name] = estimator


def estimator_words(name: str, ridge: float | None) -> str:
    """How final models were estimated, for people.

    >>> estimator_words("pooled", None), estimator_words("ridge", None), estimator_words("ridge", 0.5)
    ('pooled', 'ridge, λ = 1/n', 'ridge, λ = 0.5')
    """
    if name != RIDGE:
        return name
    return f"{name}, λ = {'1/n' if ridge is None else f'{ridge:.10g}'}"


def check_estimator(name: Any, ridge: Any) -> None:
    """Refuse a name that is not known, and a λ that is none or belongs to no estimator."""
    if not isinstance(name, str) or name not in ESTIMATORS:
        near = difflib.get_close_matches(str(name), ESTIMATORS, 1)
        words = ", ".join(repr(word) for word in ESTIMATORS)
        hint = f"did you mean {near[0]!r}?" if near else f"the estimators are {words}"
        if isinstance(name, int | float) and not isinstance(name, bool):
            hint = f"for a fixed λ give estimator='ridge', ridge={name!r}"
        raise InvalidArgument(f"no estimator is called {name!r}", hint=hint)
    if ridge is None:
        return
    try:
        penalty = math.nan if isinstance(ridge, bool | np.bool_) else real_number(ridge)
    except (TypeError, ValueError, OverflowError):
        penalty = math.nan
    if not 0.0 <= penalty < math.inf:
        known = isinstance(ridge, str) and ridge in ESTIMATORS
        hint = f"say estimator={ridge!r} instead" if known else "leave ridge out for 1/n"
        raise InvalidArgument(f"ridge={ridge!r} is not a number of at least 0", hint=hint)
    if name != RIDGE:
        raise InvalidArgument(
            f"ridge={ridge!r} is the λ of estimator='ridge', and the estimator is {name!r}",
            hint="leave ridge out, or say estimator='ridge'",
        )
