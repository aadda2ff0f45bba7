"""Normal noise, which trials draw themselves, when they need it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from equipoise.lab.pieces.piece import Block, Noise, piece


@piece("noise_shape")
@dataclass(frozen=True, kw_only=True)
class GaussianNoise(Noise):
    """Normal noise."""

    kind: ClassVar[str] = "gaussian"
    at_hand: ClassVar[bool] = False

    def fill(self, shocks: Block, seed: int, trial: int) -> None:
        """Nothing: see trial/world.py."""
