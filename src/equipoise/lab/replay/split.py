"""Rows that may not be on both sides: groups that stay together, and a past that is read before a future.

A trial takes whole groups, in random order or in that of time, until they hold half of the table's rows, or
more if the budget needs more. It reads n of their rows, drawn at random, and judges on all rows of the other
groups. Where rows have an order, a group is what has one time (or, if groups are given too, a group counts
from its first time), and the rows that are read come in their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equipoise.core.arrays import Counts
from equipoise.core.draws.streams import CONTEXT, Stream, multiply_wide, start, word
from equipoise.core.jit.decorators import compiled, inlined
from equipoise.lab.replay.table import ReplayTable

if TYPE_CHECKING:
    from equipoise.lab.replay.rows import Rows


class Groups(NamedTuple):
    """The rows of every group, one after the other."""

    members: Counts  # [rows]
    starts: Counts  # [groups + 1] where each group starts in them; [0] if rows are dealt one by one
    in_time: Counts  # [1] whether groups come in their order
    half: Counts  # [1] rows that are set aside for reading, at least


def groups_of(table: ReplayTable) -> Groups:
    """The groups of a table; none if its rows are dealt one by one."""
    flag = np.array([table.order is not None], np.int64)
    if table.labels is None:
        return Groups(np.zeros(0, np.int64), np.zeros(0, np.int64), flag, np.zeros(1, np.int64))
    sizes = np.bincount(table.labels)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    members = np.argsort(table.labels, kind="stable").astype(np.int64)
    half = min(table.rows // 2, most_read(table))
    return Groups(members, starts, flag, np.array([half], np.int64))


def most_read(table: ReplayTable) -> int:
    """The largest budget that leaves a row, or a group, to judge on in every trial."""
    if table.labels is None:
        return table.rows - 1
    sizes = np.bincount(table.labels)
    last = sizes[-1] if table.order is not None else sizes.max()
    return int(table.rows - last)


@compiled
def deal_groups(rows: Rows, seed: int, trial: int, place: int) -> None:
    """Deal a trial's rows from some groups, and note those of the others.

    A small budget's rows are those of a larger one, and the first of them unless rows have an order.
    """
    units, groups = rows.dealt.shape[1], rows.starts.shape[0] - 1
    start(rows.stream, seed, trial, CONTEXT, 0, 0)
    for g in range(groups):
        rows.queue[g] = g
    if not rows.in_time[0]:
        _mix(rows.queue, 0, groups, groups, rows.stream)
    taken, filled = 0, 0
    while filled < rows.half[0]:
        filled = _take(rows, taken, rows.pool, filled)
        taken += 1
    _mix(rows.pool, 0, filled, min(units, filled), rows.stream)
    while filled < units:
        first = filled
        filled = _take(rows, taken, rows.pool, filled)
        taken += 1
        _mix(rows.pool, first, filled, min(units, filled), rows.stream)
    judged = 0
    for g in range(taken, groups):
        judged = _take(rows, g, rows.judged[place], judged)
    rows.judged_count[place] = judged
    if rows.in_time[0]:
        _sort(rows, units)
    for t in range(units):
        rows.dealt[place, t] = rows.pool[t]


@inlined
def _take(rows: Rows, turn: int, into: Counts, filled: int) -> int:
    """Append the rows of the group whose turn it is; how many there are now."""
    group = rows.queue[turn]
    for k in range(rows.starts[group], rows.starts[group + 1]):
        into[filled] = rows.members[k]
        filled += 1
    return filled


@inlined
def _mix(values: Counts, first: int, last: int, until: int, stream: Stream) -> None:
    """A random order of values[first:last], as far as ``until`` (Fisher and Yates)."""
    for t in range(first, until):
        # The high half of a product with 64 random bits; unequal chances differ by 2⁻⁶⁴·rows at most.
        place, _ = multiply_wide(word(stream), np.uint64(last - t))
        j = t + np.int64(place)
        values[t], values[j] = values[j], values[t]


@inlined
def _sort(rows: Rows, units: int) -> None:
    """Put the first rows of the pool in the order of the table, which is that of time."""
    rows.marks[:] = 0
    for t in range(units):
        rows.marks[rows.pool[t]] = 1
    t = 0
    for row in range(rows.marks.shape[0]):
        if rows.marks[row]:
            rows.pool[t] = row
            t += 1
