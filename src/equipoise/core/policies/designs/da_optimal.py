"""Atkinson's biased coin: arms are drawn by how much the unit would sharpen the contrasts between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import register
from equipoise.core.policies.designs.shares import (
    SCRATCH_ROWS,
    SHARES,
    SPARE,
    count_unit,
    find_shares,
    forward,
    memory_rows,
)
from equipoise.core.problem.problem import Problem

# Stands for contrasts of which nothing is known yet; information is counted in units.
_LITTLE = 1e-4
# Rank-one updates until the inverse is computed afresh.
_UPDATES = 64
_AGE, _RANK = range(2)
# Rows of memory after the sums: scratch, the inverse of C, and rows to compute it with.
_INVERSE = SCRATCH_ROWS


@register("da-optimal")
@dataclass(frozen=True, kw_only=True)
class DAOptimal(Design):
    """Draw arms in proportion to what they would add to the precision of contrasts (Atkinson 1982).

    The model behind it has an effect of every arm and slopes that all arms share. With u the arms' shares
    among units like this one, and C the information about effects after the contexts are accounted for, arm j
    has weight (eⱼ − u)ᵀC⁻(eⱼ − u), the sensitivity of D_A-optimality. For two arms that is (1 − b)² against
    (1 + b)² with b = u₁ − u₂.

    >>> DAOptimal().spec
    'da-optimal'
    """

    def memory(self, problem: Problem) -> tuple[int, int]:
        """What shares need, the inverse of C, rows to compute it with, and its age."""
        rows, width = memory_rows(problem)
        return rows + 2 * len(problem.arms) + 1, max(width, 2)

    @staticmethod
    def weigh(
        arms: Any, trial: Any, settings: Vector, context: Vector, memory: Matrix, turns: Any, weights: Vector
    ) -> None:
        m, q = trial.arms, trial.dim + 1
        if trial.step == 0:
            return
        find_shares(memory, context, m, trial.step)
        shares, image = memory[q + m + SHARES], memory[q + m + SPARE]
        common = _image(memory, shares, image, q, m)
        for j in range(m):
            if weights[j] >= 0.0:
                weights[j] = max(memory[q + m + _INVERSE + j][j] - 2.0 * image[j] + common, 0.0)

    @staticmethod
    def remember(
        trial: Any, settings: Vector, context: Vector, memory: Matrix, stream: Any, row: int, arm: int
    ) -> None:
        m, q = trial.arms, trial.dim + 1
        notes = memory[memory.shape[0] - 1]
        leverage = find_shares(memory, context, m, row)
        rank = count_unit(memory, context, m, arm)
        fresh = row < q or rank != notes[_RANK] or notes[_AGE] >= _UPDATES
        notes[_RANK] = rank
        if fresh:
            notes[_AGE] = 0.0
            _invert_information(memory, q, m, row + 1)
            return
        # C + vvᵀ/(1 + fᵀ(FᵀF)⁻¹f) with v = e − u.
        notes[_AGE] += 1.0
        v, image = memory[q + m + SHARES], memory[q + m + SPARE]
        for i in range(m):
            v[i] = (1.0 if i == arm else 0.0) - v[i]
        scale = 1.0 + leverage + _image(memory, v, image, q, m)
        for i in range(m):
            line = memory[q + m + _INVERSE + i]
            for j in range(m):
                line[j] -= image[i] * image[j] / scale


@compiled
def _image(memory: Matrix, v: Vector, image: Vector, q: int, m: int) -> float:
    """Write C⁻¹v and return vᵀC⁻¹v."""
    square = 0.0
    for i in range(m):
        line = memory[q + m + _INVERSE + i]
        entry = 0.0
        for j in range(m):
            entry += line[j] * v[j]
        image[i] = entry
        square += entry * v[i]
    return square


@compiled
def _invert_information(memory: Matrix, q: int, m: int, units: int) -> None:
    """C = TᵀT − TᵀF(FᵀF)⁻¹FᵀT, a little added, and its inverse by Gauss and Jordan."""
    first = q + 2 * m + _INVERSE
    for i in range(m):
        sums = memory[first + i]
        for c in range(q):
            sums[c] = memory[q + i, c]
        forward(memory, sums, q, units)
    for i in range(m):
        line = memory[q + m + _INVERSE + i]
        for j in range(m):
            entry = memory[q + i, 0] + _LITTLE if i == j else 0.0
            for c in range(q):
                entry -= memory[first + i, c] * memory[first + j, c]
            line[j] = entry
    for k in range(m):
        pivot_line = memory[q + m + _INVERSE + k]
        # Never below what was added, but for rounding.
        pivot = max(pivot_line[k], 0.5 * _LITTLE)
        pivot_line[k] = 1.0
        for j in range(m):
            pivot_line[j] /= pivot
        for i in range(m):
            line = memory[q + m + _INVERSE + i]
            if i != k:
                times = line[k]
                line[k] = 0.0
                for j in range(m):
                    line[j] -= times * pivot_line[j]
