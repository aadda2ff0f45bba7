"""Complete randomisation: every unit's arm by lot, all arms alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import register


@register("complete")
@dataclass(frozen=True, kw_only=True)
class Complete(Design):
    """Draw every arm that may be chosen with the same probability.

    >>> Complete().spec
    'complete'
    """

    @staticmethod
    def weigh(
        arms: Any, trial: Any, settings: Vector, context: Vector, memory: Matrix, turns: Any, weights: Vector
    ) -> None:
        pass
