"""First units of all arms pass through their triangles in a pipeline, whose shape depends on features."""

import numpy as np
import pytest
from emulation.device import emulated_gpu
from emulation.programs import why_not

import equipoise as eq
from equipoise.lab.gpu.teams.pipeline import numbers_held, passing_team

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))


@pytest.mark.parametrize(
    ("dim", "threads"), [(1, 4), (12, 4), (13, 8), (17, 16), (22, 32), (32, 32), (40, 32)]
)
def test_threads_have_room_for_their_rows(dim, threads):
    assert passing_team(dim).size == threads
    assert numbers_held(dim, threads) <= (64 if dim <= 32 else 128)


@pytest.mark.parametrize(
    ("dim", "arms", "changes"),
    [
        (1, 1, {}),
        (1, 2, {"intercept": True}),  # no context varies: rows are kept
        (2, 2, {"intercept": True, "estimator": "empirical-bayes"}),
        (5, 3, {}),  # a thread without rows reads ahead
        (7, 3, {}),  # no thread is without rows, and the last one has fewer
        (4, 5, {"estimator": "pooled"}),
        (3, 4, {"intercept": True}),
        (3, 3, {"noise": [0.0, 1e-200, 2.0]}),  # residuals too small to be squared
        (3, 20, {}),
        pytest.param(13, 3, {}, marks=pytest.mark.slow),
        pytest.param(22, 2, {}, marks=pytest.mark.slow),
        pytest.param(33, 2, {}, marks=pytest.mark.slow),  # two rows a thread of a warp
    ],
)
@pytest.mark.parametrize("more", [0, 9])
def test_trials_begin_with_the_same_bits(dim, arms, changes, more):
    noise = np.linspace(0.3, 2.0, arms).tolist()
    scenario = eq.Scenario(
        **{"noise": noise, "dim": dim, "budget": arms * (dim + 1) + more, "estimator": "ridge", **changes}
    )
    run = {"trials": 5, "seed": 11}
    here = eq.simulate(scenario, ["trace-ucb"], **run)["trace-ucb"].ledger
    with emulated_gpu():
        there = eq.simulate(scenario, ["trace-ucb"], device="cuda", **run)["trace-ucb"].ledger
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one, other)
