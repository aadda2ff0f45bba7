"""The contexts that means and contrasts are for: given ones, or the average of those seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.problem.features.contexts import Contexts
from equipoise.core.problem.real import NotReal, real_array
from equipoise.errors import InvalidArgument, InvalidContext

AVERAGE = "average"


def encoded(features: Contexts, contexts: Any) -> Matrix:
    """Contexts as models see them: records by their fields, numbers as they are; one vector of one."""
    if _is_record(contexts):
        return features.encode(contexts)
    if _is_table(contexts):
        return features.encode_many(contexts)
    try:
        found = real_array(contexts)
    except NotReal as error:
        raise InvalidContext(f"contexts hold {error}", hint=error.hint) from None
    except (TypeError, ValueError, OverflowError):
        hint = f"give rows of {features.dim} numbers each, or records"
        raise InvalidContext("contexts are not rows of numbers", hint=hint) from None
    if found.ndim not in (1, 2) or found.shape[-1] != features.dim:
        raise InvalidContext(f"contexts have shape {found.shape}, expected (rows, {features.dim})")
    if not np.all(np.isfinite(found)):
        raise InvalidContext("contexts hold values that are not finite numbers")
    return found


def places_of(features: Contexts, at: Any, average: Vector | None) -> tuple[list[str], Matrix]:
    """Names and vectors of the contexts that ``at`` means.

    ``at`` is ``"average"``, one context or several, or contexts by the names that a table should give them.
    """
    if isinstance(at, str):
        if at != AVERAGE:
            raise InvalidArgument(f"at={at!r} is no context", hint="give contexts, or 'average'")
        if average is None:
            raise InvalidContext("no context has been seen, so there is no average", hint="ask first")
        return [AVERAGE], average[None]
    if isinstance(at, Mapping) and at and all(_is_context(value) for value in at.values()):
        return [str(name) for name in at], np.array([_one(features, value) for value in at.values()])
    rows = np.atleast_2d(encoded(features, at))
    if not len(rows):
        raise InvalidContext("no context is given")
    return [str(number) for number in range(1, len(rows) + 1)], rows


def _one(features: Contexts, context: Any) -> Vector:
    found = encoded(features, context)
    if found.ndim != 1:
        raise InvalidContext("a name stands for one context", hint="give one record, or one vector, a name")
    return found


def _is_context(value: Any) -> bool:
    """Whether it can be a context by itself, as no value of a record's field can."""
    return isinstance(value, Mapping | Sequence | np.ndarray) and not isinstance(value, str | bytes)


def _is_record(contexts: Any) -> bool:
    return isinstance(contexts, Mapping) or (hasattr(contexts, "to_dict") and np.ndim(contexts) == 1)


def _is_table(contexts: Any) -> bool:
    if hasattr(contexts, "columns"):
        return True
    rows = isinstance(contexts, Sequence) and not isinstance(contexts, str | bytes) and len(contexts) > 0
    return rows and _is_record(contexts[0])
