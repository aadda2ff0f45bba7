"""The order of ties: by seed, trial and name, every order alike, whatever the number of arms."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.core.choice import ties as module
from equipoise.core.choice.ties import new_ties, tie_order
from equipoise.core.draws.streams import TIE, new_stream, start, word
from equipoise.core.stages.fresh import number_trial, trial_state

names = st.lists(st.text(min_size=1), min_size=1, max_size=40, unique=True)


@given(names, st.integers(0, 2**63 - 1), st.integers(0, 2**40), st.randoms())
def test_places_belong_to_names(arms, seed, number, rng):
    order = tie_order(arms, seed, number)
    assert sorted(order) == list(range(len(arms)))
    by_name = dict(zip(arms, order, strict=True))
    rng.shuffle(arms)
    assert dict(zip(arms, tie_order(arms, seed, number), strict=True)) == by_name


@pytest.mark.parametrize("count", [1, 2, 5, 24, 700, 1_500])
def test_arms_go_by_their_words(count):
    arms = [f"arm-{i + 1}" for i in range(count)]
    stream, words = new_stream(), []
    for key in new_ties(arms)[:, 0]:
        start(stream, 5, 3, TIE, key, 0)
        words.append(int(word(stream)))
    assert len(set(words)) == count
    np.testing.assert_array_equal(tie_order(arms, 5, 3), np.argsort(np.argsort(np.array(words, np.uint64))))


def test_every_order_is_as_likely():
    # 6 orders in 3,000 trials: chi-square with 5 degrees of freedom is above 35 once in 10⁶ seeds.
    counts = Counter(tuple(tie_order(("a", "b", "c"), 1, number)) for number in range(3_000))
    assert set(counts) == set(permutations(range(3)))
    assert sum((count - 500) ** 2 / 500 for count in counts.values()) < 35


@pytest.mark.parametrize("change", [{"seed": 2}, {"number": 4}, {"arms": ["a", "b", "c", "d", "e", "G"]}])
def test_seed_number_and_name_all_count(change):
    base = {"arms": ["a", "b", "c", "d", "e", "f"], "seed": 1, "number": 3}
    assert tie_order(**base).tolist() != tie_order(**{**base, **change}).tolist()


def test_an_experiment_is_trial_0_and_other_numbers_have_other_orders():
    problem = eq.Problem(["a", "b", "c", "d", "e"], 2, budget=50)
    state = trial_state(problem, eq.Uniform(), 9, capacity=1)
    assert state.arms["order"].tolist() == tie_order(problem.arms, 9).tolist()
    number_trial(state, problem, 6)
    assert state.trial["number"][0] == 6
    assert state.arms["order"].tolist() == tie_order(problem.arms, 9, 6).tolist()
    assert tie_order(problem.arms, 9, 6).tolist() != tie_order(problem.arms, 9).tolist()


def test_equal_hashes_still_make_an_order(monkeypatch):
    class Same:
        def digest(self):
            return bytes(8)

    monkeypatch.setattr(module.hashlib, "blake2b", lambda *_, **__: Same())
    assert sorted(tie_order(("a", "b", "c"), 1)) == [0, 1, 2]
