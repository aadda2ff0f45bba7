"""The path of the block lasso from λ_max downward: which features enter, in which order, at which λ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.core.sparse.block_lasso import begin, solve
from equipoise.core.sparse.refit import Refit, add_feature, new_refit
from equipoise.core.sparse.standardised import Integers, Standardised, spread_over_rows
from equipoise.core.sparse.task import Task, largest_penalty, new_task

# Each λ of the path is this share of the one before; below the smallest share of λ_max it ends.
_STEP, _SMALLEST = 0.95, 1e-3
# Duality gap over ½‖y‖².
_TOLERANCE = 1e-5
# Linear combinations after which the columns are taken to hold no further direction.
_REFUSALS = 50
# Halvings of a step in which several features enter at once.
_HALVINGS = 20


class Entry(NamedTuple):
    """A feature, and the share of λ_max at which it entered the path."""

    feature: int
    penalty: float


class Screen(NamedTuple):
    """The first features of the path, as far as it was followed."""

    entered: list[Entry]
    refit: Refit  # least squares on those of them that are not linear combinations of earlier ones
    refused: list[int]  # those that are


def screen(data: Standardised, scale: Vector, size: int) -> Screen:
    """Follow the path until ``size`` linearly independent features have entered."""
    found = Screen([], new_refit(data, size), [])
    if size == 0:
        return found
    task = weighted_task(data, scale)
    for share in _walk(task):
        for feature in newcomers(task, found.entered):
            found.entered.append(Entry(feature, share))
            if not add_feature(found.refit, feature):
                found.refused.append(feature)
            if found.refit.size[0] == size or len(found.refused) > _REFUSALS + 5 * found.refit.size[0]:
                return found
    return found


def first_support(data: Standardised, scale: Vector, size: int) -> tuple[Refit, float]:
    """The first λ with ``size`` active features that are linearly independent, and least squares on them."""
    refit = new_refit(data, size)
    if size == 0:
        return refit, 1.0
    task = weighted_task(data, scale)
    share = 1.0
    for share in _walk(task):
        if np.count_nonzero(task.norms) >= size:
            share = _narrow(task, share, size)
            refit = new_refit(data, size)
            for feature in active_features(task):
                add_feature(refit, feature)
                if refit.size[0] == size:
                    return refit, share
    return refit, share


def weighted_task(data: Standardised, scale: Vector) -> Task:
    """At λ_max; outcomes in units of ``scale``, one number an arm."""
    task = new_task(data, data.outcomes / spread_over_rows(scale, data.starts))
    begin(task)
    return task


def newcomers(task: Task, entered: list[Entry]) -> list[int]:
    """Active features that were not before, the strongest first."""
    seen = {entry.feature for entry in entered}
    return [int(j) for j in active_features(task) if int(j) not in seen]


def _walk(task: Task) -> Iterator[float]:
    """Solve at one λ after the other; yield each as a share of λ_max."""
    largest = largest_penalty(task)
    # Zero columns, and those that no outcome goes with, never enter.
    possible = np.count_nonzero(task.slopes > 0.0)
    share = 1.0
    while largest > 0.0 and share > _SMALLEST:
        share *= _STEP
        solve(task, share * largest, _TOLERANCE)
        yield share
        if np.count_nonzero(task.norms) >= possible:
            return


def _narrow(task: Task, share: float, size: int) -> float:
    """A share within the last step at which exactly ``size`` features are active, if there is one."""
    largest = largest_penalty(task)
    low, high = share, share / _STEP
    for _ in range(_HALVINGS):
        if np.count_nonzero(task.norms) == size:
            break
        share = float(np.sqrt(low * high))
        solve(task, share * largest, _TOLERANCE)
        low, high = (share, high) if np.count_nonzero(task.norms) > size else (low, share)
    if np.count_nonzero(task.norms) < size:
        share = low
        solve(task, share * largest, _TOLERANCE)
    return share


def active_features(task: Task) -> Integers:
    """Features with coefficients, the strongest first."""
    active = np.flatnonzero(task.norms)
    return active[np.argsort(-task.norms[active], kind="stable")]
