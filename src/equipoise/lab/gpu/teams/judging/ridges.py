"""Judging by ridge arm by arm, each shared out among all threads of a trial.

The same sums as in core/estimates/ridge.py, core/arithmetic/solving.py and lab/trial/judge.py, each in the
same order; but a processor goes from one sum to the next, and here every thread has rows or entries of its
own. The matrices lie beside the processors. Most trials are judged as abreast.py says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from equipoise.core.arithmetic import solving
from equipoise.core.arms import coordinates
from equipoise.core.estimates import ridge as ridges
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.teams.judging.abreast import use_arms_abreast
from equipoise.lab.gpu.teams.judging.systems import room_of
from equipoise.lab.gpu.teams.lanes import WARP, Team, member, team_size, wait
from equipoise.lab.trial import judge as judging


def judging_team(state: Any, judge: Any) -> Team:
    """A warp for arms side by side; for one after the other about a thread for every row."""
    is_narrow = room_of(state, judge) is None and state.factors.shape[2] <= WARP // 2
    return Team(WARP // 2 if is_narrow else WARP)


def use_rows(relink: Relinker) -> None:
    """Let copies of compiled functions share out rows among threads."""
    replacements: list[tuple[Any, Callable[..., None]]] = [
        (coordinates.copy_arm, _copy_arm),
        (ridges.weigh_products, _weigh_products),
        (ridges.take_off, _take_off),
        (solving.cholesky_solve, _cholesky_solve),
        (judging.squared_rows, _squared_rows),
    ]
    for kernel, function in replacements:
        relink.replace(kernel, Kernel(function))
    use_arms_abreast(relink)


def _copy_arm(state: Any, i: int, root: Any, coef: Any) -> None:
    dim = coef.shape[0]
    data = state.arms[i].buffer
    wait()
    for r in range(member(), dim, team_size()):
        coef[r] = state.coefs[i, r]
    for r in range(dim):
        for c in range(member(), dim, team_size()):
            root[r, c] = state.factors[i, data, r, c]
    wait()


def _weigh_products(root: Any, least_squares: Any, weights: Any, system: Any, along: Any) -> None:
    scale, diagonal = weights
    dim = along.shape[0]
    wait()
    for r in range(member(), dim, team_size()):
        entry = 0.0
        for k in range(dim):
            entry += root[k, r] * least_squares[k]
        along[r] = entry
    # Entries of the triangle, row by row. Threads look for their next one first, and then sum together.
    r, c = 0, member()
    for _ in range(0, dim * (dim + 1) // 2, team_size()):
        while c > r:
            c -= r + 1
            r += 1
        if r < dim:
            entry = diagonal if r == c else 0.0
            for k in range(dim):
                weighted = root[k, r] * scale
                entry += weighted * root[k, c]
            system[r, c] = entry
        c += team_size()
    wait()


def _take_off(root: Any, along: Any, least_squares: Any, ridge: float, coef: Any) -> None:
    dim = along.shape[0]
    wait()
    for r in range(member(), dim, team_size()):
        entry = 0.0
        for k in range(dim):
            entry += root[r, k] * along[k]
        coef[r] = least_squares[r] - ridge * entry
    wait()


def _squared_rows(root: Any, squares: Any) -> None:
    wait()
    for r in range(member(), root.shape[0], team_size()):
        square = 0.0
        for k in range(root.shape[1]):
            square += root[r, k] * root[r, k]
        squares[r] = square
    wait()


def _cholesky_solve(system: Any, x: Any) -> None:
    dim = x.shape[0]
    wait()
    # Column by column: entries of a column need those before it only.
    for c in range(dim):
        for r in range(c + member(), dim, team_size()):
            entry = system[r, c]
            for k in range(c):
                entry -= system[r, k] * system[c, k]
            if r == c:
                open_end = entry <= solving.OPEN * system[r, r]
                system[r, r] = np.inf if open_end else np.sqrt(entry)
            else:
                system[r, c] = entry
        wait()
        for r in range(c + 1 + member(), dim, team_size()):
            system[r, c] /= system[c, c]
        wait()
    for c in range(dim):
        if member() == c % team_size():
            x[c] /= system[c, c]
        wait()
        for r in range(c + 1 + member(), dim, team_size()):
            x[r] -= system[r, c] * x[c]
        wait()
    for r in range(dim - 1, -1, -1):
        entry = x[r]
        for k in range(r + 1, dim):
            entry -= system[k, r] * x[k]
        wait()
        x[r] = entry / system[r, r]
        wait()
