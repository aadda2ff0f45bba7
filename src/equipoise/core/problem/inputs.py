"""What people hand to an experiment, checked before anything changes: contexts, outcomes, seeds."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled
from equipoise.core.problem.real import NotReal, are_plain, real_array, real_number
from equipoise.errors import InvalidArgument, InvalidContext, InvalidOutcome

if TYPE_CHECKING:
    from equipoise.core.problem.features.number import Number

_FLOAT = np.dtype(np.float64)

LONGEST_TEXT = 10_000
"""Characters of a remark or a reason."""
HALVES = "\ud800-\udfff"
"""Halves of signs, which no file can hold."""
NOT_IN_TEXT = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{HALVES}]")
_NOT_IN_A_LINE = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{HALVES}]")

LARGEST = 1e140
"""Contexts and residuals are squared and summed; beyond this they would overflow."""


def checked_context(x: npt.ArrayLike, dim: int) -> Vector:
    """One context as an array, or InvalidContext."""
    try:
        # What most callers hand over needs no look at its entries.
        known = x.dtype is _FLOAT if type(x) is np.ndarray else are_plain(x)
        # A copy: what is checked must be what is used, whatever another thread does to the caller's array.
        context: Vector = np.array(x if known else real_array(x), _FLOAT, order="C")
    except NotReal as error:
        raise InvalidContext(f"the context holds {error}", hint=error.hint) from None
    except (TypeError, ValueError, OverflowError):
        raise InvalidContext("the context is not a list of numbers") from None
    if context.shape != (dim,):
        raise InvalidContext(
            f"the context has shape {context.shape}, expected ({dim},)",
            hint="one number per feature, in the order of the problem",
        )
    if not is_within(context, LARGEST):
        place = int(np.flatnonzero(~(np.abs(context) < LARGEST))[0])
        if np.isfinite(context[place]):
            raise InvalidContext(
                f"the context is too large to square at position {place}: {context[place]}",
                hint="give the feature another unit",
            )
        raise InvalidContext(
            f"the context has no finite number at position {place}: {context[place]}",
            hint="impute missing features before asking",
        )
    return context


def checked_matrix(x: object, dim: int) -> Matrix | None:
    """Contexts that are an array of numbers already, all as they should be; None: look at them one by one."""
    if type(x) is not np.ndarray or x.dtype is not _FLOAT or x.shape[1:] != (dim,):
        return None
    contexts: Matrix = np.array(x, order="C")
    return contexts if is_within(contexts.ravel(), LARGEST) else None


def checked_outcome(outcome: float, field: Number | None = None) -> float:
    """An outcome as a finite number within the range of its field, or InvalidOutcome."""
    what, hint = "", "if it will never be known, declare the unit lost"
    try:
        value = float(outcome) if type(outcome) is int else real_number(outcome)
    except NotReal as error:
        value, what, hint = math.nan, f", but {error.what}", error.hint
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if math.isfinite(value) and not abs(value) < LARGEST:
        raise InvalidOutcome(f"outcome {outcome!r} is too large to square", hint="give it another unit")
    if not math.isfinite(value):
        raise InvalidOutcome(f"outcome {outcome!r} is not a finite number{what}", hint=hint)
    if field is not None:
        field.check_outcome(value)
    return value


def checked_text(text: str, what: str, *, longest: int = LONGEST_TEXT, one_line: bool = False) -> str:
    """What a person has written, or InvalidArgument; ``what`` is it called. Lines end as on this system."""
    if not isinstance(text, str) or not text.strip():
        raise InvalidArgument(f"{text!r} is not {what}", hint="write some words")
    if len(text) > longest:
        raise InvalidArgument(
            f"{what} has {len(text):,} characters, and may have {longest:,}",
            hint="shorten it, and keep the whole of it elsewhere",
        )
    text = text.replace("\r\n", "\n")
    found = (_NOT_IN_A_LINE if one_line else NOT_IN_TEXT).search(text)
    if found is not None:
        kept = "" if one_line else "; line breaks and tabs may stay"
        raise InvalidArgument(
            f"{what} holds a sign that cannot be shown, {found[0]!r} at place {found.start() + 1}",
            hint=f"remove it{kept}",
        )
    return text


def checked_seed(seed: int) -> int:
    """A seed, or InvalidArgument."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidArgument(f"seed={seed!r} is not a whole number of at least 0")
    return int(seed)


@compiled
def is_within(x: Vector, limit: float) -> bool:
    """Whether every entry is a number smaller than ``limit`` in size."""
    for c in range(x.shape[0]):
        if not abs(x[c]) < limit:
            return False
    return True
