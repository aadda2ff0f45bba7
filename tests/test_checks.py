"""The contract suite must catch policies that break it."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import pytest

import equipoise as eq
from equipoise import checks
from equipoise.errors import CheckFailed


@numba.njit
def lighten(arm):
    arm.weight = arm.weight * 0.99


@eq.register("bad-writes")
def writes(arm, trial, settings):
    lighten(arm)  # written in the score itself, it would not even be compiled
    return arm.trace


@eq.register("bad-position")
def by_position(arm, trial, settings):
    return arm.trace * (1.0 + arm.position)


@eq.register("bad-units")
def absolute_width(arm, trial, settings):
    return (arm.noise_variance + 1.0 / np.sqrt(max(arm.dof, 1))) * arm.trace


@eq.register("bad-argument")
@dataclass(frozen=True, kw_only=True)
class UnusedArgument(eq.Policy):
    """An argument that nothing reads."""

    depth: int = 3
    contrasts = {"depth": ({}, {"depth": 4})}

    @staticmethod
    def score(arm, trial, settings):
        return arm.trace


@eq.register("bad-contrast")
@dataclass(frozen=True, kw_only=True)
class NoContrast(eq.Policy):
    """An argument without a contrast."""

    depth: int = 3

    @staticmethod
    def score(arm, trial, settings):
        return arm.trace


@eq.register("bad-per-arm")
@dataclass(frozen=True, kw_only=True)
class PerArm(eq.Policy):
    """One number an arm, but no reordered()."""

    gains: tuple[float, ...] = (1.0, 2.0, 5.0)
    contrasts = {"gains": ({}, {"gains": (5.0, 2.0, 1.0)})}

    def settings(self, problem):
        return np.array(self.gains)

    @staticmethod
    def score(arm, trial, settings):
        return arm.trace * settings[arm.position]


@eq.register("bad-nan")
def not_a_number(arm, trial, settings):
    return np.nan if arm.position == 1 else 1.0


@pytest.mark.parametrize(
    ("spec", "check", "message"),
    [
        ("bad-writes", checks.check_pure_choice, "changed the state"),
        ("bad-nan", checks.check_pure_choice, "not a number"),
        ("bad-position", checks.check_relabelling, "another order"),
        ("bad-per-arm", checks.check_relabelling, r"reordered\(\)"),
        ("bad-units", checks.check_unit_invariance, "multiplying outcomes"),
        ("bad-argument", checks.check_arguments_matter, "'depth' has no effect"),
        ("bad-contrast", checks.check_arguments_matter, "no contrast for argument 'depth'"),
    ],
)
def test_broken_policies_are_caught(spec, check, message):
    with pytest.raises(CheckFailed, match=message):
        check(eq.parse_policy(spec))


def test_linear_map_check_catches_a_wrong_trace(monkeypatch):
    # Pretend the contexts were not whitened.
    monkeypatch.setattr(eq.Problem, "whitener", lambda self: None)
    with pytest.raises(CheckFailed, match="linear map"):
        checks.check_linear_map_invariance(eq.TraceUCB())


def test_check_policy_runs_everything():
    assert checks.check_policy(eq.Uniform()) == [name for name, _ in checks.checks_for(eq.Uniform())]
