"""Numbers that compiled code cannot read beyond the end of."""

import sys
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

import equipoise as eq
from equipoise.core.arms.state import ARM, TRIAL
from equipoise.core.choice.scoring import call_score, compile_score
from equipoise.core.jit.bounded import bounded
from equipoise.core.jit.decorators import compiled
from equipoise.errors import InvalidPolicy


@compiled
def _scored(address, arms, trial, settings, scores):
    call_score(address, arms, trial[0], settings, scores)


def scores_of(score, settings, arms=1):
    records, trial, scores = np.zeros(arms, ARM), np.zeros(1, TRIAL), np.full(arms, 7.0)
    records["position"] = np.arange(arms)
    compiled_score = compile_score(score)
    _scored(compiled_score.address, records, trial, bounded(settings), scores)
    return scores.tolist()


@pytest.mark.parametrize("place", [-(10**15), -2, -1, 3, 4, 5_000, 10**12])
def test_a_place_outside_holds_nothing(place):
    def score(arm, trial, settings):
        return settings[place * (1 - arm.count)]

    assert np.isnan(scores_of(score, [1.0, 2.0, 3.0])).all()


def test_places_inside_hold_what_was_given():
    def score(arm, trial, settings):
        return settings[arm.position]

    found = scores_of(score, [0.5, -2.0, 1e300], arms=4)
    assert found[:3] == [0.5, -2.0, 1e300]
    assert np.isnan(found[3])
    assert np.isnan(scores_of(score, [])).all()


def _writes(arm, trial, settings):
    arm.count = arm.count + 100
    return 1.0


def _writes_settings(arm, trial, settings):
    settings[0] = 2.0
    return 1.0


def _raises(arm, trial, settings):
    if arm.count > 4:
        raise ValueError
    return 1.0


def _asserts(arm, trial, settings):
    assert arm.count < 4
    return 1.0


@pytest.mark.parametrize(
    ("score", "words"),
    [(_writes, "writes"), (_writes_settings, "writes"), (_raises, "raises"), (_asserts, "raises")],
)
def test_scores_neither_write_nor_raise(score, words):
    with pytest.raises(InvalidPolicy, match=words):
        compile_score(score)


def test_a_score_that_breaks_off_leaves_no_score_behind(monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # Numba reports it there
    places = (1.0, 2.0)

    def score(arm, trial, settings):
        return places[arm.position]

    assert scores_of(score, [], arms=2) == [1.0, 2.0]
    assert np.isnan(scores_of(score, [], arms=4)).all()


def test_what_is_no_function_is_refused_in_words():
    @dataclass(frozen=True, kw_only=True)
    class Half(eq.Policy):
        score = partial(_writes, None)

    with pytest.raises(InvalidPolicy, match="not a Python function"):
        compile_score(Half.score)
