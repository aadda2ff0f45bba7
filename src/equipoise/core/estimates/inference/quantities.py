"""Numbers that are estimated together: a table with an interval for each, and one for all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.inference.combinations import Combined
from equipoise.core.tables.digits import between, by_error, p_digits
from equipoise.core.tables.tidy import ForReaders, TidyTable


class Inference(TidyTable):
    """Coefficients, means or contrasts, one a row: a tidy table, and arrays in the same order.

    ``p_values`` and ``intervals`` are of each number by itself; ``adjusted_p_values`` and
    ``simultaneous`` hold for all rows together, by the bounds of Šidák and Banerjee
    (:mod:`equipoise.core.estimates.inference.simultaneous`). Ask for fewer rows, and these get narrower.
    """

    values: Vector
    """The estimates, by least squares; not a number where the data do not determine them."""
    stderr: Vector
    """Standard errors, with what adaptive allocation does to them undone; infinite where not known."""
    dof: Vector
    """Degrees of freedom of the standard errors."""
    intervals: Matrix
    """[rows, 2] low and high of each by itself."""
    simultaneous: Matrix
    """[rows, 2] low and high, such that all cover together."""
    p_values: Vector
    """Of each number being 0."""
    adjusted_p_values: Vector
    """Of all numbers being 0 together, one number at a time."""
    confidence: float

    def __init__(
        self,
        labels: Mapping[str, Sequence[str]],
        found: Combined,
        *,
        confidence: float,
        value: str,
        metadata: Mapping[str, Any],
        notes: Sequence[str] = (),
        beside: Mapping[str, Vector] | None = None,
        tested: bool = True,
        for_readers: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """``labels`` name the rows, ``value`` the numbers; ``beside`` are further estimates of them.

        ``for_readers`` are labels that people see instead.
        """
        self.values, self.confidence = found.values, confidence
        self.stderr, self.dof = found.spread.stderr, found.spread.freedom
        self.intervals = _around(self.values, found.spread.half(confidence))
        self.simultaneous = _around(self.values, found.spread.half_of_all(confidence))
        self.p_values = found.spread.p_values(self.values)
        self.adjusted_p_values = found.spread.p_values_of_all(self.values)
        several = len(self.values) > 1
        columns: dict[str, Sequence[Any]] = {name: list(names) for name, names in labels.items()}
        columns |= {name: estimates.tolist() for name, estimates in (beside or {}).items()}
        columns |= {value: self.values.tolist(), "stderr": self.stderr.tolist(), "dof": self.dof.tolist()}
        columns |= {"low": self.intervals[:, 0].tolist(), "high": self.intervals[:, 1].tolist()}
        columns["simultaneous_low"] = self.simultaneous[:, 0].tolist()
        columns["simultaneous_high"] = self.simultaneous[:, 1].tolist()
        if tested:
            columns |= {
                "p_value": self.p_values.tolist(),
                "adjusted_p_value": self.adjusted_p_values.tolist(),
            }
        level = f"{100 * confidence:g} % interval"
        named = labels if for_readers is None else for_readers
        header = [name.replace("_", " ") for name in (*named, *(beside or {}), value)]
        header += ["s.e.", level, *(["simultaneous"] if several else [])]
        header += [*(["p"] if tested else []), *(["adjusted p"] if tested and several else [])]
        rows = [
            [
                *(names[row] for names in named.values()),
                *(by_error(each[row], self.stderr[row]) for each in (beside or {}).values()),
                by_error(self.values[row], self.stderr[row]),
                by_error(self.stderr[row], self.stderr[row]),
                between(self.intervals[row].tolist(), self.stderr[row]),
                *([between(self.simultaneous[row].tolist(), self.stderr[row])] if several else []),
                *([p_digits(self.p_values[row])] if tested else []),
                *([p_digits(self.adjusted_p_values[row])] if tested and several else []),
            ]
            for row in range(len(self.values))
        ]
        together = [f"Simultaneous: for all {len(rows)} rows at once (Šidák, Banerjee)."] if several else []
        super().__init__(
            list(columns),
            list(zip(*columns.values(), strict=True)),
            {**metadata, "confidence": confidence},
            ForReaders(header, rows, len(named), [" ".join([*together, *notes])]),
        )


def _around(values: Vector, half: Vector) -> Matrix:
    known = np.isfinite(half)
    center, half = np.where(known, values, 0.0), np.where(known, half, np.inf)
    return np.column_stack([center - half, center + half])
