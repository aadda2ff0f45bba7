"""Trials of several policies, a block at a time: what is drawn for one serves all."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.lab.trial.ledger import Ledger


class Seat(Protocol):
    """One policy, ready for any trial that was drawn."""

    def run(self, numbers: range, ledger: Ledger, row: int) -> None:
        """Run trials ``numbers``, the block's; fill the ledger from ``row`` on."""


def run_in_blocks(
    seats: Sequence[Seat],
    first: int,
    ledgers: Sequence[Ledger],
    *,
    block: int,
    draw: Callable[[int, int], None],
) -> Vector:
    """Run trials ``first``, ``first`` + 1, … at every seat until its ledger is full.

    ``draw(first, count)`` draws at most ``block`` trials. The answer is the seconds of each seat; those of
    drawing are shared out.
    """
    seconds = np.zeros(len(seats))
    trials = len(ledgers[0].errors)
    for row in range(0, trials, block):
        numbers = range(first + row, first + min(row + block, trials))
        begin = time.perf_counter()
        draw(numbers.start, len(numbers))
        seconds += (time.perf_counter() - begin) / len(seats)
        for k, (seat, ledger) in enumerate(zip(seats, ledgers, strict=True)):
            begin = time.perf_counter()
            seat.run(numbers, ledger, row)
            seconds[k] += time.perf_counter() - begin
    return seconds
