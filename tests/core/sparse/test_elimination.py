"""Least squares on growing and shrinking supports, and the evidence for a feature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from equipoise.core.sparse.elimination import _chernoff, eliminate
from equipoise.core.sparse.refit import add_feature, least_squares, new_refit, remove_feature
from equipoise.core.sparse.standardised import standardise


def draw(seed, counts=(20, 15, 30), dim=8):
    rng = np.random.default_rng(seed)
    arms = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    contexts = rng.normal(size=(len(arms), dim))
    return contexts, contexts[:, 0] + contexts[:, 3] * arms + rng.normal(size=len(arms)), arms


def squares(contexts, outcomes, arms, count, columns):
    """Residual sums of squares the long way."""
    found = np.zeros(count)
    for i in range(count):
        own = arms == i
        table = contexts[own][:, list(columns)]
        fit = np.linalg.lstsq(table, outcomes[own], rcond=None)[0]
        found[i] = np.sum((outcomes[own] - table @ fit) ** 2)
    return found


def test_features_come_and_go():
    rows = draw(1)
    data = standardise(*rows, 3)
    refit = new_refit(data, 5)
    support = [3, 1, 7, 0, 5]
    for size, j in enumerate(support, 1):
        assert add_feature(refit, j)
        np.testing.assert_allclose(refit.squares[size], squares(*rows, 3, support[:size]), rtol=1e-12)
        assert (refit.ranks[size] == size).all()
    for place in (1, 3, 0):
        support.pop(place)
        remove_feature(refit, place)
        assert list(refit.features[: len(support)]) == support
        np.testing.assert_allclose(refit.squares[len(support)], squares(*rows, 3, support), rtol=1e-12)


def test_combinations_are_refused_unless_an_arm_can_tell_them():
    contexts, outcomes, arms = draw(2)
    contexts[:, 4] = contexts[:, 0] - 2.0 * contexts[:, 1]
    contexts[:, 5] = np.where(arms == 2, contexts[:, 5], contexts[:, 1])
    refit = new_refit(standardise(contexts, outcomes, arms, 3), 4)
    assert [bool(add_feature(refit, j)) for j in (0, 1, 4, 5)] == [True, True, False, True]
    np.testing.assert_array_equal(refit.ranks[3], [2, 2, 3])
    np.testing.assert_allclose(refit.squares[3], squares(contexts, outcomes, arms, 3, [0, 1, 5]), rtol=1e-11)


def test_elimination_drops_the_one_that_is_missed_least():
    rows = draw(3)
    data = standardise(*rows, 3)
    refit = new_refit(data, 6)
    support = [6, 3, 2, 5, 0, 1]
    for j in support:
        add_feature(refit, j)
    full = squares(*rows, 3, support)
    dof = data.counts - len(support) + 1
    losses = [dof @ np.log(squares(*rows, 3, [k for k in support if k != j]) / full) for j in support]
    eliminate(refit, fixed=5, most=8)
    expected = [j for j in support if j != support[int(np.argmin(losses))]]
    assert list(refit.features[:5]) == expected
    eliminate(refit, fixed=None, most=8)
    assert set(refit.features[: refit.size[0]]) == {0, 3}
    eliminate(refit, fixed=None, most=1)
    assert list(refit.features[: refit.size[0]]) == [3]


@pytest.mark.parametrize(
    ("dof", "extra"),
    [
        ([9.0], [1.0]),
        ([4.0, 4.0, 4.0], [1.0] * 3),
        ([3.0, 10.0, 50.0, 50.0], [1.0] * 4),
        ([20.0, 9.0], [6.0, 5.0]),
    ],
)
def test_evidence_bounds_the_probability(dof, extra):
    """Chernoff's bound holds, and is not far off: against 400,000 draws of the null distribution."""
    rng = np.random.default_rng(1)
    dof, extra = np.array(dof), np.array(extra)
    ratios = rng.beta((dof - extra) / 2.0, extra / 2.0, size=(400_000, len(dof)))
    gains = -np.log(ratios) @ dof
    for share in (0.1, 0.01, 0.001):
        bound = np.exp(-_chernoff(np.quantile(gains, 1.0 - share), dof, extra, len(dof)))
        # 20 % is 4 standard errors of the rarest share: fails by chance less than once in 10⁴ seeds.
        assert 0.8 * share < bound < 30.0 * share


def test_the_ratio_of_a_feature_without_effect_is_beta():
    """RSS with/without one more feature, over 2,000 arms: Kolmogorov-Smirnov at 10⁻³, with a fixed seed."""
    rng = np.random.default_rng(7)
    arms = np.repeat(np.arange(2000), 7)
    contexts = rng.normal(size=(len(arms), 3))
    data = standardise(contexts, rng.normal(size=len(arms)) * (1.0 + arms % 5), arms, 2000)
    refit = new_refit(data, 3)
    for j in range(3):
        add_feature(refit, j)
    ratios = refit.squares[3] / refit.squares[2]
    assert stats.kstest(ratios, stats.beta((5 - 1) / 2, 0.5).cdf).pvalue > 1e-3


def test_least_squares_in_the_units_of_the_rows():
    contexts, outcomes, arms = draw(4)
    contexts *= np.geomspace(1e-3, 1e3, 8)
    coefs = least_squares(standardise(contexts, outcomes, arms, 3), np.array([1, 3]))
    assert not np.delete(coefs, [1, 3], axis=1).any()
    for i in range(3):
        own = arms == i
        fit = np.linalg.lstsq(contexts[own][:, [1, 3]], outcomes[own], rcond=None)[0]
        np.testing.assert_allclose(coefs[i, [1, 3]], fit, rtol=1e-9)


def test_what_an_arm_cannot_tell_from_earlier_features_is_zero():
    contexts, outcomes, arms = draw(5, counts=(20, 3, 0))
    contexts[:, 2] = np.where(arms == 0, contexts[:, 2], 2.0 * contexts[:, 1])
    columns = np.array([1, 2, 6, 0, 4])
    coefs = least_squares(standardise(contexts, outcomes, arms, 3), columns)
    fit = np.linalg.lstsq(contexts[arms == 0][:, columns], outcomes[arms == 0], rcond=None)[0]
    np.testing.assert_allclose(coefs[0, columns], fit, rtol=1e-9)
    # Three rows: the fit goes through all of them with the first three features that differ.
    own = arms == 1
    exact = np.linalg.solve(contexts[own][:, [1, 6, 0]], outcomes[own])
    np.testing.assert_allclose(coefs[1, [1, 6, 0]], exact, rtol=1e-9)
    assert not coefs[1, [2, 4]].any()
    assert not coefs[2].any()
