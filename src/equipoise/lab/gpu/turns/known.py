"""Whose turns are known before a trial begins, and in which scenarios."""

from __future__ import annotations

from equipoise.core.jit.sources import is_stamped
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.gpu.programs.drawing import is_drawn_there
from equipoise.lab.scenario import Scenario


def is_by_counts(policy: Policy) -> bool:
    """Whether counts alone decide who gets a unit.

    A class says so of the score that is its own, and what it says counts for those below it as long as they
    have that score. Nobody else's claim is taken: scores of others might read more.
    """
    kind = type(policy)
    lines = (above for above in kind.__mro__ if issubclass(above, Policy))
    says = next(above for above in lines if "counts_alone" in vars(above))
    is_its_own = "score" in vars(says) and kind.score is says.score and is_stamped(kind.score)
    otherwise = kind.forced_start or kind.looks or kind.pools or kind.staged or kind.weighs
    return says.counts_alone and is_its_own and not otherwise and policy.lots() == 0.0


def are_turns_known(scenario: Scenario, policy: Policy) -> bool:
    """Whether a policy's turns are known in a scenario: nothing but counts keeps an arm from a unit."""
    limits = scenario.costs, scenario.floors, scenario.caps
    varies = scenario.heteroscedasticity, scenario.noise_drift
    return (
        is_by_counts(policy)
        and is_drawn_there(scenario)
        and not any(limits)
        and not any(varies)
        and scenario.moment != "learned"
    )
