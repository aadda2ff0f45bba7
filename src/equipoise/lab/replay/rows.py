"""The rows of a table as trials see them: dealt in random order, a block of trials at a time.

A trial deals n rows. The policy reads one target of each; the rows that were not dealt measure the errors,
through the whole table's sums minus the rows that were: O(d² + nd) an arm, however long the table is. Where
groups stay together or rows have an order, the rows of the other groups measure the errors, one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.draws.streams import CONTEXT, Stream, multiply_wide, new_stream, start, word
from equipoise.core.jit.decorators import compiled, inlined
from equipoise.core.jit.handles import handled
from equipoise.lab.pieces.piece import Block
from equipoise.lab.replay.fit import TableFit
from equipoise.lab.replay.split import deal_groups, groups_of
from equipoise.lab.replay.table import ReplayTable

# Contexts of this many bytes stay near the processor while all policies run on them.
_BLOCK_BYTES = 2**18

# Where a trial stands.
CLOCK = np.dtype([("place", "i8"), ("unit", "i8")], align=True)


@handled
class Rows(NamedTuple):
    """The table, a block of trials dealt from it, and the trial at hand."""

    contexts: Matrix  # the table's own
    targets: Matrix
    kept: Counts  # columns that say something new
    shift: Vector
    target_shift: Vector
    constant: Counts  # [1] whether the first feature is 1
    best: Matrix  # [m, d] best models of the whole table
    residual: Vector  # [m] their mean squared errors
    dealt: Counts  # [block, n] rows of the table
    features: Block  # [block, n, d] their features
    clock: npt.NDArray[Any]  # CLOCK[1]
    zeroes: Counts  # [1] whether an arm's first outcome is its zero
    origin: Vector  # [m] what is subtracted from the outcomes of every arm in this trial
    truth: Matrix  # [m, d] best models of such outcomes
    order: Counts  # [rows] the table's rows in their own order between trials
    swapped: Counts  # [n] the swaps that mix them
    members: Counts  # as in Groups
    starts: Counts
    in_time: Counts
    half: Counts
    queue: Counts  # [groups] in the order in which they are taken
    pool: Counts  # [rows] those that may be read
    marks: Counts  # [rows] those that are, where they have an order
    judged: Counts  # [block, rows] those that measure errors, if they are not all others
    judged_count: Counts  # [block]
    stream: Stream


def new_rows(table: ReplayTable, fit: TableFit, units: int, *, zeroes: bool) -> Rows:
    """The table as compiled trials read it.

    With ``zeroes`` and an intercept an arm's first outcome is its zero: least squares do not change, and a
    ridge does not pull predictions towards a zero that means nothing.
    """
    groups = groups_of(table)
    apart = table.rows if len(groups.starts) else 0
    block = max(1, min(64, _BLOCK_BYTES // (8 * (units * fit.dim + apart))))
    return Rows(
        contexts=_read_only(table.contexts),
        targets=_read_only(table.targets),
        kept=_read_only(fit.kept),
        shift=_read_only(fit.shift),
        target_shift=_read_only(fit.target_shift),
        constant=np.array([fit.constant], np.int64),
        best=_read_only(fit.best),
        residual=_read_only(fit.residual),
        dealt=np.zeros((block, units), np.int64),
        features=np.zeros((block, units, fit.dim)),
        clock=np.zeros(1, CLOCK),
        zeroes=np.array([zeroes and fit.constant], np.int64),
        origin=np.zeros(len(fit.best)),
        truth=fit.best.copy(),
        order=np.arange(table.rows),
        swapped=np.zeros(units, np.int64),
        members=groups.members,
        starts=groups.starts,
        in_time=groups.in_time,
        half=groups.half,
        queue=np.zeros(max(len(groups.starts) - 1, 0), np.int64),
        pool=np.zeros(apart, np.int64),
        marks=np.zeros(apart, np.int64),
        judged=np.zeros((block, apart), np.int64),
        judged_count=np.zeros(block, np.int64),
        stream=new_stream(),
    )


@compiled
def deal(rows: Rows, seed: int, first: int, count: int) -> None:
    """Deal trials ``first``, …, and read the features of what was dealt."""
    for place in range(count):
        if rows.starts.shape[0]:
            deal_groups(rows, seed, first + place, place)
        else:
            _shuffle(rows, seed, first + place)
            for t in range(rows.swapped.shape[0]):
                rows.dealt[place, t] = rows.order[t]
            _collect(rows)
        for t in range(rows.dealt.shape[1]):
            _read_features(rows, rows.dealt[place, t], rows.features[place], t)


@inlined
def _shuffle(rows: Rows, seed: int, trial: int) -> None:
    """The first rows of a random order (Fisher and Yates): a prefix of the same for every budget."""
    total = rows.order.shape[0]
    start(rows.stream, seed, trial, CONTEXT, 0, 0)
    for t in range(rows.swapped.shape[0]):
        # The high half of a product with 64 random bits; unequal chances differ by 2⁻⁶⁴·rows at most.
        place, _ = multiply_wide(word(rows.stream), np.uint64(total - t))
        j = t + np.int64(place)
        rows.swapped[t] = j
        rows.order[t], rows.order[j] = rows.order[j], rows.order[t]


@inlined
def _collect(rows: Rows) -> None:
    """Swap back, so that the next trial starts from the same order without touching every row."""
    for t in range(rows.swapped.shape[0] - 1, -1, -1):
        j = rows.swapped[t]
        rows.order[t], rows.order[j] = rows.order[j], rows.order[t]


@inlined
def _read_features(rows: Rows, row: int, features: Matrix, t: int) -> None:
    """Write the features of a row of the table as those of unit t."""
    first = rows.constant[0]
    if first:
        features[t, 0] = 1.0
    for c in range(rows.kept.shape[0]):
        features[t, first + c] = rows.contexts[row, rows.kept[c]] - rows.shift[c]


@inlined
def start_clock(rows: Rows, place: int) -> None:
    """Begin the trial at some place of the block."""
    rows.clock[0].place, rows.clock[0].unit = place, 0
    for i in range(rows.origin.shape[0]):
        rows.origin[i] = rows.target_shift[i]


@inlined
def read_outcome(rows: Rows, t: int, i: int, is_first: bool) -> float:
    """The outcome of unit t at arm i, counted from the arm's origin in this trial."""
    y = rows.targets[rows.dealt[rows.clock[0].place, t], i]
    if rows.zeroes[0] and is_first:
        rows.origin[i] = y
    return y - rows.origin[i]


