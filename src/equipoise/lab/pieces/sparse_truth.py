"""Coefficients most of which are 0."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core.arrays import Counts
from equipoise.core.draws.streams import TRUTH, Stream, new_stream, normal, start, uniform
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.numbers import as_count, as_number
from equipoise.lab.pieces.piece import Block, Truth, piece


@piece("truth")
@dataclass(frozen=True, kw_only=True)
class SparseTruth(Truth):
    """Coefficients that are drawn for every trial, and 0 for all but some ``features``.

    Which features, is drawn, too. Each of them matters in a share ``overlap`` of the arms, at least in
    one; there its coefficient is ``scale`` with a random sign (``values="unit"``), or normal with that
    standard deviation (``"normal"``). Beside these every arm has ``own`` features that matter in no other:
    ``features=3, own=3`` are arms that share half of their features, ``features=0, own=6`` arms that share
    none.
    """

    features: int
    overlap: float = 1.0
    values: str = "unit"
    scale: float = 1.0
    own: int = 0
    kind: ClassVar[str] = "sparse"

    def __post_init__(self) -> None:
        for name in ("features", "own"):
            object.__setattr__(self, name, as_count(name, getattr(self, name), least=0))
        for name in ("overlap", "scale"):
            object.__setattr__(self, name, as_number(name, getattr(self, name)))
        if not 0.0 <= self.overlap <= 1.0:
            raise InvalidScenario(
                f"overlap={self.overlap!r} is not between 0 and 1",
                hint="1: every feature matters in all arms",
            )
        if not 0.0 < self.scale < math.inf:
            raise InvalidScenario(f"scale={self.scale!r} is not a positive number", hint="e.g. 0.5")
        if self.values not in ("unit", "normal"):
            raise InvalidScenario(f"values={self.values!r}", hint="use 'unit' or 'normal'")

    def arms_of_feature(self, arms: int) -> int:
        """In how many arms a feature matters."""
        return max(1, round(self.overlap * arms))

    def check(self, arms: int, dim: int) -> None:
        """Refuse more features that matter than there are."""
        matter = self.features + arms * self.own
        if matter > dim:
            raise InvalidScenario(
                f"{matter} features that matter are more than the {dim} that there are",
                hint="give fewer features that matter, or a larger dim",
            )

    def fill(self, coefs: Block, seed: int, trial: int) -> None:
        """Write coefficients of which all but some features are 0."""
        _, arms, dim = coefs.shape
        places, turns = np.zeros(dim, np.int64), np.zeros(arms, np.int64)
        share, unit = self.arms_of_feature(arms), self.values == "unit"
        numbers = (self.features, self.own, share, unit, float(self.scale))
        _fill(new_stream(), coefs, seed, trial, *numbers, places, turns)


@compiled
def _fill(
    stream: Stream,
    coefs: Block,
    seed: int,
    trial: int,
    features: int,
    own: int,
    share: int,
    unit: bool,
    scale: float,
    places: Counts,
    turns: Counts,
) -> None:
    """``share`` is the number of arms in which a feature matters; ``places`` and ``turns`` are scratch."""
    arms = coefs.shape[1]
    for b in range(coefs.shape[0]):
        coefs[b, :, :] = 0.0
        start(stream, seed, trial + b, TRUTH, arms, 0)
        _deal(stream, places, features + arms * own)
        for f in range(features):
            start(stream, seed, trial + b, TRUTH, arms + 1, f)
            _deal(stream, turns, share)
            for k in range(share):
                coefs[b, turns[k], places[f]] = scale * _value(stream, unit)
        for i in range(arms):
            for f in range(features + i * own, features + (i + 1) * own):
                start(stream, seed, trial + b, TRUTH, arms + 1, f)
                coefs[b, i, places[f]] = scale * _value(stream, unit)


@compiled
def _value(stream: Stream, unit: bool) -> float:
    """A coefficient."""
    value = normal(stream)
    if unit:
        value = 1.0 if value > 0.0 else -1.0
    return value


@compiled
def _deal(stream: Stream, places: Counts, count: int) -> None:
    """0, 1, … in an order whose first ``count`` places are random."""
    for j in range(places.shape[0]):
        places[j] = j
    for t in range(count):
        j = t + int(np.floor(uniform(stream) * (places.shape[0] - t)))
        places[t], places[j] = places[j], places[t]
