"""The first stage alone: outcomes in turns, and whether exactly the features that matter are found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from equipoise.core.choice.ties import tie_order
from equipoise.core.sparse import recover_support
from equipoise.lab.pieces import SparseTruth
from equipoise.lab.running.simulate import worker_pool
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.run import draw_outcomes, open_trial
from equipoise.lab.trial.world import Draws
from equipoise.studies.runner import Runner

CURVES = {
    "path": "s known, path alone",
    "known": "s known",
    "unknown": "s unknown",
}
_TRIALS_A_PART = 25


def count_exact(scenario: Scenario, trials: int, runner: Runner) -> dict[str, int]:
    """Trials in which exactly the support was found, by curve."""
    with worker_pool(runner.executor, runner.workers) as pool:
        # Executors that reach other machines can send the scenario there once.
        shared = pool.share(scenario) if hasattr(pool, "share") else scenario
        parts = [
            pool.submit(_count_part, shared, runner.seed, first, min(_TRIALS_A_PART, trials - first))
            for first in range(0, trials, _TRIALS_A_PART)
        ]
        try:
            counts = [part.result() for part in parts]
        finally:
            for part in parts:
                part.cancel()
    return {curve: sum(count[curve] for count in counts) for curve in CURVES}


def _count_part(scenario: Scenario, seed: int, first: int, trials: int) -> dict[str, int]:
    assert isinstance(scenario.truth, SparseTruth)
    known = {"sparsity": scenario.truth.features}
    options: dict[str, Mapping[str, Any]] = {
        "path": {**known, "criterion": "path"},
        "known": known,
        "unknown": {},
    }
    draws = Draws(scenario, seed)
    outcomes, m = np.zeros(scenario.units), len(scenario.noise)
    exact = dict.fromkeys(CURVES, 0)
    for trial in range(first, first + trials):
        draws.draw(trial, 1)
        open_trial(draws.world, 0, trial)
        contexts, truth = draws.world.contexts[0], draws.world.coefs[0]
        # The turns that a policy's first stage takes.
        arms = np.resize(np.argsort(tie_order(scenario.arms, seed, trial)), scenario.units)
        draw_outcomes(draws.world, arms, outcomes)
        support = np.flatnonzero(np.any(truth != 0.0, axis=0))
        for curve, option in options.items():
            found = recover_support(contexts, outcomes, arms, m, **option)
            exact[curve] += int(np.array_equal(found.columns, support))
    return exact
