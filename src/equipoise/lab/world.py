"""The world of a scenario in compiled form: what contexts, truths and outcomes come out of it."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arithmetic.logarithm import log
from equipoise.core.compiled import compiled, inlined
from equipoise.core.handles import handled
from equipoise.core.layout import Matrix, Vector
from equipoise.core.random import (
    BLOCK,
    CONTEXT,
    DELAY,
    LOSS,
    NOISE,
    SHAPE,
    TRUTH,
    Stream,
    fill_normals,
    fill_words,
    gamma,
    normal,
    start,
    turn_into_normals,
    uniform,
)
from equipoise.lab.pieces import (
    DISCRETE_CONTEXTS,
    FIXED_DELAY,
    GAUSSIAN_CONTEXTS,
    GAUSSIAN_NOISE,
    GEOMETRIC_DELAY,
    NO_DELAY,
    ONE_HOT_CONTEXTS,
    STUDENT_CONTEXTS,
    STUDENT_NOISE,
    OneHotContexts,
)
from equipoise.lab.scenario import Scenario
from equipoise.lab.verdict import root_of

SETTING = np.dtype(
    [
        ("seed", "i8"),
        ("budget", "i8"),
        ("intercept", "i8"),
        ("contexts", "i8"),  # codes of lab/pieces.py and their numbers
        ("contexts_number", "f8"),
        ("noise", "i8"),
        ("noise_number", "f8"),
        ("delay", "i8"),
        ("delay_number", "f8"),
        ("lost", "f8"),
        ("heteroscedasticity", "f8"),
        ("curvature", "f8"),
        ("coef_drift", "f8"),
        ("noise_drift", "f8"),
        ("feature_variance", "f8"),  # of the first varying feature
        ("draws_coef", "i8"),
        ("features", "i8"),  # how many matter, −1: all; and how they are drawn
        ("arms_of_feature", "i8"),
        ("unit_values", "i8"),
        ("scale", "f8"),
    ],
    align=True,
)


@handled
class World(NamedTuple):
    """All that draws depend on."""

    setting: npt.NDArray[Any]  # SETTING[1]
    deviations: Vector  # [m] √σ²
    root: Matrix  # L with covariance LLᵀ of the varying features; empty for the identity
    shares: Vector  # cumulative probabilities of one-hot categories
    coefs: Matrix  # [m, d] the truth of the trial at hand
    drifts: Matrix  # [m, d] how far it moves during the trial
    shocks: Matrix  # noise of unit variance: [m, n], and of one block of pulls, [m, 4], where it is Gaussian
    at_hand: npt.NDArray[np.int64]  # [m, 2] trial and number of that block
    draws: Matrix  # [1, d] scratch


def new_world(scenario: Scenario, seed: int) -> World:
    """Compile-ready form of a scenario."""
    setting = np.zeros(1, SETTING)
    varying = scenario.dim - scenario.intercept
    covariance = scenario.contexts.covariance_matrix(varying)
    values = {
        "seed": seed,
        "budget": scenario.units,
        "intercept": scenario.intercept,
        "contexts": scenario.contexts.code,
        "contexts_number": scenario.contexts.number,
        "noise": scenario.noise_shape.code,
        "noise_number": scenario.noise_shape.number,
        "delay": NO_DELAY if scenario.delay is None else scenario.delay.code,
        "delay_number": 0.0 if scenario.delay is None else scenario.delay.number,
        "lost": scenario.lost,
        "heteroscedasticity": scenario.heteroscedasticity,
        "curvature": scenario.curvature,
        "coef_drift": scenario.coef_drift,
        "noise_drift": scenario.noise_drift,
        "feature_variance": covariance[0, 0],
        "draws_coef": scenario.coef is None,
    }
    if scenario.truth is not None:
        truth = scenario.truth
        values["features"] = truth.features
        values["arms_of_feature"] = truth.arms_of_feature(len(scenario.noise))
        values["unit_values"] = truth.values == "unit"
        values["scale"] = truth.scale
    else:
        values["features"] = -1
    for name, value in values.items():
        setting[name] = value
    one_hot = isinstance(scenario.contexts, OneHotContexts)
    white = one_hot or np.array_equal(covariance, np.eye(varying))
    gaussian = scenario.noise_shape.code == GAUSSIAN_NOISE
    shape = (len(scenario.noise), scenario.dim)
    return World(
        setting=setting,
        deviations=np.sqrt(scenario.noise),
        root=np.zeros((0, 0)) if white else root_of(covariance),
        shares=np.array(list(accumulate(np.diag(covariance).tolist()))) if one_hot else np.zeros(0),
        coefs=np.zeros(shape) if scenario.coef is None else np.array(scenario.coef),
        drifts=np.zeros(shape),
        shocks=np.zeros((len(scenario.noise), BLOCK if gaussian else scenario.units)),
        at_hand=np.full((len(scenario.noise), 2), -1),
        draws=np.zeros((1, scenario.dim)),
    )


@compiled
def draw_truth(world: World, stream: Stream, trial: int) -> None:
    """Coefficients of every arm, and where they drift from."""
    setting = world.setting[0]
    dim = world.coefs.shape[1]
    for i in range(world.coefs.shape[0]):
        if setting.draws_coef and setting.features < 0:
            fill_normals((setting.seed, trial, TRUTH, i, 0), 0, world.coefs, i, 0)
        if setting.coef_drift > 0.0:
            fill_normals((setting.seed, trial, TRUTH, i, 1), 0, world.drifts, i, 0)
            length = 0.0
            for c in range(dim):
                length += world.drifts[i, c] * world.drifts[i, c]
            for c in range(dim):
                world.drifts[i, c] *= setting.coef_drift / np.sqrt(length)


def draw_any_truth(world: World, stream: Stream, trial: int) -> None:
    """:func:`draw_truth`, also where only some features matter."""
    draw_truth(world, stream, trial)
    if world.setting["features"][0] >= 0:
        arms, dim = world.coefs.shape
        _draw_sparse_truth(world, stream, trial, np.zeros(dim, np.int64), np.zeros(arms, np.int64))


@compiled
def _draw_sparse_truth(
    world: World, stream: Stream, trial: int, places: npt.NDArray[np.int64], turns: npt.NDArray[np.int64]
) -> None:
    """Coefficients of which all but some features are 0; ``places`` and ``turns`` are scratch."""
    setting = world.setting[0]
    arms = world.coefs.shape[0]
    world.coefs[:, :] = 0.0
    start(stream, setting.seed, trial, TRUTH, arms, 0)
    _deal(stream, places, setting.features)
    for f in range(setting.features):
        start(stream, setting.seed, trial, TRUTH, arms + 1, f)
        _deal(stream, turns, setting.arms_of_feature)
        for k in range(setting.arms_of_feature):
            value = normal(stream)
            if setting.unit_values:
                value = 1.0 if value > 0.0 else -1.0
            world.coefs[turns[k], places[f]] = setting.scale * value


@compiled
def _deal(stream: Stream, places: npt.NDArray[np.int64], count: int) -> None:
    """0, 1, … in an order whose first ``count`` places are random."""
    for j in range(places.shape[0]):
        places[j] = j
    for t in range(count):
        j = t + int(np.floor(uniform(stream) * (places.shape[0] - t)))
        places[t], places[j] = places[j], places[t]


def draw_contexts(world: World, stream: Stream, trial: int, contexts: Matrix) -> None:
    """Write the contexts of all units; row t depends on seed, trial and t alone."""
    # Only what a scenario uses is compiled.
    draw = draw_gaussian_contexts if world.setting["contexts"][0] == GAUSSIAN_CONTEXTS else _draw_unusual
    draw(world, stream, trial, contexts)


def draw_shocks(world: World, stream: Stream, trial: int) -> None:
    """Noise of unit variance for every pull of every arm, where it is not Gaussian."""
    if world.setting["noise"][0] != GAUSSIAN_NOISE:
        _draw_unusual_shocks(world, stream, trial)


@compiled
def draw_gaussian_contexts(world: World, stream: Stream, trial: int, contexts: Matrix) -> None:
    """:func:`draw_contexts` where they are Gaussian."""
    setting = world.setting[0]
    units, dim = contexts.shape
    for t in range(units):
        fill_words((setting.seed, trial, CONTEXT, t, 0), 0, contexts, t, setting.intercept)
    turn_into_normals(contexts, 0, units * dim)
    if setting.intercept:
        for t in range(units):
            contexts[t, 0] = 1.0
    if world.root.shape[0] > 0:
        for t in range(units):
            for c in range(dim):
                world.draws[0, c] = contexts[t, c]
            _mix(world, t, contexts)


@compiled
def _draw_unusual(world: World, stream: Stream, trial: int, contexts: Matrix) -> None:
    for t in range(contexts.shape[0]):
        _draw_unusual_context(world, stream, trial, t, contexts)


@compiled
def _draw_unusual_context(world: World, stream: Stream, trial: int, t: int, contexts: Matrix) -> None:
    setting = world.setting[0]
    first, dim = setting.intercept, contexts.shape[1]
    start(stream, setting.seed, trial, CONTEXT, t, 0)
    if first:
        contexts[t, 0] = 1.0
    if setting.contexts == ONE_HOT_CONTEXTS:
        level = uniform(stream)
        chosen = dim - 1
        for c in range(dim - 1, first - 1, -1):
            contexts[t, c] = 0.0
            if level < world.shares[c - first]:
                chosen = c
        contexts[t, chosen] = 1.0
        return
    if setting.contexts == DISCRETE_CONTEXTS:
        levels = setting.contexts_number
        for c in range(first, dim):
            step = np.floor(uniform(stream) * levels)
            world.draws[0, c] = (2.0 * step - (levels - 1.0)) / np.sqrt((levels * levels - 1.0) / 3.0)
    else:
        fill_normals((setting.seed, trial, CONTEXT, t, 0), 0, world.draws, 0, first)
    if setting.contexts == STUDENT_CONTEXTS:
        start(stream, setting.seed, trial, SHAPE, t, 0)
        scale = _student_scale(stream, setting.contexts_number)
        for c in range(first, dim):
            world.draws[0, c] *= scale
    if world.root.shape[0] > 0:
        _mix(world, t, contexts)
    else:
        for c in range(first, dim):
            contexts[t, c] = world.draws[0, c]


@compiled
def _student_scale(stream: Stream, dof: float) -> float:
    """What turns a normal into a Student variable of unit variance."""
    return np.sqrt((dof - 2.0) / (2.0 * gamma(stream, dof / 2.0)))


@inlined
def _mix(world: World, t: int, contexts: Matrix) -> None:
    first = world.setting[0].intercept
    for r in range(first, contexts.shape[1]):
        entry = 0.0
        for c in range(first, r + 1):
            entry += world.root[r - first, c - first] * world.draws[0, c]
        contexts[t, r] = entry


@inlined
def draw_outcome(
    world: World, stream: Stream, trial: int, t: int, i: int, pull: int, contexts: Matrix
) -> float:
    """Outcome of unit t at arm i, whose pull-th noise it meets."""
    setting = world.setting[0]
    if setting.noise == GAUSSIAN_NOISE:
        _keep_at_hand(world, trial, i, pull // BLOCK)
        shock = world.shocks[i, pull % BLOCK]
    else:
        shock = world.shocks[i, pull]
    x, coefs = contexts[t], world.coefs[i]
    y = 0.0
    for c in range(x.shape[0]):
        y += x[c] * coefs[c]
    if setting.heteroscedasticity > 0.0 or setting.curvature != 0.0:
        feature = contexts[t, setting.intercept]
        square = feature * feature / setting.feature_variance
        strength = setting.heteroscedasticity
        shock *= np.sqrt((1.0 + strength * square) / (1.0 + strength))
        y += setting.curvature * (square - 1.0)
    if setting.coef_drift > 0.0 or setting.noise_drift != 0.0:
        # The truth at the end of the trial is the one that counts.
        age = (t + 1.0) / setting.budget
        shock *= exp(0.5 * setting.noise_drift * (age - 0.5))
        for c in range(contexts.shape[1]):
            y += (age - 1.0) * world.drifts[i, c] * contexts[t, c]
    return y + world.deviations[i] * shock


@inlined
def _keep_at_hand(world: World, trial: int, i: int, block: int) -> None:
    """Draw the Gaussian noise of a block of pulls of arm i, unless it stands there already."""
    if world.at_hand[i, 0] != trial or world.at_hand[i, 1] != block:
        world.at_hand[i, 0], world.at_hand[i, 1] = trial, block
        fill_normals((world.setting[0].seed, trial, NOISE, i, 0), block, world.shocks, i, 0)


@compiled
def _draw_unusual_shocks(world: World, stream: Stream, trial: int) -> None:
    setting = world.setting[0]
    number = setting.noise_number
    for i in range(world.shocks.shape[0]):
        fill_normals((setting.seed, trial, NOISE, i, 0), 0, world.shocks, i, 0)
        for pull in range(world.shocks.shape[1]):
            start(stream, setting.seed, trial, SHAPE, pull, i + 1)
            if setting.noise == STUDENT_NOISE:
                world.shocks[i, pull] *= _student_scale(stream, number)
            else:
                world.shocks[i, pull] = (gamma(stream, number) - number) / np.sqrt(number)


@compiled
def draw_delay(world: World, stream: Stream, trial: int, t: int) -> int:
    """Units that are asked for before the outcome of unit t arrives."""
    setting = world.setting[0]
    start(stream, setting.seed, trial, DELAY, t, 0)
    mean = setting.delay_number
    if setting.delay == NO_DELAY:
        return 0
    if setting.delay == FIXED_DELAY:
        return int(np.rint(mean))
    if setting.delay == GEOMETRIC_DELAY:
        return int(np.floor(log(uniform(stream)) / log(mean / (1.0 + mean))))
    return int(np.floor(uniform(stream) * (2.0 * mean + 1.0)))


@compiled
def is_lost(world: World, stream: Stream, trial: int, t: int) -> bool:
    """Whether the outcome of unit t never arrives."""
    start(stream, world.setting[0].seed, trial, LOSS, t, 0)
    return uniform(stream) < world.setting[0].lost
