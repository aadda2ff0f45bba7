"""Units that leave before their outcome arrives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core.arithmetic.logarithm import log
from equipoise.core.draws.streams import LEAVING, Stream, new_stream, start, uniform
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.numbers import as_number, as_numbers
from equipoise.lab.pieces.piece import Block, Leaving, piece


@piece("drop_out")
@dataclass(frozen=True, kw_only=True)
class DropOut(Leaving):
    """Units leave at a constant rate while their outcome is awaited: the longer, the more.

    ``rate`` is a number, or one an arm: a unit of that arm is still there after a time t with probability
    exp(−rate·t). That it left is known at once. Time is that of the accrual, or counted in units asked for
    without one.

    >>> DropOut(rate=[0.005, 0.02]).rate
    (0.005, 0.02)
    """

    rate: float | tuple[float, ...]
    kind: ClassVar[str] = "drop-out"

    def __post_init__(self) -> None:
        several = isinstance(self.rate, list | tuple | np.ndarray)
        rates = as_numbers("rate", self.rate) if several else (as_number("rate", self.rate),)
        object.__setattr__(self, "rate", rates if several else rates[0])
        if not rates or not all(0.0 <= rate < math.inf for rate in rates):
            raise InvalidScenario(
                f"rate={self.rate!r} is not a rate of at least 0, nor one an arm", hint="e.g. 0.01"
            )

    def check(self, arms: int) -> None:
        """Refuse another number of rates than there are arms."""
        if isinstance(self.rate, tuple) and len(self.rate) != arms:
            raise InvalidScenario(f"{len(self.rate)} rates of drop_out for {arms} arms")

    def fill(self, leaves: Block, seed: int, trial: int) -> None:
        """Write how long units would stay, longest of all where nobody leaves."""
        _fill(new_stream(), leaves, seed, trial)
        rates = np.broadcast_to(np.asarray(self.rate, float), leaves.shape[2:])
        with np.errstate(divide="ignore"):
            leaves /= rates


@compiled
def _fill(stream: Stream, leaves: Block, seed: int, trial: int) -> None:
    """Exponential times of rate 1, the same for all arms that a unit might get."""
    for b in range(leaves.shape[0]):
        for t in range(leaves.shape[1]):
            start(stream, seed, trial + b, LEAVING, t, 0)
            stay = -log(uniform(stream))
            for i in range(leaves.shape[2]):
                leaves[b, t, i] = stay
