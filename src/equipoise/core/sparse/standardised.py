"""The rows of all arms side by side, with columns of unit length in every arm.

A feature's columns of all arms lie end to end, so that one pass over memory serves a whole block. Arms
are padded with zeros to whole vectors (see lanes.py). Columns that are zero in an arm stay zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.lanes import (
    WIDTH,
    add_product,
    aligned_zeros,
    load,
    padded,
    spread,
    total,
)
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled, inlined

Integers = npt.NDArray[np.int64]


class Standardised(NamedTuple):
    """Contexts and outcomes by arm."""

    design: Matrix  # [d, width] of unit length in every arm, or zero
    starts: Integers  # [m + 1] where each arm begins in a row of design
    counts: Integers  # [m] rows of each arm
    lengths: Matrix  # [m, d] what columns were divided by; 1 for zero columns
    outcomes: Vector  # [width]


def standardise(contexts: Matrix, outcomes: Vector, arms: Integers, arm_count: int) -> Standardised:
    """Columns of every arm divided by their length; nothing is centred."""
    counts = np.bincount(arms, minlength=arm_count)
    widths = padded_widths(counts)
    starts = np.concatenate([[0], np.cumsum(widths)])
    # Where each row goes: rows of an arm keep their order.
    order = np.argsort(arms, kind="stable")
    first = np.concatenate([[0], np.cumsum(counts)])[:-1]
    places = np.repeat(starts[:-1] - first, counts) + np.arange(len(arms))
    dim = contexts.shape[1]
    design = aligned_zeros((dim, int(starts[-1])))
    # Squares of tiny numbers would vanish: the largest entry of a feature becomes 1 first.
    largest = np.abs(contexts).max(axis=0, initial=0.0)
    largest[largest == 0.0] = 1.0
    design[:, places] = (contexts[order] / largest).T
    lengths = np.ones((arm_count, dim))
    _to_unit_length(design, starts, lengths)
    lengths *= largest
    told = np.zeros(int(starts[-1]))
    told[places] = outcomes[order]
    return Standardised(design, starts, counts, lengths, told)


def padded_widths(counts: Integers) -> Integers:
    """Room for the rows of each arm."""
    return np.array([padded(int(count)) for count in counts], dtype=np.int64)


def spread_over_rows(per_arm: Vector, starts: Integers) -> Vector:
    """An arm's number at each of its places."""
    return np.repeat(per_arm, np.diff(starts))


def mean_squares(rows: Vector, data: Standardised) -> Vector:
    """Mean square of each arm's rows; 0 for arms without rows."""
    return squares_by_arm(rows, data.starts) / np.maximum(data.counts, 1)


def squares_by_arm(rows: Vector, starts: Integers) -> Vector:
    """Sum of squares of each arm's rows."""
    sums = np.zeros(len(starts) - 1)
    _add_squares(rows, starts, sums)
    return sums


@compiled
def _to_unit_length(design: Matrix, starts: Integers, lengths: Matrix) -> None:
    for j in range(design.shape[0]):
        for i in range(lengths.shape[0]):
            first = j * design.shape[1]
            length = np.sqrt(_square(design, first + starts[i], first + starts[i + 1]))
            if length > 0.0:
                lengths[i, j] = length
                for r in range(starts[i], starts[i + 1]):
                    design[j, r] /= length


@compiled
def _add_squares(rows: Vector, starts: Integers, sums: Vector) -> None:
    for i in range(sums.shape[0]):
        sums[i] = _square(rows, starts[i], starts[i + 1])


@inlined
def _square(values: npt.NDArray[np.float64], begin: int, end: int) -> float:
    sums = spread(0.0)
    for r in range(begin, end, WIDTH):
        entries = load(values, r)
        sums = add_product(sums, entries, entries)
    return total(sums)
