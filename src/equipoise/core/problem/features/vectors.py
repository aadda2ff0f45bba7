"""Contexts that are plain vectors of numbers, whose entries may have names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.plain import suggest
from equipoise.core.problem.inputs import checked_context, checked_matrix
from equipoise.errors import InvalidContext, InvalidFeatures

_IN_ORDER = (np.ndarray, list, tuple)
"""Types of contexts that are known to be no tables, which is slower to ask."""


class Vectors:
    """d numbers in the order of the problem; or, where they were named, a number a name.

    >>> Vectors.named(["1", "age"]).encode({"age": 54.0, "1": 1.0})
    array([ 1., 54.])
    """

    def __init__(self, dim: int, names: tuple[str, ...] | None = None) -> None:
        self.dim = dim
        self.given_names = names
        """None where nobody named the entries."""

    @classmethod
    def named(cls, names: Sequence[str]) -> Vectors:
        """Entries with names, as people give them."""
        if isinstance(names, str):
            raise InvalidFeatures(
                f"features={names!r} is one string",
                hint=f"give a list of names, or a formula with its fields: eq.Features({names!r}, …)",
            )
        try:
            listed = tuple(names)
        except TypeError:
            raise InvalidFeatures(f"features={names!r} is neither eq.Features nor a list of names") from None
        for name in listed:
            if not isinstance(name, str) or not name:
                raise InvalidFeatures(f"feature name {name!r} is not a non-empty string")
        twice = sorted({name for name in listed if listed.count(name) > 1})
        if twice:
            raise InvalidFeatures(f"feature name used twice: {', '.join(map(repr, twice))}")
        if not listed:
            raise InvalidFeatures("no features", hint="name at least one")
        return cls(len(listed), tuple(map(str, listed)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names that were given, or ``x[0]``, ``x[1]``, …."""
        return self.given_names or tuple(f"x[{j}]" for j in range(self.dim))

    def only(self, columns: Sequence[int]) -> Vectors:
        """Some of the entries."""
        names = self.given_names and tuple(self.given_names[j] for j in columns)
        return Vectors(len(columns), names)

    def encode(self, x: Any) -> Vector:
        """One context as an array, or InvalidContext."""
        if type(x) not in _IN_ORDER and isinstance(x, Mapping):
            x = self._in_order(x)
        return checked_context(x, self.dim)

    def encode_many(self, contexts: Any) -> Matrix:
        """Contexts as the rows of a matrix, or InvalidContext that says which unit is wrong."""
        if self.given_names and hasattr(contexts, "columns") and hasattr(contexts, "__getitem__"):
            contexts = self._in_order({name: contexts[name] for name in contexts.columns})
            contexts = np.column_stack([np.asarray(column) for column in contexts])
        # A data frame would list its columns, an array of one number nothing.
        # A masked array keeps its mask.
        table = hasattr(contexts, "__array__") and not isinstance(contexts, np.ndarray)
        rows = np.asarray(contexts) if table else contexts
        if not isinstance(rows, Iterable) or (isinstance(rows, np.ndarray) and rows.ndim != 2):
            raise InvalidContext("the batch is not a list of contexts", hint="one row of numbers a unit")
        matrix = checked_matrix(rows, self.dim)
        if matrix is not None:
            return matrix
        return np.array(encoded_rows(self.encode, rows)).reshape(-1, self.dim)

    def to_dict(self) -> list[str] | None:
        """The names as plain data, if somebody gave them."""
        return None if self.given_names is None else list(self.given_names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vectors) and (self.dim, self.given_names) == (other.dim, other.given_names)

    def __hash__(self) -> int:
        return hash((self.dim, self.given_names))

    def __repr__(self) -> str:
        return f"Vectors({self.dim}, {self.given_names!r})"

    def _in_order(self, values: Mapping[str, Any]) -> list[Any]:
        if self.given_names is None:
            raise InvalidContext(
                "the context is a record, but the problem has no names for its features",
                hint="build it with eq.Problem(arms, features=[…names…]) or features=eq.Features(…)",
            )
        for name in values:
            if name not in self.given_names:
                raise InvalidContext(f"no feature {name!r}", hint=suggest(str(name), self.given_names))
        missing = [name for name in self.given_names if name not in values]
        if missing:
            raise InvalidContext(f"no value of {', '.join(missing)}")
        return [values[name] for name in self.given_names]


def encoded_rows(encode: Any, rows: Iterable[Any]) -> list[Vector]:
    """Every row encoded, or InvalidContext that says which is wrong."""
    batch = []
    for j, row in enumerate(rows):
        try:
            batch.append(encode(row))
        except InvalidContext as error:
            error.message = f"unit {j} of the batch: {error.message}"
            raise
    return batch
