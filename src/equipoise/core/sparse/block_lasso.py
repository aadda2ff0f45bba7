"""The ℓ1/ℓ2 block lasso over arms with designs of their own, by block coordinate descent.

    minimise over b   ½ Σᵢ ‖yᵢ − Zᵢ bᵢ‖² + λ Σⱼ ‖(b₁ⱼ, …, bₘⱼ)‖₂

The columns of every Zᵢ have length 1, so the arms' coefficients of one feature are found in closed
form when the others stand still: with cᵢ = bᵢⱼ + zᵢⱼᵀrᵢ they are c·max(0, 1 − λ/‖c‖).

Descent runs over the features that the strong rule lets through (Tibshirani et al. 2012) and ends by
the duality gap over all features, so what the rule wrongly held back is let in again.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.core.arithmetic.lanes import WIDTH, add_product, load, spread, store, total
from equipoise.core.arrays import Vector
from equipoise.core.jit.decorators import compiled, inlined
from equipoise.core.sparse.acceleration import DEPTH, combine
from equipoise.core.sparse.task import Task

# Bounds for input on which descent crawls; the gap that was reached is returned.
_ROUNDS, _EPOCHS = 20, 500
# Epochs over the features with coefficients between two looks at the gap: two extrapolations.
_STRIDE = 2 * (DEPTH + 1)


@compiled
def begin(task: Task) -> None:
    """Start at λ = λ_max, where all coefficients are 0."""
    square = 0.0
    for r in range(task.target.shape[0]):
        square += task.target[r] * task.target[r]
    task.power[0] = 0.5 * square
    task.penalties[:] = _look(task, task.design.shape[0])


@compiled
def solve(task: Task, penalty: float, tolerance: float) -> float:
    """Descend from where the task stands; return the duality gap over ½‖y‖², at most ``tolerance``.

    Only where descent crawls through all its epochs is the gap larger.
    """
    dim = task.design.shape[0]
    goal = tolerance * task.power[0]
    count = _let_through(task, penalty)
    gap = np.inf
    for _ in range(_ROUNDS):
        _descend(task, count, penalty, goal)
        gap = _gap(task, penalty, _look(task, dim))
        if gap <= goal:
            break
        count = _let_in(task, count, penalty)
    task.penalties[1] = penalty
    return max(gap, 0.0) / task.power[0] if task.power[0] > 0.0 else 0.0


@compiled
def _let_through(task: Task, penalty: float) -> int:
    """Order working: first features with coefficients or a slope that may reach λ; return their number."""
    dim = task.design.shape[0]
    least = 2.0 * penalty - task.penalties[1]
    count, back = 0, dim
    for j in range(dim):
        if task.norms[j] > 0.0 or task.slopes[j] >= least:
            task.working[count] = j
            count += 1
        else:
            back -= 1
            task.working[back] = j
    return count


@compiled
def _let_in(task: Task, count: int, penalty: float) -> int:
    """Move features whose slope passes λ to the front; return the new number."""
    working = task.working
    for place in range(count, working.shape[0]):
        if task.slopes[working[place]] > penalty:
            working[place], working[count] = working[count], working[place]
            count += 1
    return count


@compiled
def _descend(task: Task, count: int, penalty: float, goal: float) -> None:
    """Epochs over the first ``count`` features of working until their own gap is half the goal."""
    for epoch in range(_EPOCHS):
        everything = epoch % _STRIDE == 0
        moved = 0.0
        for place in range(count):
            j = task.working[place]
            if everything or task.norms[j] > 0.0:
                moved += _update(task, j, penalty)
        # An epoch gains at least half of what it moved; looking at the gap costs half an epoch.
        if (everything and epoch > 0) or moved <= 0.1 * goal:
            gap = _gap(task, penalty, _look(task, count))
            if gap <= 0.5 * goal or moved == 0.0:
                return
        # The first stride is not worth it: most descents end there.
        if epoch >= _STRIDE:
            slot = epoch % (DEPTH + 1)
            for r in range(task.point.shape[0]):
                task.points[slot, r] = task.point[r]
            if slot == DEPTH:
                _extrapolate(task, penalty)


@compiled
def _extrapolate(task: Task, penalty: float) -> None:
    """Go where the last epochs head for, if the objective is lower there."""
    point, first, arms = task.points[DEPTH + 1], task.coefs.size, task.block.shape[0]
    if not combine(task.points, first, task.system, task.weights):
        return
    change = 0.0
    for r in range(first, point.shape[0]):
        change += 0.5 * (point[r] - task.point[r]) * (point[r] + task.point[r])
    for j in range(task.norms.shape[0]):
        change += penalty * (_length(point, j * arms, arms) - task.norms[j])
    if change < 0.0:
        for r in range(point.shape[0]):
            task.point[r] = point[r]
        for j in range(task.norms.shape[0]):
            task.norms[j] = _length(point, j * arms, arms)


@compiled
def _length(point: Vector, first: int, count: int) -> float:
    square = 0.0
    for r in range(first, first + count):
        square += point[r] * point[r]
    return math.sqrt(square)


@inlined
def _update(task: Task, j: int, penalty: float) -> float:
    """Best coefficients of feature j; return the squared distance to the old ones."""
    arms = task.block.shape[0]
    square = 0.0
    for i in range(arms):
        entry = task.coefs[j, i] + _product(task, j, i)
        task.block[i] = entry
        square += entry * entry
    length = np.sqrt(square)
    kept = 1.0 - penalty / length if length > penalty else 0.0
    if kept == 0.0 and task.norms[j] == 0.0:
        return 0.0
    task.norms[j] = kept * length
    moved = 0.0
    for i in range(arms):
        entry = kept * task.block[i]
        change = entry - task.coefs[j, i]
        task.coefs[j, i] = entry
        if change != 0.0:
            moved += change * change
            start = j * task.design.shape[1]
            step = spread(-change)
            for r in range(task.starts[i], task.starts[i + 1], WIDTH):
                store(
                    task.residuals,
                    r,
                    add_product(load(task.residuals, r), step, load(task.design, start + r)),
                )
    return moved


@inlined
def _product(task: Task, j: int, i: int) -> float:
    """zᵢⱼᵀrᵢ."""
    start = j * task.design.shape[1]
    left, right = spread(0.0), spread(0.0)
    end = task.starts[i + 1]
    r = task.starts[i]
    while r + 2 * WIDTH <= end:
        left = add_product(left, load(task.design, start + r), load(task.residuals, r))
        right = add_product(right, load(task.design, start + r + WIDTH), load(task.residuals, r + WIDTH))
        r += 2 * WIDTH
    if r < end:
        left = add_product(left, load(task.design, start + r), load(task.residuals, r))
    return total(left) + total(right)


@compiled
def _look(task: Task, count: int) -> float:
    """Slopes of the first ``count`` features of working; return the steepest."""
    steepest = 0.0
    for place in range(count):
        j = task.working[place]
        square = 0.0
        for i in range(task.block.shape[0]):
            slope = _product(task, j, i)
            square += slope * slope
        task.slopes[j] = np.sqrt(square)
        steepest = max(steepest, task.slopes[j])
    return steepest


@compiled
def _gap(task: Task, penalty: float, steepest: float) -> float:
    """Primal minus dual objective, the dual point being the residuals shrunk until they are feasible."""
    square, along, norms = 0.0, 0.0, 0.0
    for r in range(task.target.shape[0]):
        square += task.residuals[r] * task.residuals[r]
        along += task.residuals[r] * task.target[r]
    for j in range(task.norms.shape[0]):
        norms += task.norms[j]
    most = penalty / steepest if steepest > penalty else 1.0
    shrunk = min(along / square, most) if square > 0.0 else 0.0
    return 0.5 * square + penalty * norms - shrunk * along + 0.5 * shrunk * shrunk * square
