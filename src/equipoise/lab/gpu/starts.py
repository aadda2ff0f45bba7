"""The first d + 1 units of an arm together, where a trial has many threads.

A unit of an arm whose contexts do not span all directions yet is turned into a triangle, entry by entry
(core/arms/factor.py, ``rotate``): each turn needs the one before. Nobody reads that triangle until the arm
has d + 1 units. So units are put by until then, and all are turned at once: unit k may make its turn j when
it has made turn j − 1, and unit k − 1 has made turn j. Turns with the same k + j are made at the same time.
Every number is computed as if one unit had come after the other.

An entry that is zero where a unit should take its place in the triangle is left to ``rotate`` itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from equipoise.core.arms import factor, least_squares
from equipoise.core.arms.whitening import whiten
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.lanes import Team


def use_joint_starts(relink: Relinker, team: Team) -> Kernel:
    """Let copies put units by; gives what finishes a trial's arms that have too few."""
    whitened, rotate = relink(whiten), relink(factor.rotate)
    invert_data = relink(least_squares.invert_data)
    triangulate = Kernel(_triangulation(team))
    gather = Kernel(_gathering(whitened, rotate))
    member, size = team.number, team.size

    def collect(state: Any, i: int, y: float) -> None:
        arm = state.arms[i]
        k, dim = arm.observed, state.z.shape[0]
        arm.pending -= 1
        arm.observed += 1
        if k < dim:
            for c in range(member(), dim, size):
                state.factors[i, arm.buffer, k, c] = state.z[c]
            state.coefs[i, k] = y
            return
        if k > dim:
            left = rotate(state.factors[i, arm.buffer], state.coefs[i], state.z, y)
            arm.rss += left * left
        else:
            g, buffer = state.g, arm.buffer
            if triangulate(state.factors, state.scratch, state.z, g, state.coefs, i, buffer, y):
                arm.rss += g[0] * g[0]
            else:
                gather(state, i)
        invert_data(state, i)

    def finish(state: Any) -> None:
        for i in range(state.arms.shape[0]):
            if 0 < state.arms[i].observed <= state.z.shape[0]:
                gather(state, i)

    relink.replace(least_squares.collect, Kernel(collect))
    return Kernel(finish)


def _gathering(whitened: Any, rotate: Any) -> Callable[..., None]:
    def gather(state: Any, i: int) -> None:
        """One unit after the other."""
        arm = state.arms[i]
        dim = state.z.shape[0]
        for r in range(dim):
            state.coefs[i, r] = 0.0
            for c in range(dim):
                state.factors[i, arm.buffer, r, c] = 0.0
        arm.rss = 0.0
        for row in range(state.trial[0].step):
            if state.rows[row].arm == i:
                whitened(state.whitener, state.contexts, row, state.z)
                y = state.outcomes[row]
                left = rotate(state.factors[i, arm.buffer], state.coefs[i], state.z, y)
                arm.rss += left * left

    return gather


def _triangulation(team: Team) -> Callable[..., bool]:
    wait, member, size, given = team.wait, team.number, team.size, team.given

    def apart_triangulate(
        factors: Any, scratch: Any, last: Any, g: Any, coefs: Any, i: int, buffer: int, y: float
    ) -> bool:
        """Turn d units that were put by, and the one at hand; what is left of its y stands in ``g[0]``."""
        matrix, sides = scratch[0, 0], coefs[i]
        dim, width = last.shape[0], matrix.shape[1]
        wait()
        for r in range(dim):
            for c in range(member(), dim, size):
                matrix[r, c] = factors[i, buffer, r, c]
        g[0] = y
        wait()
        sound = True
        for time in range(2 * dim):
            first, end = max((time + 1) // 2, time - dim + 1), min(time, dim) + 1
            # Every thread prepares one of the turns, and all make them.
            k = first + member()
            j = time - k
            cosine = sine = length = 0.0
            if k < end:
                pivot = matrix[j, j] if j < k else 0.0
                entry = last[j] if k == dim else matrix[k, j]
                square = pivot * pivot + entry * entry
                if entry != 0.0 and square > 0.0:
                    length = np.sqrt(square)
                    cosine, sine = pivot / length, entry / length
            wait()
            for k in range(first, end):
                j, turn = time - k, k - first
                c_turn, s_turn, long = given(cosine, turn), given(sine, turn), given(length, turn)
                if not long > 0.0:
                    sound = sound and j < k
                    continue
                for c in range(j + member(), dim, size):
                    at_side = c == j
                    if k == dim:
                        below = g[0] if at_side else last[c]
                    else:
                        below = sides[k] if at_side else matrix[k, c]
                    above = 0.0
                    if j < k:
                        above = sides[j] if at_side else matrix[j, c]
                    up, down = c_turn * above + s_turn * below, c_turn * below - s_turn * above
                    if at_side:
                        matrix[j, j] = long
                        sides[j] = up
                        if k == dim:
                            g[0] = down
                        elif j < k:
                            sides[k] = down
                    else:
                        matrix[j, c] = up
                        if k == dim:
                            last[c] = down
                        elif j < k:
                            matrix[k, c] = down
            wait()
        for place in range(member(), dim * width, size):
            r, c = place // width, place % width
            factors[i, buffer, r, c] = matrix[r, c] if r <= c < dim else 0.0
        wait()
        return sound

    return apart_triangulate
