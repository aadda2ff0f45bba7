"""Conditions C1 to C5, ψ and the rows that support recovery takes, against closed forms and simulation."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise import theory
from equipoise.errors import InvalidArgument, InvalidMoment


def ar1(rho, dim):
    return rho ** np.abs(np.subtract.outer(np.arange(dim), np.arange(dim)))


def coefficients(arms, dim, support, value=2.0):
    coef = np.zeros((arms, dim))
    coef[:, support] = value
    return coef


@st.composite
def worlds(draw):
    """Σ, M and the number of features in S."""
    dim = draw(st.integers(1, 8))
    s = draw(st.integers(0, dim))
    arms = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    root = rng.normal(size=(dim, dim + 3)) * np.exp(rng.normal(size=dim))[:, None]
    coef = np.zeros((arms, dim))
    used = rng.permutation(dim)[:s]
    # Some arms leave some of the features out, and one of them keeps each.
    coef[:, used] = rng.normal(size=(arms, s)) * (rng.random((arms, s)) < 0.6)
    coef[rng.integers(arms, size=s), used] = rng.normal(size=s) + 3.0
    return root @ root.T, coef, s


def measure(moment, coef, pulls=100, **terms):
    return theory.recovery_conditions(moment=moment, coef=coef, noise=[1.0] * len(coef), pulls=pulls, **terms)


@given(worlds())
def test_overlap_is_within_its_bounds(world):
    moment, coef, s = world
    conditions = measure(moment, coef)
    assert conditions.sparsity == s
    low, high = conditions.overlap_bounds
    assert low * (1 - 1e-9) <= conditions.overlap <= high * (1 + 1e-9)
    assert conditions.overlap == pytest.approx(theory.sparsity_overlap(moment=moment, coef=coef))
    # the form for rows that all arms share is never smaller
    used = list(conditions.support)
    directions = coef[:, used] / np.linalg.norm(coef[:, used], axis=0)
    shared = directions @ np.linalg.inv(moment[np.ix_(used, used)]) @ directions.T
    assert conditions.overlap <= np.linalg.norm(shared, 2) * (1 + 1e-9)


@given(worlds(), st.floats(0.01, 100.0), st.floats(1e-3, 1e3))
def test_overlap_reads_directions_only(world, factor, scale):
    moment, coef, _ = world
    psi = theory.sparsity_overlap(moment=moment, coef=coef)
    features = np.linspace(1.0, factor, coef.shape[1])
    assert theory.sparsity_overlap(moment=moment, coef=coef * features) == pytest.approx(psi, rel=1e-6)
    assert theory.sparsity_overlap(moment=scale * moment, coef=coef) == pytest.approx(psi / scale, rel=1e-6)
    assert theory.sparsity_overlap(moment=moment, coef=coef[::-1]) == pytest.approx(psi, rel=1e-6)


@given(worlds(), st.randoms(use_true_random=False))
def test_order_of_features_does_not_matter(world, random):
    moment, coef, _ = world
    order = list(range(coef.shape[1]))
    random.shuffle(order)
    before = measure(moment, coef).record()
    after = measure(moment[np.ix_(order, order)], coef[:, order]).record()
    for name in ("incoherence", "inverse_norm", "overlap", "conditional_variance", "error_ratio"):
        assert after[name] == pytest.approx(before[name], rel=1e-6, abs=1e-9), name


@given(worlds())
def test_conditional_variance_and_incoherence_by_least_squares(world):
    moment, coef, _ = world
    conditions = measure(moment, coef)
    inside = list(conditions.support)
    outside = [j for j in range(conditions.dim) if j not in inside]
    variances, sums = [], []
    for j in outside:
        slopes = np.linalg.solve(moment[np.ix_(inside, inside)], moment[inside, j])
        sums.append(np.abs(slopes).sum())
        # the inverse of one entry of the inverse
        block = np.linalg.inv(moment[np.ix_([j, *inside], [j, *inside])])
        variances.append(1.0 / block[0, 0])
    assert conditions.conditional_variance == pytest.approx(max(variances, default=0.0), rel=1e-6)
    assert conditions.incoherence == pytest.approx(1.0 - max(sums, default=0.0), rel=1e-6, abs=1e-9)


@given(st.integers(1, 6), st.integers(2, 12), st.data())
def test_white_contexts_and_equal_coefficients(arms, dim, data):
    s = data.draw(st.integers(1, dim))
    coef = coefficients(arms, dim, list(range(s)), 3.0)
    coef[::2, 0] *= -1.0
    conditions = measure(np.eye(dim), coef, pulls=100_000_000)
    assert conditions.incoherence == 1.0
    assert conditions.overlap == pytest.approx(s / arms)
    assert conditions.inverse_norm == 1.0
    assert conditions.conditional_variance == (1.0 if s < dim else 0.0)
    assert conditions.weakest_signal == pytest.approx(3.0 * math.sqrt(arms))
    assert conditions.hold


def test_disjoint_supports_need_the_most():
    assert theory.sparsity_overlap(moment=np.eye(6), coef=[[1, 5, 2, 0, 0, 0]]) == pytest.approx(3.0)
    disjoint = [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 0]]
    assert theory.sparsity_overlap(moment=np.eye(6), coef=disjoint) == pytest.approx(3.0)
    # one support, but one arm has nearly all of the signal: no gain from the other
    lopsided = [[1, 1, 1, 0, 0, 0], [1e-6, 1e-6, 1e-6, 0, 0, 0]]
    assert theory.sparsity_overlap(moment=np.eye(6), coef=lopsided) == pytest.approx(3.0)


def test_the_lower_bound_on_overlap_as_printed_is_wrong():
    conditions = measure(np.diag([1.0, 4.0]), np.array([[1.0, 1.0]]))
    assert conditions.overlap == pytest.approx(1.25)
    assert conditions.overlap < 2 / conditions.smallest_eigenvalue
    assert conditions.overlap_bounds == (0.5, 2.0)


@pytest.mark.parametrize("rho", [0.3, -0.6, 0.8])
@pytest.mark.parametrize(("first", "s"), [(0, 1), (2, 2), (3, 4), (4, 6)])
def test_ar1_with_neighbours_as_support(rho, first, s):
    # Given its nearest feature in S, one outside is independent of the rest of S.
    dim, arms = 10, 3
    support = list(range(first, first + s))
    conditions = measure(ar1(rho, dim), coefficients(arms, dim, support))
    size = abs(rho)
    assert conditions.incoherence == pytest.approx(1 - size)
    furthest = max(first, dim - first - s)
    assert conditions.conditional_variance == pytest.approx(1 - rho ** (2 * furthest))
    row = {1: 1.0, 2: 1 / (1 - size)}.get(s, (1 + size) / (1 - size))
    assert conditions.inverse_norm == pytest.approx(row)
    assert conditions.overlap == pytest.approx((s - (s - 2) * rho) / (1 + rho) / arms)


def test_ar1_with_a_gap_in_the_support():
    # The feature between leans on both of its neighbours, by ρ/(1+ρ²) each.
    conditions = measure(ar1(0.5, 3), coefficients(2, 3, [0, 2]))
    assert conditions.incoherence == pytest.approx(1 - 2 * 0.5 / 1.25)
    assert conditions.conditional_variance == pytest.approx((1 - 0.25) / (1 + 0.25))


def test_overlap_is_the_variance_of_the_dual_variables():
    # X_j|Sᵀ X_S (X_SᵀX_S)⁻¹ z_i has variance ρ_u·z_iᵀΣ_SS⁻¹z_i/(k−s−1), whose largest is ρ_u·ψ/(k−s−1),
    # and is independent between arms. 6 standard errors: fails by chance less than once in 10⁸ seeds.
    rng = np.random.default_rng(5)
    moment, s, rows, trials = ar1(0.5, 4), 3, 12, 20_000
    coef = np.array([[1.0, 2.0, -1.0, 0.0], [0.5, 0.0, 3.0, 0.0]])
    conditions = measure(moment, coef)
    directions = coef[:, :s] / np.linalg.norm(coef[:, :s], axis=0)
    slopes = np.linalg.solve(moment[:s, :s], moment[:s, 3])
    duals = []
    for z in directions:
        x = rng.normal(size=(trials, rows, 4)) @ np.linalg.cholesky(moment).T
        inside, left = x[:, :, :s], x[:, :, 3] - x[:, :, :s] @ slopes
        weights = np.linalg.solve(
            np.swapaxes(inside, 1, 2) @ inside, np.broadcast_to(z[:, None], (trials, s, 1))
        )
        duals.append(np.einsum("tk,tks,ts->t", left, inside, weights[:, :, 0]))
    expected = conditions.conditional_variance * conditions.overlap / (rows - s - 1)
    squares = np.square(duals)
    worst = np.argmax(squares.mean(axis=1))
    assert abs(squares[worst].mean() - expected) < 6 * squares[worst].std() / math.sqrt(trials)
    assert abs(np.corrcoef(duals)[0, 1]) < 6 / math.sqrt(trials)


def test_c4_and_c5_as_printed():
    coef = coefficients(2, 9, [1, 4, 5])
    moment = ar1(0.4, 9)
    conditions = theory.recovery_conditions(
        moment=moment, coef=coef, noise=[0.5, 3.0], pulls=50, support=[4, 5, 1], growth=0.7
    )
    smallest = np.linalg.eigvalsh(moment)[0]
    penalty = math.sqrt(0.7 * math.log(9) / 50)
    assert conditions.penalty == pytest.approx(penalty)
    error = math.sqrt(8 * 3.0 * 3 * math.log(3) / (50 * smallest))
    error += penalty * (conditions.inverse_norm + 12 * 3 / (smallest * math.sqrt(50)))
    assert conditions.coefficient_error == pytest.approx(error)
    assert conditions.error_ratio == pytest.approx(error / math.sqrt(8))
    assert conditions.support == (1, 4, 5)
    assert measure(moment, coef, pulls=50).penalty == pytest.approx(math.log(9) / math.sqrt(50))


def test_more_rows_help_c5_and_nothing_else():
    coef = coefficients(3, 20, [0, 1, 2], 0.5)
    few, many = (measure(ar1(0.3, 20), coef, pulls=k) for k in (100, 40_000))
    assert few.penalty / many.penalty == pytest.approx(20.0)
    # The last term of ρ falls as 1/k, the others as 1/√k.
    assert 20.0 < few.coefficient_error / many.coefficient_error < 400.0
    assert not few.c5
    assert not few.hold
    assert many.hold
    assert few.pulls_needed() == many.pulls_needed()
    assert (few.overlap, few.incoherence) == (many.overlap, many.incoherence)


def test_recovery_pulls_as_printed():
    moment, coef = ar1(0.4, 30), coefficients(4, 30, [3, 4, 5, 20])
    conditions = measure(moment, coef)
    for margin in (0.01, 0.1, 1.0):
        needed = 2 * (1 + margin) * conditions.overlap * math.log(26)
        needed *= conditions.conditional_variance / conditions.incoherence**2
        found = theory.recovery_pulls(moment=moment, coef=coef, margin=margin)
        assert found == conditions.pulls_needed(margin)
        assert found - 1 <= needed < found
        assert isinstance(found, int)
    needed = 2.2 * 4 * math.log(26) * conditions.conditional_variance
    needed /= conditions.smallest_eigenvalue * conditions.incoherence**2
    overlapping = theory.complete_overlap_pulls(moment=moment, support=[3, 4, 5, 20], arms=4)
    assert (overlapping - 1) * 4 <= needed < overlapping * 4


@given(worlds(), st.integers(1, 9))
def test_complete_overlap_needs_at_least_what_equal_coefficients_need(world, arms):
    moment, coef, _ = world
    support = np.flatnonzero(coef.any(axis=0))
    equal = coefficients(arms, len(moment), support)
    bound = theory.complete_overlap_pulls(moment=moment, support=support, arms=arms)
    assert theory.recovery_pulls(moment=moment, coef=equal, support=support) <= bound
    alone = theory.complete_overlap_pulls(moment=moment, support=support, arms=1)
    if math.isinf(alone):
        assert math.isinf(bound)
    else:  # one row more at most, by rounding up
        assert alone <= arms * bound < alone + arms + 1


def test_incoherence_of_zero_or_less_has_no_answer():
    # A feature outside that is the sum of two inside, and a little noise: row sum 2.
    mixing = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.1]])
    moment, coef = mixing @ mixing.T, coefficients(2, 3, [0, 1])
    conditions = measure(moment, coef)
    assert conditions.incoherence == pytest.approx(-1.0)
    assert not conditions.c1
    assert not conditions.hold
    assert theory.recovery_pulls(moment=moment, coef=coef) == math.inf
    assert theory.complete_overlap_pulls(moment=moment, support=[0, 1], arms=2) == math.inf
    assert "no number is enough" in str(conditions)
    assert conditions.record()["pulls_needed"] is None


@pytest.mark.parametrize("seed", range(20))
def test_rounding_leaves_no_incoherence(seed):
    # The feature outside is a mean of those inside: the row sum is 1, and some seeds round it down.
    rng = np.random.default_rng(seed)
    mixing = np.eye(4)
    mixing[3] = [*rng.dirichlet([1.0, 1.0, 1.0]), 0.1]
    mixing = mixing @ np.diag(rng.random(4) + 0.3)
    conditions = measure(mixing @ mixing.T, coefficients(2, 4, [0, 1, 2]))
    assert conditions.incoherence == 0.0
    assert conditions.pulls_needed() == math.inf


@pytest.mark.parametrize("arms", [1, 3])
def test_no_feature_is_used(arms):
    conditions = measure(ar1(0.5, 6), np.zeros((arms, 6)))
    assert conditions.support == ()
    assert (conditions.incoherence, conditions.overlap, conditions.inverse_norm) == (1.0, 0.0, 0.0)
    assert conditions.overlap_bounds == (0.0, 0.0)
    assert conditions.conditional_variance == pytest.approx(1.0)
    assert (conditions.weakest_signal, conditions.error_ratio) == (math.inf, 0.0)
    assert conditions.hold
    assert conditions.pulls_needed() == 1
    assert conditions.record()["weakest_signal"] is None


@pytest.mark.parametrize("dim", [1, 5])
def test_every_feature_is_used(dim):
    conditions = measure(ar1(0.5, dim), coefficients(2, dim, list(range(dim))), pulls=10**6)
    assert (conditions.incoherence, conditions.conditional_variance) == (1.0, 0.0)
    assert conditions.pulls_needed() == 1
    assert theory.complete_overlap_pulls(moment=np.eye(dim), support=range(dim), arms=2) == 1
    # log 1 = 0: one feature leaves no penalty
    assert conditions.c4 == (dim > 1)
    assert conditions.hold == (dim > 1)


def test_one_feature_outside():
    assert theory.recovery_pulls(moment=np.eye(3), coef=[[1.0, 1.0, 0.0]]) == 1


def test_tiny_coefficients_keep_their_directions():
    coef = coefficients(2, 5, [0, 3], 1e-200)
    assert theory.sparsity_overlap(moment=np.eye(5), coef=coef) == pytest.approx(1.0)
    assert measure(np.eye(5), coef).weakest_signal == pytest.approx(math.sqrt(2) * 1e-200)


def test_smallest_eigenvalue_lost_in_rounding():
    scale = np.array([1e-9, 1.0, 1e9])
    moment = ar1(0.9, 3) * scale * scale[:, None]
    conditions = measure(moment, coefficients(1, 3, [0]))
    assert conditions.smallest_eigenvalue == 0.0
    assert not conditions.c2
    assert conditions.coefficient_error == conditions.overlap_bounds[1] == math.inf
    assert theory.complete_overlap_pulls(moment=moment, support=[0], arms=2) == math.inf
    assert measure(moment, np.zeros((1, 3))).error_ratio == 0.0


def test_a_readable_table_and_a_plain_record():
    conditions = measure(ar1(0.5, 8), coefficients(3, 8, [0, 1]), pulls=30)
    lines = str(conditions).splitlines()
    assert lines[0].split() == ["condition", "measured", "asked", "holds"]
    assert [line.split()[0] for line in lines[1:6]] == ["C1", "C2", "C3", "C4", "C5"]
    assert [line.split()[-1] for line in lines[1:6]] == ["yes", "yes", "yes", "yes", "no"]
    assert "2 of 8 features, 3 arms, 30 rows an arm" in lines[6]
    record = json.loads(json.dumps(conditions.record(), allow_nan=False))
    assert record["holds"] == {"c1": True, "c2": True, "c3": True, "c4": True, "c5": False}
    assert record["hold"] is False
    assert record["support"] == [0, 1]


@pytest.mark.parametrize("coef", [[1.0, 2.0], [], [[]], [[math.nan, 1.0]], "x", None, [[1.0], [1.0, 2.0]]])
def test_bad_coefficients(coef):
    with pytest.raises(InvalidArgument, match="coef is not a matrix"):
        theory.sparsity_overlap(moment=np.eye(2), coef=coef)


NO_MOMENTS = [np.ones((2, 2)), [[1.0, 0.5], [0.0, 1.0]], None, "x", [[1.0], [1.0, 2.0]], 3.0, []]


@pytest.mark.parametrize("moment", NO_MOMENTS, ids=repr)
def test_bad_moment(moment):
    with pytest.raises(InvalidMoment):
        theory.recovery_pulls(moment=moment, coef=[[1.0, 0.0]])
    with pytest.raises(InvalidMoment):
        theory.complete_overlap_pulls(moment=moment, support=[0], arms=2)


def test_moment_of_another_length():
    with pytest.raises(InvalidMoment, match=r"shape \(3, 3\), expected \(2, 2\)"):
        theory.recovery_pulls(moment=np.eye(3), coef=[[1.0, 0.0]])


@pytest.mark.parametrize(
    "support", [[0, 0], [-1], [2], [True, False], [0.5], "x", 3, np.array([True, False])]
)
def test_bad_support(support):
    with pytest.raises(InvalidArgument, match="not a list of features"):
        theory.complete_overlap_pulls(moment=np.eye(2), support=support, arms=2)


def test_support_that_contradicts_the_coefficients():
    for support in ([0], [0, 1, 2], []):
        with pytest.raises(InvalidArgument, match="not in both"):
            theory.recovery_pulls(moment=np.eye(4), coef=[[1.0, 2.0, 0.0, 0.0]], support=support)


def test_other_bad_arguments():
    with pytest.raises(InvalidArgument, match="3 noise variances for 1 arms"):
        theory.recovery_conditions(moment=np.eye(2), coef=[[1, 0]], noise=[1, 1, 1], pulls=5)
    for name, value in [("pulls", 0), ("pulls", 2.5), ("pulls", True), ("growth", 0.0), ("growth", "x")]:
        terms = {"pulls": 5, name: value}
        with pytest.raises(InvalidArgument, match=name):
            theory.recovery_conditions(moment=np.eye(2), coef=[[1, 0]], noise=[1], **terms)
    for margin in (0.0, -1.0, math.inf, math.nan, None):
        with pytest.raises(InvalidArgument, match="margin"):
            theory.recovery_pulls(moment=np.eye(2), coef=[[1, 0]], margin=margin)
    with pytest.raises(InvalidArgument, match="arms"):
        theory.complete_overlap_pulls(moment=np.eye(2), support=[0], arms=0)


def test_recovery_failure():
    failure = theory.recovery_failure(arms=4, sparsity=20, dim=500, c0=1.5, c1=0.8)
    assert failure == pytest.approx(4 * math.exp(-1.5 * math.log(20)) + math.exp(-0.8 * math.log(480)))
    assert theory.recovery_failure(arms=1, sparsity=0, dim=9, c0=1.0, c1=1.0) == pytest.approx(1 / 9)
    assert theory.recovery_failure(arms=2, sparsity=9, dim=9, c0=1.0, c1=1.0) == pytest.approx(2 / 9)
    assert theory.recovery_failure(arms=2, sparsity=1, dim=9, c0=1.0, c1=1.0) == 1.0
    assert theory.recovery_failure(arms=1, sparsity=8, dim=9, c0=9.0, c1=9.0) == 1.0
    for wrong in ({"sparsity": 10}, {"c0": 0.0}, {"c1": -1.0}, {"arms": 0}, {"dim": 0, "sparsity": 0}):
        with pytest.raises(InvalidArgument):
            theory.recovery_failure(**{"arms": 2, "sparsity": 3, "dim": 9, "c0": 1.0, "c1": 1.0, **wrong})
