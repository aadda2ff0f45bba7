"""A fresh trial: the arrays that a problem and a policy start from."""

from __future__ import annotations

import numpy as np

from equipoise.core.arms.state import State, new_state
from equipoise.core.choice.ties import tie_order
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.scores import weights_address
from equipoise.core.problem.objective import cost_discounts, variance_exponent
from equipoise.core.problem.problem import Problem


def trial_state(problem: Problem, policy: Policy, seed: int, *, capacity: int) -> State:
    """Arrays of a fresh trial of ``policy`` on ``problem``."""
    state = new_state(
        dim=problem.dim,
        budget=problem.units,
        money=float(problem.budget),
        exponent=variance_exponent(problem.objective),
        weights=problem.weights * cost_discounts(problem.costs, problem.objective),
        costs=problem.costs,
        floors=problem.floors,
        caps=problem.caps,
        order=np.zeros(len(problem.arms), np.int64),
        whitener=problem.whitener(),
        learns_moment=problem.moment is None,
        forced_start=type(policy).forced_start,
        looks=type(policy).looks,
        pools=type(policy).pools,
        chance=policy.lots(),
        seed=seed % 2**63,
        capacity=capacity,
        memory=policy.memory(problem) if isinstance(policy, Design) else None,
        weights_address=weights_address(policy) if isinstance(policy, Design) else 0,
        keeps_spread=policy.keeps_spread(),
    )
    number_trial(state, problem, 0)
    return state


def number_trial(state: State, problem: Problem, number: int) -> None:
    """Make it trial ``number`` of the lab, with its own order of ties and its own lots; experiments are 0."""
    state.trial["number"] = number
    state.arms["order"] = tie_order(problem.arms, int(state.trial["seed"][0]), number)
