"""The C yardstick makes the package's decisions, so that comparing their speed means something."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.core.choice.ties import new_ties

FOLDER = Path(__file__).parents[3] / "benchmarks" / "speed" / "yardstick"


def load_yardstick():
    spec = importlib.util.spec_from_file_location("yardstick", FOLDER / "__init__.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["yardstick"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


yardstick = load_yardstick()

pytestmark = pytest.mark.skipif(not yardstick.has_compiler(), reason="the yardstick is built with gcc")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return yardstick.build(tmp_path_factory.mktemp("yardstick"))


@pytest.mark.parametrize(
    ("noise", "dim", "budget", "trials", "seed"),
    [
        ([0.01, 0.02, 0.75, 1.0, 2.0, 2.0, 3.0], 10, 350, 300, 1),
        ([2.0, 0.0, 0.5], 4, 60, 400, 12_345_678_901),
        ([1.0, 1.0], 1, 40, 300, 0),
    ],
)
def test_decides_like_the_package(program, noise, dim, budget, trials, seed):
    scenario = eq.GaussianScenario(noise=noise, dim=dim, budget=budget, estimator="ridge")
    simulated = eq.simulate(scenario, ["trace-ucb"], trials=trials, seed=seed, workers=1)
    package = simulated.policies["trace-ucb"]
    keys = new_ties(scenario.arms)[:, 0].tolist()
    plain = yardstick.run(program, dim=dim, budget=budget, noise=noise, trials=trials, seed=seed, keys=keys)
    # The draws are the same, so only a decision that rounding flips can separate the two.
    np.testing.assert_allclose(plain.pulls, [arm.value for arm in package.pulls()], atol=1e-2)
    expected = package.expected_max()
    assert abs(plain.expected_max - expected.value) < 0.1 * expected.stderr
    assert (plain.trials, plain.decisions) == (trials, trials * budget)
    assert plain.decisions_per_second == pytest.approx(plain.decisions / plain.seconds, rel=1e-2)


def test_other_names_change_the_order_of_ties(program):
    size = {"dim": 2, "budget": 30, "noise": [1.0, 1.0, 4.0], "trials": 50, "seed": 3}
    plain = yardstick.run(program, **size)
    assert plain.pulls == yardstick.run(program, **size, keys=[0, 1, 2]).pulls
    assert plain.pulls != yardstick.run(program, **size, keys=[7, 8, 9]).pulls
    assert sum(plain.pulls) == pytest.approx(30.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "too few arguments"),
        ("2 3 20 10 1", "too few arguments"),
        ("2 3 20 10 1 1.0", "1 numbers follow the seed, expected 2 or 4"),
        ("2 3 20 10 1 1.0 1.0 0", "3 numbers follow the seed, expected 2 or 4"),
        ("two 3 20 10 1 1.0 1.0", "m is 'two'"),
        ("2 0 20 10 1 1.0 1.0", "d is '0'"),
        ("2 3 7 10 1 1.0 1.0", "n is '7', not a whole number from 8"),
        ("2 3 20 0 1 1.0 1.0", "trials is '0'"),
        ("2 3 20 10 -1 1.0 1.0", "seed is '-1'"),
        ("2 3 20 10 99999999999999999999 1.0 1.0", "seed is '99999999999999999999'"),
        ("2 3 20.5 10 1 1.0 1.0", "n is '20.5'"),
        ("2 3 20 10 1 1.0 -1.0", "noise is '-1.0'"),
        ("2 3 20 10 1 1.0 nan", "noise is 'nan'"),
        ("2 3 20 10 1 inf 1.0", "noise is 'inf'"),
        ("2 3 20 10 1 1.0 1.0 0 -2", "key is '-2'"),
        ("2 3 20 10 1 1.0 1.0 0 18446744073709551616", "key is '18446744073709551616'"),
    ],
)
def test_malformed_arguments_are_refused(program, arguments, message):
    run = subprocess.run([program, *arguments.split()], capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stdout == ""
    assert message in run.stderr
    assert "usage: trace_ucb m d n trials seed" in run.stderr


def test_compiles_without_a_warning(tmp_path):
    yardstick.compile_with(["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1"], tmp_path)
