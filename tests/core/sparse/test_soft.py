"""A lasso that takes a share in an arm's model where features are weak, and arms that are settled."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.core.sparse.soft import is_settled, soft_fit

DIM = 60
NONE, STRONG = np.zeros(DIM, np.int64), np.array([0, 1])


def weak_arm(seed, scale, rows=150, features=12):
    """Two features of ±2, and some of ±scale, in noise of variance 1."""
    rng = np.random.default_rng(seed)
    contexts, coef = rng.normal(size=(rows, DIM)), np.zeros(DIM)
    coef[: features + 2] = [2.0, -2.0, *(scale * rng.choice([-1.0, 1.0], size=features))]
    return contexts, contexts @ coef + rng.normal(size=rows), coef


def fitted(contexts, outcomes, columns):
    coef = np.zeros(DIM)
    coef[columns] = np.linalg.lstsq(contexts[:, columns], outcomes, rcond=None)[0]
    return coef


def test_a_lasso_takes_a_share_where_features_are_too_weak_to_be_chosen():
    # Least squares on the two strong features leave 12·0.0625 = 0.75; a lasso 0.45 ± 0.1.
    saved = []
    for seed in range(6):
        contexts, outcomes, coef = weak_arm(seed, 0.25)
        alone = fitted(contexts, outcomes, STRONG)
        soft = soft_fit(contexts, outcomes, STRONG, NONE, 4)
        saved.append(
            0.0 if soft is None else np.sum((alone - coef) ** 2) - np.sum((soft.beside(alone) - coef) ** 2)
        )
    assert np.mean(saved) > 0.1


def test_least_squares_stay_as_a_rule_where_nothing_is_left():
    lost, before = [], []
    for seed in range(20):
        contexts, outcomes, coef = weak_arm(seed, 0.0)
        alone = fitted(contexts, outcomes, STRONG)
        soft = soft_fit(contexts, outcomes, STRONG, NONE, 4)
        model = alone if soft is None else soft.beside(alone)
        lost.append(np.sum((model - coef) ** 2) - np.sum((alone - coef) ** 2))
        before.append(np.sum((alone - coef) ** 2))
    # A lasso of noise costs something now and then, and less than the error of least squares on average.
    assert np.mean(lost) < np.mean(before)


def test_the_share_is_least_squares_of_left_out_predictions():
    contexts, outcomes, _ = weak_arm(3, 0.25)
    soft = soft_fit(contexts, outcomes, STRONG, NONE, 4)
    assert soft is not None
    assert 0.0 <= soft.weight < 1.0
    one, other = np.full(DIM, 2.0), soft.coefs
    np.testing.assert_array_equal(soft.beside(one), soft.weight * one + (1.0 - soft.weight) * other)


def test_firm_and_common_features_are_not_shrunk():
    contexts, outcomes, _ = weak_arm(1, 0.4)
    weakest, common = np.array([0, 1, 2]), NONE.copy()
    common[[2, 50]] = 2
    for others, firm in ((NONE, [0, 1]), (common, [0, 1, 2])):
        soft = soft_fit(contexts, outcomes, weakest, others, 4)
        rest = np.setdiff1d(np.arange(DIM), firm)
        left = outcomes - contexts[:, rest] @ soft.coefs[rest]
        np.testing.assert_allclose(
            soft.coefs[firm], np.linalg.lstsq(contexts[:, firm], left, rcond=None)[0], rtol=1e-8
        )


@pytest.mark.parametrize("factor", [2.0**-20, 2.0**30])
def test_units_do_not_matter(factor):
    contexts, outcomes, _ = weak_arm(1, 0.4)
    here, there = (soft_fit(contexts, f * outcomes, STRONG, NONE, 4) for f in (1.0, factor))
    assert there.weight == pytest.approx(here.weight, rel=1e-9)
    np.testing.assert_allclose(there.coefs, factor * here.coefs, rtol=1e-9)
    assert is_settled(contexts, outcomes, STRONG, NONE, 4) == is_settled(
        contexts, factor * outcomes, STRONG, NONE, 4
    )


@pytest.mark.parametrize("columns", [[], list(range(DIM))])
@pytest.mark.parametrize("rows", [0, 5, 150])
def test_least_squares_stay_without_rows_spread_or_features(columns, rows):
    contexts, outcomes, _ = weak_arm(1, 0.4)
    chosen = np.array(columns, np.int64)
    assert soft_fit(contexts[:rows], 0.0 * outcomes[:rows], chosen, NONE, 4) is None
    assert not is_settled(contexts[:rows], 0.0 * outcomes[:rows], chosen, NONE, 4)


def test_an_arm_is_settled_when_its_features_are_evident():
    settled = sum(is_settled(*weak_arm(seed, 0.0)[:2], STRONG, NONE, 4) for seed in range(10))
    assert settled >= 6
    # Twelve features of ±0.4 are left out: 1.92 beside a noise of 1.
    assert not any(is_settled(*weak_arm(seed, 0.4)[:2], STRONG, NONE, 4) for seed in range(10))


def test_an_arm_with_a_doubtful_feature_is_not_settled_unless_others_have_it():
    # ±0.25 in 150 rows: z² = 9 ± 6, and a firm feature is worth 26 at least.
    columns, common = np.array([0, 1, 2]), NONE.copy()
    common[2] = 3
    rows = [weak_arm(seed, 0.25, features=1)[:2] for seed in range(10)]
    assert sum(is_settled(*each, columns, NONE, 4) for each in rows) <= 1
    assert sum(is_settled(*each, columns, common, 4) for each in rows) >= 5


def test_an_arm_without_noise_is_settled():
    contexts, _, _ = weak_arm(1, 0.0)
    assert is_settled(contexts, 2.0 * contexts[:, 0] - contexts[:, 1], STRONG, NONE, 4)
