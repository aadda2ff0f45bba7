"""Noise with heavy tails."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from equipoise.core.draws.streams import NOISE, SHAPE, Stream, fill_normals, new_stream, start
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.contexts.student import student_scale
from equipoise.lab.pieces.numbers import as_number
from equipoise.lab.pieces.piece import Block, Noise, piece


@piece("noise_shape")
@dataclass(frozen=True, kw_only=True)
class StudentNoise(Noise):
    """Heavy-tailed noise: Student t with ``dof`` degrees of freedom, scaled to the arm's variance."""

    dof: float = 4.0
    kind: ClassVar[str] = "student"

    def __post_init__(self) -> None:
        object.__setattr__(self, "dof", as_number("dof", self.dof))
        if not 2.0 < self.dof < math.inf:
            raise InvalidScenario(f"noise with dof={self.dof!r} has no variance", hint="give dof above 2")

    def fill(self, shocks: Block, seed: int, trial: int) -> None:
        """Write t variables of variance 1."""
        _fill(new_stream(), shocks, seed, trial, float(self.dof))


@compiled
def _fill(stream: Stream, shocks: Block, seed: int, trial: int, dof: float) -> None:
    for b in range(shocks.shape[0]):
        for i in range(shocks.shape[1]):
            fill_normals((seed, trial + b, NOISE, i, 0), 0, shocks[b], i, 0)
            for pull in range(shocks.shape[2]):
                start(stream, seed, trial + b, SHAPE, pull, i + 1)
                shocks[b, i, pull] *= student_scale(stream, dof)
