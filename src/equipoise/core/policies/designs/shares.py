"""The share of every arm among units like the one at hand, by least squares.

Let F be the rows f = (1, x) of all units before and T tell their arms. Then u = TᵀF(FᵀF)⁻¹f are the shares of
the arms that a regression on the contexts predicts for x; they sum to 1. In a perfectly even trial all are
1/m. Nothing changes if contexts are mapped linearly. Columns that depend on others (x often has a 1 of its
own) are left out; until there are as many units as columns, the shares are those of all units.

In a design's memory, q = d + 1: rows 0 … q − 1 have R with RᵀR = FᵀF, the next m the sums of f an arm, the
next four are scratch.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled
from equipoise.core.problem.problem import Problem

# What is left of an entry after all columns before it are taken out, if it depends on them.
_DEPENDENT = 1e-10

SCRATCH_ROWS = 4
_F, _W, SHARES, SPARE = range(SCRATCH_ROWS)


def memory_rows(problem: Problem) -> tuple[int, int]:
    """Rows and columns that the functions below need."""
    q, m = problem.dim + 1, len(problem.arms)
    return q + m + SCRATCH_ROWS, max(q, m)


@compiled
def count_unit(memory: Matrix, context: Vector, m: int, arm: int) -> int:
    """Let a unit enter sums and factor; return how many columns are independent."""
    q = context.shape[0] + 1
    z = memory[q + m + _F]
    _show(z, context)
    for c in range(q):
        memory[q + arm, c] += z[c]
    rank = 0
    for j in range(q):
        own, column = abs(1.0 if j == 0 else context[j - 1]), 0.0
        for r in range(j):
            column += abs(memory[r, j])
        if memory[j, j] == 0.0 and abs(z[j]) <= _DEPENDENT * (own + column):
            continue
        rank += 1
        square = memory[j, j] * memory[j, j] + z[j] * z[j]
        if z[j] != 0.0 and square > 0.0:
            length = np.sqrt(square)
            cosine, sine = memory[j, j] / length, z[j] / length
            memory[j, j] = length
            for c in range(j + 1, q):
                above, below = memory[j, c], z[c]
                memory[j, c] = cosine * above + sine * below
                z[c] = cosine * below - sine * above
    return rank


@compiled
def find_shares(memory: Matrix, context: Vector, m: int, units: int) -> float:
    """Write u into the scratch row ``SHARES``; return fᵀ(FᵀF)⁻¹f. Without units all are 0."""
    q = context.shape[0] + 1
    f, w, u = memory[q + m + _F], memory[q + m + _W], memory[q + m + SHARES]
    _show(f, context)
    leverage = forward(memory, f, q, units)
    backward(memory, f, w, q, units)
    for i in range(m):
        u[i] = 0.0
        for c in range(q):
            u[i] += memory[q + i, c] * w[c]
    return leverage


@compiled
def forward(memory: Matrix, f: Vector, q: int, units: int) -> float:
    """Replace f by a with Rᵀa = f, and return aᵀa; only the first column counts while units are few."""
    square, used = 0.0, q if units >= q else 1
    for j in range(q):
        entry = 0.0
        if j < used and memory[j, j] != 0.0:
            entry = f[j]
            for r in range(j):
                entry -= memory[r, j] * f[r]
            entry /= memory[j, j]
        f[j] = entry
        square += entry * entry
    return square


@compiled
def backward(memory: Matrix, a: Vector, w: Vector, q: int, units: int) -> None:
    """Write w with Rw = a."""
    used = q if units >= q else 1
    for j in range(q - 1, -1, -1):
        entry = 0.0
        if j < used and memory[j, j] != 0.0:
            entry = a[j]
            for c in range(j + 1, used):
                entry -= memory[j, c] * w[c]
            entry /= memory[j, j]
        w[j] = entry


@compiled
def _show(f: Vector, context: Vector) -> None:
    f[0] = 1.0
    for c in range(context.shape[0]):
        f[c + 1] = context[c]
