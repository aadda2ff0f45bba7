"""Pipelines of scikit-learn, already fitted, in the place of fields and a formula.

What this costs: a pipeline is a program, not plain data. It is not written into problems' files, its numbers
come from whatever libraries are installed, so decisions are the same only where those are the same, and a
record takes as long as a data frame of one row: far longer than with a formula.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.plain import suggest
from equipoise.core.problem.features.field import ABSENT, Field
from equipoise.core.problem.features.records import as_record, as_records
from equipoise.core.problem.inputs import checked_context
from equipoise.errors import InvalidContext, InvalidFeatures, InvalidRecord


class Transformed:
    """Contexts that a fitted transformer or pipeline makes of records.

    Parameters
    ----------
    pipeline
        Anything with ``transform`` that takes a data frame and gives a row of numbers a unit.
    fields
        Names of the columns it takes, or fields by name, whose ranges and levels are checked first. What is
        missing is the pipeline's business.
    intercept
        Whether a constant comes first; pipelines rarely make one.
    """

    def __init__(
        self, pipeline: Any, *, fields: Mapping[str, Field] | Sequence[str], intercept: bool = True
    ) -> None:
        if not hasattr(pipeline, "transform"):
            raise InvalidFeatures(f"{pipeline!r} has no transform")
        if isinstance(fields, str) or not fields:
            raise InvalidFeatures("fields are names of columns, or fields by name")
        self.pipeline = pipeline
        self.fields: dict[str, Field | None] = (
            dict(fields) if isinstance(fields, Mapping) else dict.fromkeys(fields)
        )
        for name, field in self.fields.items():
            if field is not None and not isinstance(field, Field):
                raise InvalidFeatures(f"{name}={field!r} is not a field")
        self.intercept = bool(intercept)
        self.names = (*(["intercept"] if self.intercept else []), *_output_names(pipeline, [*self.fields]))
        self.dim = len(self.names)
        self._reads = {name: field.read(name, 0) for name, field in self.fields.items() if field is not None}

    @property
    def digest(self) -> str:
        """Tells two pipelines apart, by what they are made of."""
        # What a pickle shares between objects depends on where they come from; the second time it does not.
        settled = pickle.dumps(pickle.loads(pickle.dumps(self.pipeline)))
        return hashlib.blake2b(settled, digest_size=16).hexdigest()

    def encode(self, record: Any) -> Vector:
        """The vector that models see of one unit."""
        return self._encoded([self._checked(record)])[0]

    def encode_many(self, table: Any) -> Matrix:
        """The same of a data frame, or of a list of records; the pipeline runs once."""
        units = []
        for j, record in enumerate(as_records(table)):
            try:
                units.append(self._checked(record))
            except InvalidContext as error:
                error.message = f"unit {j} of the batch: {error.message}"
                raise
        return np.array(self._encoded(units) if units else []).reshape(-1, self.dim)

    def to_dict(self) -> dict[str, Any]:
        """What is known of the pipeline. It cannot be built again from that."""
        fields = {name: None if field is None else field.to_dict() for name, field in self.fields.items()}
        about = {"names": list(self.names), "digest": self.digest, "intercept": self.intercept}
        return {"transformed": {"fields": fields, **about}}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transformed) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Transformed({type(self.pipeline).__name__} {self.digest[:8]}, fields={list(self.fields)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        fields: Any = self.fields if self._reads else list(self.fields)
        return (_restored, (self.pipeline, fields, self.intercept))

    def _checked(self, value: Any) -> dict[str, Any]:
        record = as_record(value)
        for name in record:
            if name not in self.fields:
                raise InvalidRecord(f"no field {name!r}", hint=suggest(str(name), list(self.fields)))
        for name, read in self._reads.items():
            field = self.fields[name]
            assert field is not None
            given = record.get(name, ABSENT)
            read(given, [0.0] * len(field.slots(name)))
        return {name: record.get(name) for name in self.fields}

    def _encoded(self, units: list[dict[str, Any]]) -> list[Vector]:
        import pandas as pd

        frame = pd.DataFrame(units, columns=list(self.fields))
        try:
            found: Any = self.pipeline.transform(frame)
        except Exception as error:
            raise InvalidRecord(f"the pipeline fails: {type(error).__name__}: {error}") from error
        rows = np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=float)
        if self.intercept:
            rows = np.column_stack([np.ones(len(rows)), rows])
        return [checked_context(row, self.dim) for row in rows]


def _output_names(pipeline: Any, names: list[str]) -> list[str]:
    """What a fitted pipeline calls its columns."""
    try:
        return [str(name) for name in pipeline.get_feature_names_out()]
    except Exception:
        pass
    try:
        return [str(name) for name in pipeline.get_feature_names_out(names)]
    except Exception as error:
        raise InvalidFeatures(
            f"the pipeline does not tell its columns: {type(error).__name__}: {error}",
            hint="fit it first, on a data frame; every step needs get_feature_names_out",
        ) from None


def _restored(pipeline: Any, fields: Any, intercept: bool) -> Transformed:
    return Transformed(pipeline, fields=fields, intercept=intercept)
