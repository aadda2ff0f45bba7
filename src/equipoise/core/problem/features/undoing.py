"""Columns with centre and scale undone: a model in the fields' own units.

Encoded columns are combinations of raw ones where the formula has all lower terms, as ``1 + age`` does for a
centred age and ``0 + age`` does not. The combinations are found by encoding records both ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from equipoise.core.arrays import Matrix
from equipoise.core.problem.features.category import Category
from equipoise.core.problem.features.encoder import Encoder
from equipoise.core.problem.features.field import Field
from equipoise.core.problem.features.number import Number
from equipoise.errors import InvalidFeatures

_ROUNDING = 1e-9


def combinations(formula: str, encoder: Encoder, fields: Mapping[str, Field]) -> Matrix:
    """A with z = A·r for encoded columns z and raw columns r, or InvalidFeatures."""
    raw = Encoder(
        formula,
        {name: field.unscaled() if isinstance(field, Number) else field for name, field in fields.items()},
    )
    rng = np.random.default_rng(0)
    units = [_record(fields, rng) for _ in range(20 * len(encoder.names) + 50)]
    encoded = np.array([encoder.encode(unit) for unit in units])
    plain = np.array([raw.encode(unit) for unit in units])
    sizes = np.sqrt(np.mean(plain**2, axis=0))
    found, _, rank, _ = np.linalg.lstsq(plain / sizes, encoded, rcond=None)
    off = np.max(np.abs(plain / sizes @ found - encoded), axis=0) / np.max(np.abs(encoded), axis=0)
    if rank < len(sizes) or np.max(off) > _ROUNDING:
        worst = encoder.names[int(np.argmax(off))]
        raise InvalidFeatures(
            f"centre and scale of {worst!r} cannot be undone: the formula lacks a term that this needs",
            hint="keep the lower terms, as '1 + age + sex + age:sex' does",
        )
    matrix: Matrix = (found / sizes[:, None]).T
    # What is nothing but rounding is 0, and a tenth is 0.1.
    small = np.abs(matrix) * sizes < _ROUNDING * np.max(np.abs(encoded), axis=0)[:, None]
    return np.array([[float(f"{entry:.12g}") for entry in row] for row in np.where(small, 0.0, matrix)])


def _record(fields: Mapping[str, Field], rng: np.random.Generator) -> dict[str, Any]:
    """A unit that might be: anything within the ranges, now and then something missing."""
    record: dict[str, Any] = {}
    for name, field in fields.items():
        if field.missing is not None and rng.random() < 0.2:
            continue
        if isinstance(field, Category):
            record[name] = field.levels[int(rng.integers(len(field.levels)))]
        elif isinstance(field, Number):
            record[name] = _number(field, rng)
    return record


def _number(field: Number, rng: np.random.Generator) -> float:
    if field.log:
        center = 1.0 if field.center is None else field.center
        low = field.low or (field.high or 1.1 * center) / 10.0
        high = field.high or 10.0 * max(low, center)
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))
    center, reach = field.center or 0.0, 3.0 * field.scale
    low = field.low if field.low is not None else min(center, field.high or center) - reach
    high = field.high if field.high is not None else max(center, low) + reach
    return float(rng.uniform(low, high))