@inlined
def place_truth(rows: Rows, i: int) -> None:
    """Write arm i's best model of outcomes that are counted from this trial's origin."""
    if rows.constant[0]:
        rows.truth[i, 0] = rows.best[i, 0] - rows.origin[i]


@compiled
def held_out_error(rows: Rows, coef: Vector, excess: float, i: int) -> float:
    """Mean squared error of a model of arm i on the rows that were not dealt.

    ``excess`` is how much worse it is than the best one on the whole table.
    """
    place = rows.clock[0].place
    if rows.starts.shape[0]:
        return _judged_error(rows, coef, i, place)
    used = 0.0
    units = rows.dealt.shape[1]
    for t in range(units):
        residual = rows.targets[rows.dealt[place, t], i] - rows.origin[i]
        for c in range(coef.shape[0]):
            residual -= rows.features[place, t, c] * coef[c]
        used += residual * residual
    total = rows.contexts.shape[0]
    left = total * (rows.residual[i] + excess) - used
    return max(left, 0.0) / (total - units)


@compiled
def _judged_error(rows: Rows, coef: Vector, i: int, place: int) -> float:
    """The same on the rows of the groups that were not taken."""
    first, total = rows.constant[0], 0.0
    for k in range(rows.judged_count[place]):
        row = rows.judged[place, k]
        residual = rows.targets[row, i] - rows.origin[i]
        if first:
            residual -= coef[0]
        for c in range(rows.kept.shape[0]):
            residual -= (rows.contexts[row, rows.kept[c]] - rows.shift[c]) * coef[first + c]
        total += residual * residual
    return total / rows.judged_count[place]


def _read_only(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # One kind of array, whoever made it (what comes to a cluster's worker cannot be written to): compiled
    # code is made for a kind.
    view = values.view()
    view.flags.writeable = False
    return view
