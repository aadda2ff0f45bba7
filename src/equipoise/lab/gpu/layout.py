"""Where the arrays of trials lie on a GPU: what programs of the same functions differ in.

Every trial of a block has arrays of its own in the GPU's memory. Small ones that every decision reads and
writes lie in the memory beside the processors (*shared* memory) while the trial runs: every team of threads
has a *share* of it. What a whole block of trials has in common is there once.

A program has a table among its constants, with a row for every array: its address, the bytes from one trial's
to the next one's, and its shape. Numbers of arms and features are written into the program itself, so that
loops over them are short and known; those of units and trials are not, so that a program serves every budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from equipoise.core.arrays import Counts
from equipoise.lab.gpu.teams.lanes import WARP, Team

_LINE = 32
"""Bytes that a GPU reads at once."""
_WIDEST = 16
"""Bytes that a thread reads at once."""
_BANKS = 128
"""Bytes that threads read at the same time without waiting, from the memory beside the processors."""

ADDRESS, STRIDE, SHAPE, COLUMNS = 0, 1, 2, 8
"""What stands where in a row of the table."""

Groups = Mapping[str, Any]
"""Named tuples of arrays, by what functions call them: those of one trial, or of all."""


@dataclass(frozen=True)
class Places:
    """Where the arrays of a group lie."""

    own: frozenset[str] = frozenset()
    """Those that every trial has for itself."""
    near: frozenset[str] = frozenset()
    """Of these, those that lie beside the processors while the trial runs."""
    kept: frozenset[str] = frozenset()
    """Of these, those that somebody reads when the trial is over."""
    same: Mapping[str, str] = field(default_factory=dict)
    """Those of which every row is one and the same other array."""
    held: frozenset[str] = frozenset()
    """Single records that the loop over the units keeps in registers."""
    fixed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Fields of these that the loop does not change."""
    constant: frozenset[str] = frozenset()
    """Numbers that nobody changes, which follow the table among a program's constants: one array at most."""
    drawn: frozenset[str] = frozenset()
    """Those that were drawn for every trial of a block."""
    long: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Axes along which some have units or trials; other lengths are numbers in the program."""

    @property
    def lasting(self) -> frozenset[str]:
        """Those that every trial has in the GPU's memory."""
        return (self.own - self.near - self.same.keys()) | self.kept

    def without(self, names: Iterable[str]) -> Places:
        """The same with some of them no longer beside the processors."""
        return replace(self, near=self.near.difference(names))

    def constants(self, name: str, shape: tuple[int, ...]) -> tuple[int | None, ...]:
        """The lengths of an array that are written into programs; None for the others."""
        long = () if 0 in shape else self.long.get(name, ())
        return tuple(None if axis in long else length for axis, length in enumerate(shape))


def all_arrays(groups: Groups) -> Iterator[tuple[str, str, Any]]:
    """Group, name and array, in the order of the table."""
    for group, arrays in groups.items():
        for name, array in zip(arrays._fields, arrays, strict=True):
            yield group, name, array


@dataclass(frozen=True)
class Share:
    """Where arrays lie in a team's share of the memory beside the processors, and how long that is."""

    offsets: Mapping[tuple[str, str], int]
    size: int


def share_of(groups: Groups, places: Mapping[str, Places], team: Team) -> Share:
    """Put arrays into a share one after the other."""
    offsets, size = {}, 0
    for group, name, array in all_arrays(groups):
        if name in places[group].near:
            offsets[group, name] = size
            size += -(-int(array.nbytes) // _WIDEST) * _WIDEST
    # The same number of the trials of a warp, which it reads at once, is in different places of the banks.
    step = max(_BANKS * team.size // WARP, 8)
    while size % _BANKS != step % _BANKS:
        size += 8
    return Share(offsets, size)


def trial_bytes(array: Any) -> int:
    """Bytes from one trial's array to the next one's."""
    return -(-int(array.nbytes) // _LINE) * _LINE


def table_row(shape: tuple[int, ...], address: int, stride: int = 0) -> Counts:
    """What functions need to know of an array."""
    row = np.zeros(COLUMNS, np.int64)
    row[ADDRESS], row[STRIDE] = address, stride
    row[SHAPE : SHAPE + len(shape)] = shape
    return row


Known = Mapping[str, Mapping[str, Any]]
"""What is known of single records when a program is compiled: entries by the names of arrays and fields."""


@dataclass(frozen=True)
class Layout:
    """Where the arrays of a program lie, and who works on a trial."""

    groups: Groups
    places: Mapping[str, Places]
    team: Team
    share: Share = Share({}, 0)
    known: Mapping[str, Known] = field(default_factory=dict)
    """See :func:`~equipoise.lab.gpu.places.known_of`."""

    @property
    def table_words(self) -> int:
        """How long the table is, without what follows."""
        return COLUMNS * sum(1 for _ in all_arrays(self.groups))

    @property
    def dim(self) -> int:
        """Rows of an arm's factor."""
        return int(self.groups["state"].factors.shape[2])

    @property
    def width(self) -> int:
        """Columns of it."""
        return int(self.groups["state"].factors.shape[3])

    def row(self, group: str, name: str) -> int:
        """Which row of the table is an array's."""
        names = [(of, each) for of, each, _ in all_arrays(self.groups)]
        return names.index((group, name))
