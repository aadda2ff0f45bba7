"""Coefficients, means and contrasts: against other software, and through changes that must not matter."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import equipoise as eq
from equipoise.errors import InvalidArgument, InvalidContext, InvalidFeatures, UnknownArm

ARMS = ["placebo", "low", "high"]
AGE = eq.Number(18, 90, center=50, scale=10, unit="years")
FIELDS = eq.Features("1 + age + sex + age:sex", age=AGE, sex=eq.Category("f", "m"))


def trained(policy="trace-ucb", units=90, turn=None, stretch=1.0, **problem):
    """Three arms of unequal noise; contexts times ``turn``, outcomes times ``stretch``."""
    turn = np.eye(3) if turn is None else turn
    experiment = eq.Experiment(eq.Problem(ARMS, 3, budget=100, **problem), policy, seed=2)
    rng = np.random.default_rng(8)
    for _ in range(units):
        x = np.append(1.0, rng.normal(size=2))
        unit = experiment.ask(turn @ x)
        i = ARMS.index(unit.arm)
        y = 2.0 * i + x @ [1.0, 0.5, -0.5] + 0.5 * 2.0**i * rng.normal()
        experiment.tell(unit.id, stretch * y)
    return experiment


@pytest.fixture(scope="module")
def clinic():
    """Records, outcomes with a unit, and one pending unit an arm."""
    problem = eq.Problem(ARMS, features=FIELDS, budget=80, outcome=eq.Number(unit="mmHg"))
    experiment = eq.Experiment(problem, "trace-gain", seed=4)
    rng = np.random.default_rng(1)
    while experiment.remaining:
        record = {"age": float(rng.uniform(18, 90)), "sex": "fm"[int(rng.integers(2))]}
        unit = experiment.ask(record)
        if experiment.remaining >= 3:
            effect = {"placebo": 0.0, "low": -3.0, "high": -9.0}[unit.arm]
            experiment.tell(unit.id, 120 + 0.4 * record["age"] + effect + 4 * rng.normal())
    return experiment


def test_without_features_it_is_welchs_test():
    experiment = eq.Experiment(eq.Problem(["a", "b"], 1, budget=30), "uniform")
    rng = np.random.default_rng(0)
    while experiment.remaining:
        unit = experiment.ask([1.0])
        experiment.tell(unit.id, rng.normal() * (3.0 if unit.arm == "a" else 1.0))
    found = experiment.estimates(confidence=0.9).contrast("a", "b")
    theirs = stats.ttest_ind(experiment.data("a")[1], experiment.data("b")[1], equal_var=False)
    assert found.p_values[0] == pytest.approx(theirs.pvalue)
    assert found.dof[0] == pytest.approx(theirs.df)
    np.testing.assert_allclose(found.intervals[0], theirs.confidence_interval(0.9))


@pytest.mark.parametrize("intervals", ["classical", "robust"])
def test_variances_of_two_arms_add_up(intervals):
    estimates = trained().estimates(intervals=intervals)
    high, low = estimates["high"], estimates["low"]
    found = estimates.contrast("high", "low")
    np.testing.assert_allclose(found.values, high.least_squares - low.least_squares)
    np.testing.assert_allclose(found.stderr, np.hypot(high.stderr, low.stderr))
    assert high.inflation > 1.0
    one = estimates.coefficients("high")
    np.testing.assert_array_equal(one.intervals, high.intervals)
    np.testing.assert_array_equal(one.stderr, high.stderr)
    parts = [estimates.coefficients(arm) for arm in ("high", "low")]
    welch = found.stderr**4 / sum(part.stderr**4 / part.dof for part in parts)
    np.testing.assert_allclose(found.dof, welch)


def test_robust_contrasts_are_others():
    experiment = trained()
    plain, robust = (experiment.estimates(intervals=kind) for kind in ("classical", "robust"))
    assert not np.allclose(plain.contrasts().stderr, robust.contrasts().stderr, rtol=1e-3)
    assert robust.contrasts().metadata["intervals"] == "robust"
    assert "robust" in str(robust.contrasts())


def test_at_contexts():
    experiment = trained()
    estimates = experiment.estimates()
    places = np.array([[1.0, 0.5, -2.0], [1.0, 0.0, 3.0]])
    means = estimates.means(places)
    for i, arm in enumerate(estimates):
        some = slice(2 * i, 2 * i + 2)
        np.testing.assert_allclose(means.values[some], places @ arm.least_squares)
        np.testing.assert_allclose(means.intervals[some], arm.predict_interval(places, of="mean"))
        np.testing.assert_allclose(means.column("estimate")[some], arm.predict(places))
    contrast = estimates.contrast("high", "placebo", at=places)
    np.testing.assert_allclose(contrast.values, means.values[4:] - means.values[:2])
    assert contrast.column("context") == ["1", "2"]
    np.testing.assert_allclose(
        estimates.contrast("high", "placebo", at=places[0]).values, contrast.values[:1]
    )


def test_the_average_is_of_all_units_but_withdrawn_ones():
    experiment = trained(units=60)
    seen = experiment._state.contexts[:60]
    experiment.withdraw(60)
    lost = experiment.ask([1.0, 9.0, 9.0]).id
    experiment.lose(lost)
    average = np.vstack([seen[:59], [1.0, 9.0, 9.0]]).mean(axis=0)
    estimates = experiment.estimates()
    np.testing.assert_allclose(estimates.average, average)
    at = estimates.contrasts("placebo", at="average")
    np.testing.assert_allclose(at.values, estimates.contrasts("placebo", at=average).values)
    assert at.column("context") == ["average", "average"]


def test_which_pairs():
    estimates = trained().estimates()
    pairs = estimates.contrasts(at="average")
    listed = list(zip(pairs.column("arm"), pairs.column("against"), strict=True))
    assert listed == [("low", "placebo"), ("high", "placebo"), ("high", "low")]
    control = estimates.contrasts("high", at="average")
    assert control.column("arm") == ["placebo", "low"]
    assert control.column("against") == ["high", "high"]
    assert len(estimates.contrasts()) == 9
    # Fewer at once are narrower.
    assert np.diff(control.simultaneous[0]) < np.diff(pairs.simultaneous[1])
    np.testing.assert_allclose(control.intervals[0], -pairs.intervals[1][::-1])


def test_units_do_not_matter():
    one = trained("trace-gain", moment=np.eye(3)).estimates().contrasts()
    other = trained("trace-gain", moment=np.eye(3), stretch=1000.0).estimates().contrasts()
    np.testing.assert_allclose(other.simultaneous, 1000.0 * one.simultaneous, rtol=1e-9)
    np.testing.assert_allclose(other.adjusted_p_values, one.adjusted_p_values, rtol=1e-8)


def test_coordinates_do_not_matter_at_contexts():
    turn = np.array([[2.0, 0.3, 0.0], [0.0, 1.0, -0.5], [1.0, 0.0, 3.0]])
    x = np.array([1.0, 0.7, -1.0])
    one = trained("uniform").estimates(intervals="robust").contrasts(at=x)
    other = trained("uniform", turn=turn).estimates(intervals="robust").contrasts(at=turn @ x)
    np.testing.assert_allclose(other.simultaneous, one.simultaneous, rtol=1e-7)


def test_records_wherever_contexts_are_given(clinic):
    estimates, record = clinic.estimates(), {"age": 40.0, "sex": "m"}
    x = FIELDS.encode(record)
    expected = estimates.contrasts("placebo", at=x).values
    for at in (
        record,
        [record],
        pd.DataFrame([record]),
        pd.Series(record),
        {"man of 40": record},
        x.tolist(),
    ):
        np.testing.assert_allclose(estimates.contrasts("placebo", at=at).values, expected)
    for rows in (record, [record], pd.DataFrame([record]), pd.Series(record), x):
        np.testing.assert_allclose(np.ravel(estimates["low"].predict(rows)), [x @ estimates["low"].coef])
    named = estimates.means({"young": {"age": 20, "sex": "f"}, "old": {"age": 80, "sex": "f"}})
    assert named.column("context") == ["young", "old"] * 3
    with pytest.raises(eq.EquipoiseError, match="age"):
        estimates.means({"age": 400, "sex": "f"})


def test_coefficients_in_the_units_of_the_fields(clinic):
    estimates = clinic.estimates()
    found = estimates.coefficients(units="fields")
    assert found.column("feature")[:4] == ["intercept", "age [years]", "sex[m]", "age:sex[m] [years]"]
    raw = found.values[:4]
    at = estimates.means({"age": 64, "sex": "m"})
    assert raw @ [1.0, 64.0, 1.0, 64.0] == pytest.approx(at.values[0])
    # The slope a year is a tenth of that of ten years, and so is its interval.
    np.testing.assert_allclose(10.0 * found.intervals[1], estimates["placebo"].intervals[1])
    differences = estimates.contrast("high", "placebo", units="fields")
    np.testing.assert_allclose(differences.values, found.values[8:] - raw)
    with pytest.raises(InvalidFeatures, match="no fields"):
        trained().estimates().coefficients(units="fields")
    with pytest.raises(InvalidArgument, match="'columns' or 'fields'"):
        estimates.coefficients(units="years")
    with pytest.raises(InvalidArgument, match="leave units or at out"):
        estimates.contrasts(at="average", units="fields")


def test_tables_of_coefficients_say_what_they_are_measured_in(clinic):
    estimates = clinic.estimates()
    encoded = "Encoded: age is (age in years − 50)/10."
    for table in (estimates.coefficients(), estimates.contrast("high", "placebo")):
        assert encoded in " ".join(table.for_readers.notes)
    assert encoded in " ".join(str(estimates["high"]).split())
    notes = " ".join(estimates.coefficients(units="fields").for_readers.notes)
    assert "Encoded" not in notes
    assert "In mmHg, per unit in brackets" in notes


@pytest.mark.parametrize(
    "at",
    [
        [[1.0, 2.0, 3.0], [1.0]],
        [["a", "b", "c"]],
        [1.0, math.nan, 0.0],
        [None, 1.0, 2.0],
        np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]),
        {1.0, 2.0},
        3,
    ],
)
def test_contexts_that_are_none_are_refused(at):
    with pytest.raises(eq.errors.InvalidContext, match="contexts"):
        trained(units=12).estimates().contrasts(at=at)


def test_refusals():
    estimates = trained().estimates()
    with pytest.raises(UnknownArm, match="the arms are placebo, low, high"):
        estimates.contrasts("plazebo")
    with pytest.raises(InvalidArgument, match="with itself"):
        estimates.contrast("low", "low")
    with pytest.raises(InvalidArgument, match="'average'"):
        estimates.means("mean")
    with pytest.raises(InvalidContext, match="shape"):
        estimates.means([1.0, 2.0])
    with pytest.raises(InvalidContext, match="one context"):
        estimates.means({"both": np.ones((2, 3))})
    alone = eq.Experiment(eq.Problem(["only"], 2, budget=9), "uniform").estimates()
    with pytest.raises(InvalidArgument, match="one arm"):
        alone.contrasts()
    with pytest.raises(InvalidContext, match="no context has been seen"):
        alone.means()


@pytest.mark.parametrize("units", [0, 4, 11])
def test_young_arms_are_words(units):
    estimates = trained(units=units).estimates()
    tables = [estimates.table(), estimates.coefficients(), estimates.contrasts()]
    for table in tables:
        for text in (str(table), table.to_markdown(), table.to_latex(), table._repr_html_()):
            assert "nan" not in text
            assert "inf" not in text
    found = estimates.contrasts()
    assert np.isnan(found.p_values).all() or units == 11
    assert "not determined" in str(found)


def test_features_left_out_are_not_determined():
    policy = eq.parse_policy("sparse-trace-ucb:sparsity=1")
    experiment = eq.Experiment(eq.Problem(["a", "b"], 6, budget=120), policy, seed=1)
    rng = np.random.default_rng(3)
    while experiment.remaining:
        x = rng.normal(size=6)
        unit = experiment.ask(x)
        experiment.tell(unit.id, float(3.0 * x[2] + 0.3 * rng.normal()))
    estimates = experiment.estimates()
    assert estimates.support.columns == (2,)
    found = estimates.contrast("a", "b")
    assert np.isfinite(found.simultaneous).all(axis=1).tolist() == [j == 2 for j in range(6)]
    assert math.isnan(found.values[0])
    assert "have chosen the features" in str(found)
    assert found.column("feature")[2] == "x[2]"
    assert np.isfinite(estimates.contrasts(at=np.ones(6)).intervals).all()
    np.testing.assert_array_equal(np.isfinite(found.intervals), np.isfinite(estimates["a"].intervals))


def test_the_table_of_all_arms(clinic):
    estimates = clinic.estimates()
    table = estimates.table()
    assert sum(table.column("pending")) == 3
    for row, arm in zip(table, estimates, strict=True):
        contexts, outcomes = clinic.data(arm.arm)
        assert (row["units"], row["outcomes"]) == (arm.count, len(outcomes))
        assert row["noise_deviation"] == math.sqrt(row["noise_variance"])
        assert row["root_error"] == math.sqrt(row["expected_error"])
        left = outcomes - contexts @ np.linalg.lstsq(contexts, outcomes, rcond=None)[0]
        share = 1.0 - left @ left / np.sum((outcomes - outcomes.mean()) ** 2)
        assert row["r_squared"] == pytest.approx(share)
        # The adjusted one takes the noise as it is, corrected for adaptive allocation.
        adjusted = 1.0 - (1.0 - share) * (len(outcomes) - 1) / (len(outcomes) - 4)
        ratio = arm.noise_variance / arm.residual_variance
        assert 1.0 - row["adjusted_r_squared"] == pytest.approx((1.0 - adjusted) * ratio)
    assert "mmHg" in str(estimates)
    assert "mmHg" in str(estimates[0])


def test_an_arm_tells_its_estimate_from_least_squares(clinic):
    arm = clinic.estimates()["low"]
    lines = str(arm).splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("feature"))
    header, first = (line.split() for line in lines[place : place + 2])
    assert header[:4] == ["feature", "estimate", "least", "squares"]
    assert [float(cell) for cell in first[1:3]] == pytest.approx(
        [arm.coef[0], arm.least_squares[0]], abs=0.06
    )
    assert "belong to least squares" in str(arm)


def test_an_arm_that_is_shrunk_all_the_way_says_so():
    experiment = eq.Experiment(eq.Problem(["a", "b", "c"], 4, budget=60, moment=np.eye(4)), "uniform")
    rng = np.random.default_rng(3)
    while experiment.remaining:
        unit = experiment.ask(rng.normal(size=4))
        experiment.tell(unit.id, rng.normal())
    shrunk = [arm for arm in experiment.estimates(estimator="empirical-bayes") if math.isinf(arm.ridge)]
    assert shrunk
    for arm in shrunk:
        assert "shrunk all the way to 0" in str(arm)
        assert arm.least_squares.any()
