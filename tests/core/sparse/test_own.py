"""Every arm's own features: what is shared, what one arm has alone, and rows that allow next to nothing."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.core.sparse import recover_support, recover_supports
from equipoise.core.sparse.own import own_features
from equipoise.errors import InvalidArgument

ARMS, DIM, ROWS = 6, 120, 80


def drawn(seed, shared, own, scale=1.0, noise=1.0, rows=ROWS, correlation=0.0):
    """Contexts, outcomes, arms, and the features of every arm."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(ARMS * rows, DIM))
    for j in range(1, DIM):
        contexts[:, j] = correlation * contexts[:, j - 1] + np.sqrt(1 - correlation**2) * contexts[:, j]
    arms, places = np.arange(len(contexts)) % ARMS, rng.permutation(DIM)
    coefs = np.zeros((ARMS, DIM))
    for i in range(ARMS):
        mine = [*places[:shared], *places[shared + i * own : shared + (i + 1) * own]]
        coefs[i, mine] = scale * rng.choice([-1.0, 1.0], size=len(mine))
    outcomes = np.einsum("tj,tj->t", contexts, coefs[arms]) + np.sqrt(noise) * rng.normal(size=len(arms))
    return contexts, outcomes, arms, coefs


@pytest.mark.parametrize(("shared", "own"), [(4, 0), (2, 2), (0, 4), (0, 0)])
@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_arms_that_share_all_some_or_none_of_their_features(shared, own, correlation):
    # Ten seeds missed no feature and added 0.06 an arm: more than 3 in 6 arms are one seed in a thousand.
    contexts, outcomes, arms, coefs = drawn(3, shared, own, correlation=correlation)
    found = recover_supports(contexts, outcomes, arms, ARMS)
    false = 0
    for i in range(ARMS):
        assert set(np.flatnonzero(coefs[i])) <= set(found.of_arm(i))
        false += len(set(found.of_arm(i)) - set(np.flatnonzero(coefs[i])))
    assert false <= 3
    np.testing.assert_array_equal(found.columns, np.unique(np.concatenate(found.own)))


def test_arms_help_each_other_to_weak_features_that_they_share():
    # Alone, an arm finds a coefficient of 0.45 in 80 rows, t² = 16 ± 8, about every other time.
    contexts, outcomes, arms, coefs = drawn(1, 4, 0, scale=0.45)
    together = recover_supports(contexts, outcomes, arms, ARMS)
    alone = [
        recover_supports(contexts[arms == i], outcomes[arms == i], np.zeros(ROWS, int), 1)
        for i in range(ARMS)
    ]
    matters = np.flatnonzero(coefs[0])
    assert sum(len(np.setdiff1d(matters, own)) for own in together.own) <= 2
    assert sum(len(np.setdiff1d(matters, one.columns)) for one in alone) >= 6


def test_features_of_one_arm_drown_in_a_joint_choice():
    contexts, outcomes, arms, coefs = drawn(2, 0, 4, rows=40)
    joint, apart = (choose(contexts, outcomes, arms, ARMS) for choose in (recover_support, recover_supports))
    union = np.flatnonzero(coefs.any(axis=0))
    assert len(np.setdiff1d(union, joint.columns)) > 3 * max(len(np.setdiff1d(union, apart.columns)), 1)


def test_relabelled_arms_choose_the_same():
    contexts, outcomes, arms, _ = drawn(4, 2, 2)
    order = np.random.default_rng(1).permutation(ARMS)
    found = recover_supports(contexts, outcomes, arms, ARMS)
    other = recover_supports(contexts, outcomes, order[arms], ARMS)
    for i in range(ARMS):
        np.testing.assert_array_equal(found.of_arm(i), other.of_arm(order[i]))
    np.testing.assert_array_equal(found.columns, other.columns)


@pytest.mark.parametrize("factor", [2.0**-30, 2.0**40])
def test_units_do_not_matter(factor):
    contexts, outcomes, arms, _ = drawn(4, 2, 2)
    found = recover_supports(contexts, outcomes, arms, ARMS)
    for other in (
        recover_supports(contexts, factor * outcomes, arms, ARMS),
        recover_supports(factor * contexts, outcomes, arms, ARMS),
    ):
        assert [own.tolist() for own in other.own] == [own.tolist() for own in found.own]


