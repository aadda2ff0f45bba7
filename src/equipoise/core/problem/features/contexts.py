"""What a problem says of its contexts and outcomes, by whatever it was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from equipoise.core.problem.features.features import Features
from equipoise.core.problem.features.field import field_from_dict
from equipoise.core.problem.features.number import Number
from equipoise.core.problem.features.transformed import Transformed
from equipoise.core.problem.features.vectors import Vectors
from equipoise.core.problem.names import positive_integer
from equipoise.errors import InvalidFeatures, InvalidProblem

Contexts = Features | Transformed | Vectors


def contexts_of(features: Any, dim: int | None) -> Contexts:
    """What contexts look like: fields and a formula, a pipeline, or vectors with names or without."""
    if features is None or (isinstance(features, Vectors) and features.given_names is None):
        if dim is None:
            raise InvalidProblem(
                "the problem does not say what a context is",
                hint="give dim=…, the length of a vector, or features=eq.Features(…)",
            )
        return Vectors(positive_integer("dim", dim))
    known = isinstance(features, Features | Transformed | Vectors)
    contexts: Contexts = features if known else Vectors.named(features)
    if dim is not None and positive_integer("dim", dim) != contexts.dim:
        raise InvalidProblem(
            f"dim={dim}, but the features have {contexts.dim} columns: {', '.join(contexts.names)}",
            hint="leave dim out",
        )
    return contexts


def features_from_plain(values: Any) -> Any:
    """Features of plain data; a list of names stays one."""
    if not isinstance(values, Mapping):
        return values
    if "transformed" in values:
        raise InvalidFeatures(
            "a pipeline is not plain data, and cannot be read from it",
            hint="build the problem anew, with features=eq.Transformed(pipeline, fields=…)",
        )
    return Features.from_dict(values)


def outcome_field(outcome: Any) -> Number | None:
    """The range and unit of outcomes, a number that is neither centred nor missing."""
    if outcome is None:
        return None
    if not isinstance(outcome, Number):
        raise InvalidProblem(f"outcome={outcome!r} is not a Number", hint="eq.Number(0, 100, unit='mmHg')")
    if (outcome.center, outcome.scale, outcome.log, outcome.missing) != (None, 1.0, False, None):
        raise InvalidProblem(
            "an outcome has a range and a unit, nothing else",
            hint="tell transformed outcomes, or leave out center, scale, log and missing",
        )
    return outcome


def outcome_from_plain(values: Any) -> Any:
    """The field of outcomes that plain data describe."""
    return field_from_dict("the outcome", values)
