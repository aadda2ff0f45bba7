"""Estimates that shrink as far as the data justify: one word each, written once for all layers."""

from __future__ import annotations

from collections.abc import Callable

from equipoise.core.arms.state import State
from equipoise.core.estimates.shrinkage.leave_one_out import shrink_by_leaving_out
from equipoise.core.estimates.shrinkage.pooling import shrink_to_common
from equipoise.core.estimates.shrinkage.room import Room, new_room
from equipoise.core.estimates.shrinkage.stein import shrink_to_zero

METHODS: dict[str, Callable[[State, Room], None]] = {
    "leave-one-out": shrink_by_leaving_out,
    "empirical-bayes": shrink_to_zero,
    "pooled": shrink_to_common,
}
"""Compiled on first use, each for itself."""

__all__ = ["METHODS", "Room", "new_room"]
