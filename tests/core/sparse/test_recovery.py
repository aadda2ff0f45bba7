"""Supports come out right, whatever the units, the order or the state of the rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.core.sparse import CRITERIA, recover_support
from equipoise.errors import InvalidArgument

SUPPORT = np.array([3, 17, 25])


def world(seed, rows=40, arms=3, dim=30, support=SUPPORT, noise=0.5, overlap=1.0):
    rng = np.random.default_rng(seed)
    places = np.arange(arms * rows) % arms
    contexts = rng.normal(size=(len(places), dim))
    coefs = np.zeros((arms, dim))
    coefs[:, support] = rng.choice([-1.0, 1.0], size=(arms, len(support)))
    if overlap < 1.0:
        active = np.arange(arms)[:, None] < round(overlap * arms)
        coefs[:, support] *= rng.permuted(np.tile(active, (1, len(support))), axis=0)
    deviations = np.sqrt(np.broadcast_to(noise, arms))[places]
    outcomes = np.einsum("rj,rj->r", contexts, coefs[places]) + deviations * rng.normal(size=len(places))
    return contexts, outcomes, places


def same(one, other):
    np.testing.assert_array_equal(one.columns, other.columns)
    np.testing.assert_array_equal(one.left_out, other.left_out)
    assert [entry.feature for entry in one.entered] == [entry.feature for entry in other.entered]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sparsity": 3},
        {"sparsity": 3, "criterion": "path"},
        *({"criterion": name} for name in CRITERIA if name != "cross-validation"),
    ],
    ids=str,
)
def test_easy_supports_are_recovered(options):
    found = recover_support(*world(1), 3, **options)
    np.testing.assert_array_equal(found.columns, SUPPORT)
    assert found.criterion == (
        "sparsity" if "sparsity" in options else options.get("criterion", "elimination")
    )
    assert {entry.feature for entry in found.entered[:3]} == set(SUPPORT)
    penalties = [entry.penalty for entry in found.entered]
    assert penalties == sorted(penalties, reverse=True)
    assert 0.0 < found.penalty <= 1.0
    np.testing.assert_allclose(found.noise, 0.5, rtol=0.6)
    assert len(found.left_out) == 0


def test_cross_validation_keeps_the_support_and_more():
    found = recover_support(*world(1), 3, criterion="cross-validation")
    assert set(SUPPORT) <= set(found.columns)


@pytest.mark.parametrize("options", [{"sparsity": 8}, {}, {"sparsity": 8, "criterion": "path"}], ids=str)
def test_the_main_world_is_recovered_exactly(options):
    """25 trials of m = 10, d = 500, s = 8, L = 60.

    At a true rate of 99.5 % fewer than 23 come out right less than once in 3,000 seeds.
    """
    exact = 0
    for trial in range(25):
        support = np.sort(np.random.default_rng([2, trial]).choice(500, 8, replace=False))
        rows = world([3, trial], rows=60, arms=10, dim=500, support=support, noise=1.0)
        exact += np.array_equal(recover_support(*rows, 10, **options).columns, support)
    assert exact >= 23


def test_elimination_recovers_where_the_path_does_not():
    """Few rows: the path lets false features in first.

    About 96 and 45 % of trials come out right: fails by chance less than once in 2,000 seeds.
    """
    right = {"elimination": 0, "path": 0}
    for trial in range(20):
        support = np.sort(np.random.default_rng([4, trial]).choice(500, 8, replace=False))
        rows = world([5, trial], rows=20, arms=10, dim=500, support=support, noise=1.0)
        for criterion in right:
            found = recover_support(*rows, 10, sparsity=8, criterion=criterion)
            right[criterion] += np.array_equal(found.columns, support)
    assert right["elimination"] >= 15
    assert right["elimination"] >= right["path"] + 2


def test_noise_alone_has_no_support():
    """α = 5 % is an upper bound: more than 6 of 30 by chance less than once in 1,000 seeds."""
    found = [recover_support(*world(seed, support=np.array([], int)), 3).columns for seed in range(30)]
    assert sum(len(columns) > 0 for columns in found) <= 6


def test_unequal_noise_and_partial_overlap():
    for seed in range(5):
        noise = np.geomspace(0.05, 5.0, 6)
        rows = world(seed, arms=6, dim=100, noise=noise, overlap=0.5)
        found = recover_support(*rows, 6)
        np.testing.assert_array_equal(found.columns, SUPPORT)
        # 37 degrees of freedom: a factor of 3 is 10⁻⁴ away.
        assert ((found.noise > noise / 3) & (found.noise < noise * 3)).all()


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1000),
    factor=st.sampled_from([1e-100, 1e-3, 7.0, 1e90]),
    sparsity=st.sampled_from([None, 3, 6]),
    noise=st.sampled_from([0.5, 3.0]),
)
def test_units_do_not_matter(seed, factor, sparsity, noise):
    contexts, outcomes, arms = world(seed, noise=noise)
    found = recover_support(contexts, outcomes, arms, 3, sparsity=sparsity)
    other = recover_support(contexts, outcomes * factor, arms, 3, sparsity=sparsity)
    same(found, other)
    np.testing.assert_allclose(other.noise / factor / factor, found.noise, rtol=1e-9)
    columns = np.geomspace(1e-50, 1e30, 30)[np.random.default_rng(seed).permutation(30)]
    same(found, recover_support(contexts * columns, outcomes, arms, 3, sparsity=sparsity))
    # Every arm has a unit of its own.
    units = np.array([1.0, factor, 1.0 / factor])[arms]
    same(found, recover_support(contexts, outcomes * units, arms, 3, sparsity=sparsity))
    # A power of two changes no digit.
    again = recover_support(contexts, outcomes * 2.0**40, arms, 3, sparsity=sparsity)
    assert again.entered == found.entered


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), sparsity=st.sampled_from([None, 3, 6]), noise=st.sampled_from([0.5, 3.0]))
def test_names_and_order_do_not_matter(seed, sparsity, noise):
    rng = np.random.default_rng(seed)
    contexts, outcomes, arms = world(seed, noise=noise)
    found = recover_support(contexts, outcomes, arms, 3, sparsity=sparsity)
    relabelled = rng.permutation(3)
    other = recover_support(contexts, outcomes, relabelled[arms], 3, sparsity=sparsity)
    same(found, other)
    np.testing.assert_allclose(other.noise[relabelled], found.noise, rtol=1e-9)
    moved = rng.permutation(30)  # feature j becomes feature moved[j]
    other = recover_support(contexts[:, np.argsort(moved)], outcomes, arms, 3, sparsity=sparsity)
    np.testing.assert_array_equal(other.columns, np.sort(moved[found.columns]))
    shuffled = rng.permutation(len(arms))
    same(found, recover_support(contexts[shuffled], outcomes[shuffled], arms[shuffled], 3, sparsity=sparsity))


def test_the_same_rows_give_the_same_bits():
    rows = world(8)
    one, other = (recover_support(*rows, 3) for _ in range(2))
    assert one.entered == other.entered
    np.testing.assert_array_equal(one.noise, other.noise)


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    counts=st.lists(st.integers(0, 12), min_size=1, max_size=4),
    dim=st.integers(1, 15),
    kind=st.sampled_from(["normal", "one-hot", "constant", "zero", "low rank", "integers", "copies"]),
    told=st.sampled_from(["normal", "zero", "equal", "feature", "one arm zero"]),
    sparsity=st.sampled_from([None, 0, 1, 3, 15]),
    most=st.sampled_from([None, 0, 2]),
    criterion=st.sampled_from(["elimination", "path", *CRITERIA]),
)
def test_any_rows_give_a_support_that_can_be_fitted(seed, counts, dim, kind, told, sparsity, most, criterion):
    if (criterion == "path") == (sparsity is None):
        criterion = "elimination"
    if sparsity is not None and criterion != "path":
        criterion = "elimination"
    rng = np.random.default_rng(seed)
    arms = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    rows = len(arms)
    contexts = {
        "normal": lambda: rng.normal(size=(rows, dim)),
        "one-hot": lambda: np.eye(dim)[rng.integers(dim, size=rows)],
        "constant": lambda: np.ones((rows, dim)),
        "zero": lambda: np.zeros((rows, dim)),
        "low rank": lambda: rng.normal(size=(rows, 2)) @ rng.normal(size=(2, dim)),
        "integers": lambda: rng.integers(-1, 2, size=(rows, dim)).astype(float),
        "copies": lambda: rng.normal(size=(rows, dim))[:, rng.integers(dim, size=dim)],
    }[kind]()
    outcomes = {
        "normal": lambda: rng.normal(size=rows),
        "zero": lambda: np.zeros(rows),
        "equal": lambda: np.full(rows, -3.0),
        "feature": lambda: contexts[:, 0] * 5.0,
        "one arm zero": lambda: np.where(arms == 0, 0.0, rng.normal(size=rows)),
    }[told]()
    found = recover_support(
        contexts, outcomes, arms, len(counts), sparsity=sparsity, most=most, criterion=criterion
    )
    columns = found.columns
    assert (np.diff(columns) > 0).all()
    assert not set(columns) & set(found.left_out)
    filled = [count for count in counts if count > 0]
    room = max(0, min(filled) - 2) if filled else 0
    assert len(columns) <= min(room, dim, *(limit for limit in (sparsity, most) if limit is not None))
    table = contexts[:, columns]
    lengths = np.linalg.norm(table, axis=0)
    assert (lengths > 0.0).all()
    assert len(columns) == 0 or np.linalg.matrix_rank(table / lengths, tol=1e-9) == len(columns)
    np.testing.assert_array_equal(np.isnan(found.noise), np.array(counts) == 0)


def test_copies_are_left_out():
    contexts, outcomes, arms = world(11)
    contexts[:, 4] = contexts[:, 3]
    contexts[:, 26] = -2.0 * contexts[:, 25]
    for options in ({}, {"sparsity": 3}, {"sparsity": 3, "criterion": "path"}):
        found = recover_support(contexts, outcomes, arms, 3, **options)
        assert 17 in found.columns
        assert len(found.columns) == 3
        assert {3, 4} & set(found.columns)
        assert {25, 26} & set(found.columns)
        assert set(found.left_out) <= {3, 4, 25, 26} - set(found.columns)


@pytest.mark.parametrize("criterion", ["elimination", "cross-validation"])
def test_combinations_are_left_out(criterion):
    contexts, outcomes, arms = world(11)
    contexts[:, 9] = contexts[:, 3] + contexts[:, 17]
    found = recover_support(contexts, outcomes, arms, 3, criterion=criterion)
    trio = {3, 9, 17}
    assert len(trio & set(found.columns)) == 2
    assert trio - set(found.columns) == trio & set(found.left_out)


def test_of_features_that_enter_together_the_strongest_is_first():
    """With orthonormal columns a feature enters at its own coefficient; 0.99 and 0.97 share a step."""
    contexts = np.linalg.qr(np.random.default_rng(1).normal(size=(20, 4)))[0]
    outcomes = contexts @ [0.5, 0.97, 0.99, 1.0]
    found = recover_support(contexts, outcomes, np.zeros(20, int), 1)
    assert [entry.feature for entry in found.entered] == [3, 2, 1, 0]


def test_a_constant_is_a_feature_like_any_other():
    contexts, outcomes, arms = world(12)
    contexts[:, 9] = 7.0
    found = recover_support(contexts, outcomes + 4.0, arms, 3)
    np.testing.assert_array_equal(found.columns, [3, 9, 17, 25])


def test_outcomes_without_noise():
    for options in ({}, {"sparsity": 3}, {"sparsity": 3, "criterion": "path"}, {"criterion": "ebic"}):
        found = recover_support(*world(13, noise=0.0), 3, **options)
        np.testing.assert_array_equal(found.columns, SUPPORT)


def test_more_features_than_the_first_reach():
    support = np.arange(0, 80, 2)
    found = recover_support(*world(14, rows=120, dim=100, support=support), 3)
    np.testing.assert_array_equal(found.columns, support)


def test_impossible_sparsity_gives_the_largest_support():
    assert len(recover_support(*world(15, rows=8), 3, sparsity=20).columns) == 6
    assert len(recover_support(*world(15), 3, sparsity=30).columns) == 30
    assert len(recover_support(*world(15), 3, sparsity=30, most=4).columns) == 4


def test_most_keeps_the_strongest():
    found = recover_support(*world(16), 3, most=2)
    assert len(found.columns) == 2
    assert set(found.columns) < set(SUPPORT)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"contexts": np.zeros(5)}, "expected (rows, features)"),
        ({"contexts": "many"}, "contexts are not numbers"),
        ({"contexts": np.zeros((120, 0))}, "expected (rows, features)"),
        ({"outcomes": np.zeros(5)}, "expected (120,)"),
        ({"outcomes": np.full(120, np.nan)}, "row 0"),
        ({"arms": np.zeros(5, int)}, "expected (120,)"),
        ({"arms": np.zeros(120)}, "whole numbers"),
        ({"arms": np.full(120, 3)}, "between 0 and 2"),
        ({"arms": np.full(120, -1)}, "between 0 and 2"),
        ({"arm_count": 0}, "at least 1"),
        ({"sparsity": -1}, "at least 0"),
        ({"sparsity": 1.5}, "at least 0"),
        ({"sparsity": True}, "at least 0"),
        ({"most": -2}, "at least 0"),
        ({"criterion": "aic"}, "'ebic'"),
        ({"criterion": "path"}, "without sparsity"),
        ({"criterion": "ebic", "sparsity": 3}, "with sparsity"),
    ],
)
def test_wrong_arguments_are_refused(change, says):
    contexts, outcomes, arms = world(17)
    given_ = {"contexts": contexts, "outcomes": outcomes, "arms": arms, "arm_count": 3, **change}
    with pytest.raises(InvalidArgument) as caught:
        recover_support(**given_)
    assert says in str(caught.value)


def test_infinite_contexts_are_refused_by_row():
    contexts, outcomes, arms = world(18)
    contexts[7, 2] = np.inf
    with pytest.raises(InvalidArgument, match="row 7"):
        recover_support(contexts, outcomes, arms, 3)
