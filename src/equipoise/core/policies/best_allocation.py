"""Best-Allocation: the static allocation with the smallest finite-sample loss; it knows the noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from equipoise.core.policies.base.policy import register
from equipoise.core.policies.oracle import Oracle
from equipoise.core.theory.static import Counts, best_allocation


@register("best-allocation")
@dataclass(frozen=True, kw_only=True)
class BestAllocation(Oracle):
    """Give every arm the number of units that makes the finite-sample loss smallest, interleaved evenly.

    The loss is dσ²/(k−d−1) an arm, exact for least squares on Gaussian contexts. Prop. 1, rounded, may
    leave a quiet arm at d + 1 units, where that is infinite; here no arm stays there while the budget has a
    unit more for it. Elsewhere (contexts that are not Gaussian, outcomes that get lost) it is a
    reference and no optimum.

    Parameters
    ----------
    noise
        Noise variances σ² in the order of the arms. In simulations it may be left out: the lab
        fills in the truth.

    >>> BestAllocation(noise=(1.0, 2.0)).spec
    'best-allocation:noise=1.0,2.0'
    """

    allocation: ClassVar[Callable[..., Counts]] = staticmethod(best_allocation)
