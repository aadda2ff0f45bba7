"""Where the block lasso works: data, solution and scratch of one problem along its path of penalties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.handles import handled
from equipoise.core.sparse.acceleration import DEPTH
from equipoise.core.sparse.standardised import Integers, Standardised


@handled
class Task(NamedTuple):
    """One problem along its path of penalties: data, solution and scratch."""

    design: Matrix  # [d, width]
    starts: Integers  # [m + 1]
    target: Vector  # [width] outcomes in the arms' noise units
    power: Vector  # [1] ½‖y‖²
    coefs: Matrix  # [d, m] of the standardised columns
    norms: Vector  # [d] lengths of the rows of coefs
    residuals: Vector  # [width]
    slopes: Vector  # [d] ‖Zⱼᵀr‖, for the features of the last look
    working: Integers  # [d] features that take part in descent
    penalties: Vector  # [2] λ_max, and the λ that slopes belong to
    point: Vector  # coefs and residuals, end to end
    # Scratch
    block: Vector  # [m]
    points: Matrix  # [DEPTH + 2, as point] what the last epochs left, and their combination
    system: Matrix  # [DEPTH, DEPTH]
    weights: Vector  # [DEPTH]


def new_task(data: Standardised, target: Vector) -> Task:
    """All coefficients 0; block_lasso.begin brings it to λ_max."""
    dim, arms = len(data.design), len(data.counts)
    point = np.concatenate([np.zeros(dim * arms), target])
    return Task(
        design=data.design,
        starts=data.starts,
        target=target,
        power=np.zeros(1),
        coefs=point[: dim * arms].reshape(dim, arms),
        norms=np.zeros(dim),
        residuals=point[dim * arms :],
        slopes=np.zeros(dim),
        working=np.arange(dim),
        penalties=np.zeros(2),
        block=np.zeros(arms),
        point=point,
        points=np.zeros((DEPTH + 2, len(point))),
        system=np.zeros((DEPTH, DEPTH)),
        weights=np.zeros(DEPTH),
    )


def largest_penalty(task: Task) -> float:
    """λ_max = maxⱼ ‖Zⱼᵀy‖, above which no feature is active."""
    return float(task.penalties[0])
