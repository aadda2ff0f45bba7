"""Inner products, number by number: on a GPU threads multiply side by side, and add up in this order."""

from __future__ import annotations

from equipoise.core.arrays import Vector
from equipoise.core.jit.decorators import inlined


@inlined
def inner(x: Vector, y: Vector) -> float:
    """xᵀy."""
    total = 0.0
    for r in range(x.shape[0]):
        total += x[r] * y[r]
    return total


@inlined
def less_inner(number: float, x: Vector, y: Vector) -> float:
    """A number less xᵀy, term by term."""
    for r in range(x.shape[0]):
        number -= x[r] * y[r]
    return number
