"""Supports, lassos, tables and worlds have the same bits whatever BLAS and processor there are.

One digest over the results; their arguments come from whole numbers alone.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from other_process import GENERIC, output_of

import equipoise as eq
from equipoise.core.sparse import CRITERIA, fit_lasso, recover_support
from equipoise.lab.pieces import Delay, SkewedNoise, StudentContexts
from equipoise.lab.replay.fit import fit_table
from equipoise.lab.replay.table import ReplayTable
from equipoise.lab.trial.run import draw_outcomes, open_trial
from equipoise.lab.trial.world import Draws

PINNED = "b47e592366dfacec22984a59c4f9e48de94775afebbf4de1bbbf976aab9dd4bd"


def numbers(seed, *shape):
    """Between −½ and ½."""
    words = np.random.PCG64(seed).random_raw(int(np.prod(shape)))
    return ((words >> 11) * 2.0**-53 - 0.5).reshape(shape)


def supports():
    arms = np.arange(120) % 4
    contexts = numbers(1, 120, 60)
    rows = contexts, contexts[:, 3] * (1.0 + arms) - contexts[:, 9] + 0.3 * numbers(2, 120), arms, 4
    for criterion in CRITERIA:
        found = recover_support(*rows, criterion=criterion)
        yield from (found.columns.astype(float), found.noise, np.array(found.entered))
    for joint in (True, False):
        for refit in (True, False):
            yield fit_lasso(*rows, joint=joint, refit=refit)
    yield fit_lasso(*rows, joint=True, noise=[0.1, 0.2, 0.3, 0.4])


def tables():
    contexts = numbers(5, 9000, 13) + 2.0
    targets = contexts[:, :3] * 2.0 + numbers(6, 9000, 3)
    names = tuple(f"x{c}" for c in range(13)), ("a", "b", "c")
    fit = fit_table(ReplayTable("table", contexts, targets, *names), "intercept")
    yield from (fit.moment, fit.best, fit.noise, fit.shift)


def worlds():
    scenario = eq.Scenario(
        noise=(1.0, 2.0),
        dim=3,
        budget=40,
        contexts=StudentContexts(covariance="ar1:0.6"),
        noise_shape=SkewedNoise(),
        delay=Delay(mean=4.0),
        noise_drift=0.5,
    )
    draws = Draws(scenario, 1)
    draws.draw(7, 1)
    world, outcomes = draws.world, np.zeros(40)
    yield from (world.contexts[0], world.shocks[0], world.delays[0].astype(float))
    open_trial(world, 0, 7)
    draw_outcomes(world, np.arange(40) % 2, outcomes)
    yield outcomes


def digest():
    found = hashlib.sha256()
    for part in (supports, tables, worlds):
        for values in part():
            found.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    return found.hexdigest()


def test_bits_are_pinned():
    assert digest() == PINNED


@pytest.mark.parametrize(
    "settings",
    [
        # OpenBLAS as it would be on an old processor.
        pytest.param({"OPENBLAS_CORETYPE": "Prescott", "OPENBLAS_NUM_THREADS": "1"}, id="another BLAS"),
        pytest.param(GENERIC, id="generic processor", marks=pytest.mark.slow),
    ],
)
def test_bits_do_not_depend_on_the_machine(settings):
    assert output_of(__file__, "digest()", **settings) == PINNED
