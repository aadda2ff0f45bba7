"""Contexts with heavy tails."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from equipoise.core.draws.streams import SHAPE, Stream, gamma, new_stream, start
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidScenario
from equipoise.lab.pieces.contexts.correlated import CorrelatedContexts
from equipoise.lab.pieces.contexts.gaussian import fill_normal_contexts
from equipoise.lab.pieces.numbers import as_number
from equipoise.lab.pieces.piece import Block, piece


@piece("contexts")
@dataclass(frozen=True, kw_only=True)
class StudentContexts(CorrelatedContexts):
    """Heavy tails: a multivariate t with ``dof`` degrees of freedom, scaled to the covariance."""

    dof: float = 5.0
    kind: ClassVar[str] = "student"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "dof", as_number("dof", self.dof))
        if not 2.0 < self.dof < math.inf:
            raise InvalidScenario(f"contexts with dof={self.dof!r} have no variance", hint="give dof above 2")

    def fill(self, contexts: Block, first: int, seed: int, trial: int) -> None:
        """Write features that share one heavy-tailed scale a unit."""
        fill_normal_contexts(contexts, first, seed, trial)
        _scale(new_stream(), contexts, first, seed, trial, float(self.dof))


@compiled
def _scale(stream: Stream, contexts: Block, first: int, seed: int, trial: int, dof: float) -> None:
    for b in range(contexts.shape[0]):
        for t in range(contexts.shape[1]):
            start(stream, seed, trial + b, SHAPE, t, 0)
            scale = student_scale(stream, dof)
            for c in range(first, contexts.shape[2]):
                contexts[b, t, c] *= scale


@compiled
def student_scale(stream: Stream, dof: float) -> float:
    """What turns a normal into a Student variable of unit variance."""
    return np.sqrt((dof - 2.0) / (2.0 * gamma(stream, dof / 2.0)))
