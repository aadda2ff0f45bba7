"""Programs are found by what they are made of: whatever changes one is part of its key."""

import random
import re

import numpy as np
import pytest
from emulation.drafts import keep_no_draft

import equipoise as eq
from equipoise.core.estimates.estimators import ESTIMATORS, Estimator
from equipoise.core.jit.decorators import compiled
from equipoise.lab.gpu import kept
from equipoise.lab.gpu import seat as seats
from equipoise.lab.gpu.kept import array_types
from equipoise.lab.trial.world import Draws

BASE = {"noise": (0.3, 0.7, 1.5), "dim": 3, "budget": 60, "estimator": "ridge"}
SCENES = {
    "plain": {},
    "budget": {"budget": 90},
    "equal noise": {"noise": (1.0, 1.0, 1.0)},
    "weights": {"weights": (1.0, 2.0, 0.5)},
    "objective": {"objective": 2.0},
    "another objective": {"objective": 3.0},
    "intercept": {"intercept": True},
    "correlated": {"contexts": eq.GaussianContexts(covariance="ar1:0.5")},
    "given coefficients": {"coef": np.eye(3).tolist()},
    "heteroscedastic": {"heteroscedasticity": 0.5},
    "as much": {"heteroscedasticity": 1.0},
    "curved": {"curvature": 0.3},
    "drifting": {"coef_drift": 0.5, "noise_drift": 0.5},
    "learned": {"moment": "learned"},
    "late": {"delay": eq.Delay(mean=5)},
    "later": {"delay": eq.Delay(mean=9)},
    "lost": {"lost": 0.1},
    "lost by arm": {"lost": (0.0, 0.1, 0.2)},
    "costs": {"costs": (1.0, 2.0, 1.0)},
    "floors": {"floors": (5, 5, 5)},
    "caps": {"caps": (None, 30, None)},
    "closed": {"closures": (eq.Closure(arm="arm-1", after=10, until=20),)},
    "skewed noise": {"noise_shape": eq.SkewedNoise()},
    "another ridge": {"ridge": 0.5},
    "pooled": {"estimator": "pooled"},
}
POLICIES = (
    *("uniform", "trace-ucb", "trace-ucb:width=theory:bound=3", "trace-ucb:width=2", "trace-gain"),
    *("trace-gain:chance=0.3", "trace-gain:chance=0.6", "trace-gain:chance=1", "wei-urn"),
)


class Processor:
    """What programs need to know of a GPU."""

    processors, shared_bytes, name, target, description = 4, 232_448, "none", "sm_90", "none"


@pytest.fixture
def asked(monkeypatch):
    """Programs that were asked for: their keys, what makes them, and whether they are kept on disk."""
    keep_no_draft(monkeypatch)
    seen = []

    def note(device, key, make, *, stored=True):
        seen.append((key, make, stored))

    monkeypatch.setattr(seats, "kept_program", note)
    return seen


def seat(policy, **changes):
    scenario = eq.Scenario(**{**BASE, **changes})
    return seats.Seat(scenario, eq.parse_policy(policy), 0, Draws(scenario, 0, block=1), Processor())


def anonymous(ptx):
    """Without the names that the compiler numbers as they come."""
    names = {}
    return re.sub(r"_ZN\w+", lambda found: names.setdefault(found[0], f"name {len(names)}"), ptx)


def all_programs(asked):
    """Keys of programs and of their drafts, what they are for, and what makes them."""
    for scene, changes in SCENES.items():
        for policy in POLICIES:
            mine = seat(policy, **changes)
            for what, plan in mine.plans.items():
                mine.program(what)
                key, make, _ = asked[-1]
                draft = *mine._drafted(what), array_types(plan.layout.groups)
                yield key, draft, f"{policy}, {scene}, {what}", make


def made_alone(make):
    kept.DRAFTS.clear()
    return anonymous(make())


@pytest.mark.slow
def test_programs_with_the_same_key_are_the_same(asked):
    by_key, lot = {}, random.Random(1)
    for key, _, name, make in all_programs(asked):
        by_key.setdefault(key, []).append((name, make))
    shared = [programs for programs in by_key.values() if len(programs) > 1]
    assert len(shared) > 50
    for programs in lot.sample(shared, 25):
        (one, make), (other, make_other) = lot.sample(programs, 2)
        assert made_alone(make) == made_alone(make_other), (one, other)


@pytest.mark.slow
def test_a_draft_serves_all_programs_that_have_its_key(asked):
    by_draft, lot = {}, random.Random(2)
    for key, draft, name, make in all_programs(asked):
        by_draft.setdefault(draft, {}).setdefault(key, (name, make))
    shared = [list(programs.values()) for programs in by_draft.values() if len(programs) > 1]
    assert len(shared) > 10
    for programs in lot.sample(shared, 10):
        (one, make), (other, make_other) = lot.sample(programs, 2)
        made_alone(make)
        assert anonymous(make_other()) == made_alone(make_other), (one, other)


def estimator_with(number):
    @compiled
    def fit(state, work):
        work.coefs[:] = number

    return Estimator("of-my-own", fit)


def test_an_estimator_of_ones_own_is_known_by_its_code_and_not_kept(asked, monkeypatch):
    keys = []
    for number in (1.0, 2.0):
        monkeypatch.setitem(ESTIMATORS, "of-my-own", estimator_with(number))
        mine = seat("trace-ucb", estimator="of-my-own")
        mine.program("judged")
        keys.append(asked[-1][0])
        assert not asked[-1][2]
        mine.program("trials")
        assert asked[-1][2]
    assert keys[0] != keys[1]
