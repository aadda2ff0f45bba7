"""A fresh trial: the arrays that a problem and a policy start from."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from equipoise.core.layout import State, new_state
from equipoise.core.objective import cost_discounts, variance_exponent
from equipoise.core.policy import Policy
from equipoise.core.problem import Problem
from equipoise.errors import InvalidPolicy


def trial_state(problem: Problem, policy: Policy, seed: int, *, capacity: int) -> State:
    """Arrays of a fresh trial of ``policy`` on ``problem``."""
    chance = policy.lots()
    if not 0.0 <= chance <= (1.0 if type(policy).looks else 0.0):
        raise InvalidPolicy(
            f"{policy.name} leaves {chance!r} of the units to chance",
            hint="a policy that looks (looks = True) may leave a share from 0 to 1",
        )
    return new_state(
        dim=problem.dim,
        budget=problem.units,
        money=float(problem.budget),
        exponent=variance_exponent(problem.objective),
        weights=problem.weights * cost_discounts(problem.costs, problem.objective),
        costs=problem.costs,
        floors=problem.floors,
        caps=problem.caps,
        order=tie_order(problem.arms, seed),
        whitener=problem.whitener(),
        learns_moment=problem.moment is None,
        forced_start=type(policy).forced_start,
        looks=type(policy).looks,
        pools=type(policy).pools,
        chance=chance,
        seed=seed % 2**63,
        capacity=capacity,
    )


def tie_order(arms: tuple[str, ...], seed: int) -> npt.NDArray[np.int64]:
    """Place of every arm in the order that the seed and the arms' names draw."""
    keys = [hashlib.blake2b(f"{seed}\0{arm}".encode(), digest_size=16).digest() for arm in arms]
    order = np.empty(len(arms), dtype=np.int64)
    order[sorted(range(len(arms)), key=keys.__getitem__)] = np.arange(len(arms))
    return order