def test_an_arm_with_few_rows_takes_what_most_have():
    contexts, outcomes, arms, coefs = drawn(5, 4, 0)
    few = (arms != 2) | (np.cumsum(arms == 2) <= 5)
    found = recover_supports(contexts[few], outcomes[few], arms[few], ARMS)
    np.testing.assert_array_equal(found.of_arm(2), np.flatnonzero(coefs[2]))
    none = arms != 2
    found = recover_supports(contexts[none], outcomes[none], arms[none], ARMS)
    np.testing.assert_array_equal(found.of_arm(2), np.flatnonzero(coefs[2]))


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 7])
def test_next_to_no_rows(rows):
    contexts, outcomes, arms, _ = drawn(6, 2, 2)
    used = ARMS * rows
    found = recover_supports(contexts[:used], outcomes[:used], arms[:used], ARMS)
    assert len(found.own) == ARMS
    assert all(len(own) <= rows for own in found.own)


def test_columns_that_are_constant_zero_or_twins():
    contexts, outcomes, arms, coefs = drawn(7, 2, 2)
    contexts[:, 0] = 1.0
    contexts[:, 1] = 0.0
    twin, of = np.flatnonzero(~coefs.any(axis=0))[5], np.flatnonzero(coefs[0])[0]
    contexts[:, twin] = contexts[:, of]
    outcomes = (
        np.einsum("tj,tj->t", contexts, coefs[arms]) + 3.0 + np.random.default_rng(2).normal(size=len(arms))
    )
    for own in recover_supports(contexts, outcomes, arms, ARMS).own:
        assert 0 in own
        assert 1 not in own
        assert not {twin, of} <= set(own)


@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_outcomes_without_spread(outcome):
    contexts, _, arms, _ = drawn(8, 2, 2)
    found = recover_supports(contexts, np.full(len(arms), outcome), arms, ARMS)
    assert all(np.all(np.diff(own) > 0) for own in found.own)
    if outcome == 0.0:
        assert all(len(own) == 0 for own in found.own)


def test_without_noise_exactly_the_features_are_found():
    contexts, outcomes, arms, coefs = drawn(9, 2, 2, noise=0.0)
    for i, own in enumerate(recover_supports(contexts, outcomes, arms, ARMS).own):
        np.testing.assert_array_equal(own, np.flatnonzero(coefs[i]))


def test_all_features_matter():
    rng = np.random.default_rng(1)
    contexts, arms = rng.normal(size=(400, 5)), np.arange(400) % 2
    outcomes = contexts.sum(axis=1) + rng.normal(size=400)
    for own in recover_supports(contexts, outcomes, arms, 2).own:
        assert own.tolist() == [0, 1, 2, 3, 4]


def test_no_more_columns_than_are_wanted_and_the_best_of_them():
    contexts, outcomes, arms, coefs = drawn(3, 2, 2)
    found = recover_supports(contexts, outcomes, arms, ARMS, most=2)
    # What all arms have is worth more than what one has.
    assert set(found.columns) == set(np.flatnonzero(np.all(coefs != 0.0, axis=0)))
    assert all(len(own) >= 4 for own in found.own)


def test_a_false_start_is_left():
    contexts, outcomes, arms, coefs = drawn(3, 2, 2)
    useless = np.flatnonzero(~coefs.any(axis=0))[:20]
    own, worth = own_features(contexts, outcomes, arms, ARMS, useless)
    kept = sum(len(np.intersect1d(mine, useless)) for mine in own)
    assert kept <= 2
    assert worth[useless].sum() < 0.05 * worth.sum()


def test_refuses_what_recover_support_refuses():
    contexts, outcomes, arms, _ = drawn(3, 2, 2)
    with pytest.raises(InvalidArgument, match="no criterion 'best'"):
        recover_supports(contexts, outcomes, arms, ARMS, criterion="best")
    with pytest.raises(InvalidArgument, match="most=-1"):
        recover_supports(contexts, outcomes, arms, ARMS, most=-1)
