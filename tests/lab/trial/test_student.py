"""Student's quantiles are right to the last digits, and a first trial does without SciPy's functions."""

from __future__ import annotations

import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
from scipy.special import stdtrit

from equipoise.lab.trial.student import CONFIDENCE, student_quantiles

FIRST_TRIAL = """
import sys
import equipoise as eq
eq.simulate(eq.GaussianScenario(noise=[1, 2], dim=2, budget=20), ["trace-ucb"], trials=1, seed=1, workers=1)
print("scipy.special" in sys.modules)
"""


@pytest.mark.parametrize("dof", [1, 2, 3, 9, 10, 11, 12, 13, 20, 57, 350, 4001, 10**6])
def test_quantiles_leave_the_right_probability_outside(dof):
    quantile = float(student_quantiles(dof)[dof])
    with mp.workdps(40):
        outside = mp.betainc(mp.mpf(dof) / 2, 0.5, 0, dof / (dof + mp.mpf(quantile) ** 2), regularized=True)
    # A relative error e of the quantile changes the probability by less than 5e of itself.
    assert outside == pytest.approx(1.0 - CONFIDENCE, rel=3e-15)


def test_quantiles_are_the_library_s():
    dof = np.maximum(np.arange(2001.0), 1.0)
    np.testing.assert_allclose(student_quantiles(2000), stdtrit(dof, 0.5 + CONFIDENCE / 2), rtol=1e-14)


@pytest.mark.parametrize("most", [0, 1, 5, 10, 11])
def test_few_degrees_of_freedom(most):
    np.testing.assert_array_equal(student_quantiles(most), student_quantiles(100)[: most + 1])


def test_a_first_trial_does_without_special_functions():
    done = subprocess.run([sys.executable, "-c", FIRST_TRIAL], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
