"""Judging a trial: a warp's threads share out its arms, and those of an arm its rows.

An arm's estimate takes the registers of several threads (systems.py), so there are as many arms at a time as
have room in a warp. Where features are too many, or Σ is not the identity, arms come one after the other
(ridges.py). The elasticities that intervals need are there already (programs/elasticities.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from equipoise.core.estimates.alike import outcomes_alike
from equipoise.core.estimates.intervals import FIRST_ORDER, SECOND_ORDER
from equipoise.core.jit.decorators import inlined
from equipoise.core.jit.deferred import deferred
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.teams.judging.systems import fetch_factor, room_in, room_of, solve
from equipoise.lab.gpu.teams.lanes import member, team_size, wait
from equipoise.lab.trial import judge as judging
from equipoise.lab.trial.judge import judge_arm

_WORD = ir.IntType(64)


def with_room(state: Any, judge: Any) -> Any:
    """The same judge with scratch for all arms that are judged at the same time."""
    room = room_of(state, judge)
    if room is None:
        return judge
    lines, matrices = (
        dict.fromkeys(("coef", "least_squares", "along"), np.zeros(room.groups * room.vector)),
        {"root": room.matrix, "system": room.triangle},
    )
    return judge._replace(
        **lines, **{name: np.zeros((room.groups, length)) for name, length in matrices.items()}
    )


def use_arms_abreast(relink: Relinker) -> None:
    """Let copies of compiled functions judge several arms at a time."""
    relink.replace(judging.judge_trial, Kernel(relink.function(_judge_trial), inline=True))


def _judge_trial(state: Any, rule: Any, judge: Any, truth: Any, ledger: Any, k: int) -> None:
    if _are_abreast():
        _fetch_factors(state, 0)
        _judge_abreast(state, judge, truth, ledger, k)
    else:
        for i in range(ledger.counts.shape[1]):
            judge_arm(state, judge, i, truth, ledger, k)


@inlined
def _fetch_factors(state: Any, first: int) -> None:
    """Ask for the factors of the arms that come next, while there is something else to do."""
    i = min(first + member() // _threads_an_arm(), state.arms.shape[0] - 1)
    fetch_factor(state.factors, i, state.arms[i].buffer)


@inlined
def _judge_abreast(state: Any, judge: Any, truth: Any, ledger: Any, k: int) -> None:
    arms, dim = truth.shape
    size = _threads_an_arm()
    lane, group, groups = member() % size, member() // size, team_size() // size
    begin = group * (judge.coef.shape[0] // groups)
    coef, least_squares, squares = judge.coef, judge.least_squares, judge.along
    for first in range(0, arms, groups):
        # Threads without an arm judge the last one along, and write nothing: all wait for each other.
        i = min(first + group, arms - 1)
        if first + groups < arms:
            _fetch_factors(state, first + groups)
        arm = state.arms[i]
        solve(
            state.factors,
            state.coefs,
            i,
            arm.buffer,
            arm.data_ready != 0,
            judge.ridge[0],
            judge.root,
            judge.system,
            judge.least_squares,
            judge.coef,
            judge.along,
        )
        wait()
        with_bounds = judge.intervals[0] != 0 and arm.data_ready != 0 and not outcomes_alike(state, i)
        reach = corrected = 0.0
        if with_bounds:
            dof = arm.dof
            inflation = 1.0 + judge.elasticities[i] * (FIRST_ORDER / dof + SECOND_ORDER / (dof * dof))
            quantile = judge.quantiles[dof]
            reach = quantile * quantile * arm.noise_variance
            corrected = reach * inflation
        inside = plainly_inside = 0
        for r in range(lane, dim, size):
            error = coef[begin + r] - truth[i, r]
            gap = least_squares[begin + r] - truth[i, r]
            coef[begin + r] = error * error
            inside += gap * gap <= corrected * squares[begin + r]
            plainly_inside += gap * gap <= reach * squares[begin + r]
        wait()
        inside, plainly_inside = _together(inside), _together(plainly_inside)
        total = 0.0
        for r in range(dim):
            total += coef[begin + r]
        if lane == 0 and first + group < arms:
            ledger.counts[k, i] = arm.count
            ledger.errors[k, i] = total
            if judge.intervals[0]:
                ledger.coverage[k, i] = inside / dim if with_bounds else 1.0
                ledger.plain_coverage[k, i] = plainly_inside / dim if with_bounds else 1.0


@deferred
def _abreast(typing_context):
    def generate(layout, context, builder, signature, arguments):
        return ir.IntType(1)(room_in(layout) is not None)

    return types.boolean(), generate


@deferred
def _threads(typing_context):
    def generate(layout, context, builder, signature, arguments):
        room = room_in(layout)
        return _WORD(layout.team.size if room is None else room.threads)

    return types.int64(), generate


@deferred
def _summed(typing_context, number):
    def generate(layout, context, builder, signature, arguments):
        room = room_in(layout)
        size = layout.team.size if room is None else room.threads
        return layout.team.count_of_neighbours(builder, arguments[0], size)

    return types.int64(types.int64), generate


# Typed as the functions they are inside compiled code, not as the code generators above.
_are_abreast: Any = _abreast
"""Whether several arms are judged at a time."""
_threads_an_arm: Any = _threads
"""How many threads an arm has."""
_together: Any = _summed
"""The counts of an arm's threads, added up."""
