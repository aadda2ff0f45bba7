"""Fields and formulas: what a record becomes, and what is refused."""

import copy
import json
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from formulaic import model_matrix
from hypothesis import given, settings
from hypothesis import strategies as st

import equipoise as eq

AGE = eq.Number(18, 90, center=50, scale=10, unit="years")
SEX = eq.Category("f", "m")
MARKER = eq.Number(log=True, missing="indicator")


def features(formula="1 + age + sex + age:sex"):
    return eq.Features(formula, age=AGE, sex=SEX, marker=MARKER)


def test_a_record_becomes_its_columns():
    found = features("1 + age + sex + age:sex + marker")
    assert found.names == ("intercept", "age", "sex[m]", "marker", "marker[missing]", "age:sex[m]")
    np.testing.assert_allclose(
        found.encode({"age": 54, "sex": "m", "marker": math.e}), [1.0, 0.4, 1.0, 1.0, 0.0, 0.4], rtol=1e-15
    )
    np.testing.assert_array_equal(found.encode({"age": 45.0, "sex": "f"}), [1.0, -0.5, 0, 0, 1, 0])


FORMULAS = [
    "1 + age + sex + age:sex",
    "0 + sex + site",
    "age:sex",
    "age * sex * site",
    "(age + sex + site)**2 - age:site",
    "0 + age:sex + site",
    "sex:site",
    "I(age**2) + age + np.sqrt(marker) + site",
    "{age * marker} + I(age > 1.5) + sex",
    "C(sex):age - 1",
    "age + I((age - 1) / marker) + I(marker**1.5) + I(-age)",
]
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "age": st.floats(-50, 50),
            "marker": st.floats(0.001, 1e4),
            "sex": st.sampled_from(["f", "m"]),
            "site": st.sampled_from(["a", "b", "c"]),
        }
    ),
    min_size=1,
    max_size=5,
)


@pytest.mark.parametrize("formula", FORMULAS)
@settings(max_examples=6, deadline=None)
@given(records=RECORDS)
def test_columns_are_those_of_formulaic(formula, records):
    fields = {"sex": SEX, "site": eq.Category("a", "b", "c"), "age": eq.Number(), "marker": eq.Number()}
    ours = eq.Features(formula, **fields).encode_many(records)
    # Every level must occur, so that formulaic sees all of them.
    every = [{"age": 1.0, "marker": 1.0, "sex": s, "site": t} for s in "fm" for t in "abc"]
    frame = pd.DataFrame([*every, *records])
    theirs = np.asarray(model_matrix(formula, frame, na_action="ignore"), dtype=float)[len(every) :]
    assert ours.shape == theirs.shape
    # Columns of products of categories may come in another order.
    np.testing.assert_allclose(np.sort(ours, axis=1), np.sort(theirs, axis=1), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"age": 54}, "no value of 'sex'"),
        ({"age": None, "sex": "m"}, "no value of 'age'"),
        ({"age": float("nan"), "sex": "m"}, "no value of 'age'"),
        ({"age": pd.NA, "sex": "m"}, "no value of 'age'"),
        ({"age": "54", "sex": "m"}, "text, not a number"),
        ({"age": True, "sex": "m"}, "true and false"),
        ({"age": np.True_, "sex": "m"}, "true and false"),
        ({"age": 1j, "sex": "m"}, "complex"),
        ({"age": np.array([1.0, 2.0]), "sex": "m"}, "not a number"),
        ({"age": 10**400, "sex": "m"}, "not a number"),
        ({"age": 17.9, "sex": "m"}, "18 to 90 years"),
        ({"age": math.inf, "sex": "m"}, "18 to 90 years"),
        ({"age": 54, "sex": "M"}, "did you mean 'm'"),
        ({"age": 54, "sex": "male"}, "the levels are 'f', 'm'"),
        ({"age": 54, "sex": ["m"]}, "the levels are 'f', 'm'"),
        ({"age": 54, "sex": None}, "no value of 'sex'"),
        ({"age": 54, "sex": "m", "agee": 1}, "did you mean 'age'"),
        ({"agee": 54, "sex": "m"}, "did you mean 'age'"),
        ({"age": 54, "sex": "m", "marker": 0.0}, "numbers above 0"),
        ([1.0, 2.0], "not a record"),
        ("age", "not a record"),
    ],
)
def test_what_a_record_must_not_have_is_named(record, words):
    with pytest.raises(eq.errors.InvalidContext, match=words) as caught:
        features("1 + age + sex + marker").encode(record)
    if isinstance(record, dict):
        assert caught.value.field in {"age", "sex", "agee", "marker"}


def test_levels_are_suggested_only_where_they_are_near():
    site = eq.Features(site=eq.Category("Ulm", "Linz", "Bern"))
    with pytest.raises(eq.errors.InvalidRecord, match="did you mean 'Linz'"):
        site.encode({"site": "Lintz"})
    with pytest.raises(eq.errors.InvalidRecord, match=r"levels \(the levels are 'Ulm', 'Linz', 'Bern'\)"):
        site.encode({"site": "Wien"})


@pytest.mark.parametrize(
    ("field", "words"),
    [
        (eq.Number(18, 90, unit="years"), None),
        (eq.Number(center=50), "a is a − 50"),
        (eq.Number(scale=10, unit="kg"), "a is (a in kg)/10"),
        (eq.Number(log=10, center=3, scale=2, unit="ng"), "a is (log10(a in ng) − log10 3)/2"),
        (eq.Number(log=True), "a is log(a)"),
        (eq.Number(log=True, scale=2), "a is log(a)/2"),
    ],
)
def test_what_models_see_of_a_number_is_said_in_words(field, words):
    assert eq.Features(a=field, b=eq.Category("x", "y")).encodings == (() if words is None else (words,))


def test_fields_outside_the_formula_may_be_left_out_but_not_be_wrong():
    assert features().used == ("age", "sex")
    np.testing.assert_array_equal(features().encode({"age": 50, "sex": "f"}), [1, 0, 0, 0])
    with pytest.raises(eq.errors.InvalidRecord, match="marker"):
        features().encode({"age": 50, "sex": "f", "marker": -1.0})


def test_missing_values_follow_the_rule_of_their_field():
    found = eq.Features(
        a=eq.Number(0, 10, center=4, missing=6.0),
        b=eq.Category("x", "y", "z", missing="y"),
        c=eq.Category("u", "v", missing="indicator", reference="v"),
    )
    assert found.names == ("intercept", "a", "b[y]", "b[z]", "c[u]", "c[missing]")
    np.testing.assert_array_equal(found.encode({}), [1, 2, 1, 0, 0, 1])
    np.testing.assert_array_equal(found.encode({"a": 4, "b": "x", "c": "u"}), [1, 0, 0, 0, 1, 0])


def test_a_computed_factor_of_a_missing_value_is_nothing():
    found = eq.Features("1 + marker + log(marker)", marker=eq.Number(missing="indicator"))
    np.testing.assert_array_equal(found.encode({}), [1, 0, 1, 0])
    with pytest.raises(eq.errors.InvalidRecord, match="not a number for this record"):
        found.encode({"marker": -1.0})


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("y ~ age", "more than one side"),
        ("age +", "cannot be read"),
        ("agee", "did you mean 'age'"),
        ("log(sex)", "no number field"),
        ("bs(age, 3)", "learns from the data"),
        ("center(age)", "learns from the data"),
        ("0", "no terms"),
        ("2:age", "is a number"),
        ("C(age)", "no field of categories"),
        ("(age + sex + marker)**500", "to the power of 500"),
        ("(age + sex)^99", "to the power of 99"),
        ("__import__('os')", "calls '__import__'"),
        ("I(age.__class__)", "not understood"),
        ("I(age if age else 1)", "not understood"),
        ("log(age, 2)", "not understood"),
        ("I(2 + 3)", "no field in it"),
        ("log(marker)", "after its centre, scale or log"),
        ("I(1 / age)", "after its centre, scale or log"),
        ("I(age**1.5)", "after its centre, scale or log"),
        ("I(age**2.5)", "after its centre, scale or log"),
        ("I(age > 65)", "after its centre, scale or log"),
        ("__import__('os').system('true')", "cannot be read"),
        ("I(age\0)", "cannot be read"),
        (f"I({'-' * 5000}age)", "cannot be read"),
        (f"I({' + '.join(['age'] * 150)})", "too long"),
        (f"I(age * 1{'0' * 400})", "too large"),
        (3, "not a formula"),
    ],
)
def test_formulas_that_are_refused(formula, words):
    with pytest.raises(eq.errors.InvalidFeatures, match=words):
        features(formula)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: eq.Number(3, 3), "not below"),
        (lambda: eq.Number(scale=0), "not positive"),
        (lambda: eq.Number(low="a"), "not a finite number"),
        (lambda: eq.Number(center=math.nan), "not a finite number"),
        (lambda: eq.Number(log=1), "base above 1"),
        (lambda: eq.Number(-1, log=True), "no logarithm"),
        (lambda: eq.Number(0, 1, missing=2), "not within 0 to 1"),
        (lambda: eq.Number(missing="mean"), "not a finite number"),
        (lambda: eq.Number(unit=3), "piece of text"),
        (lambda: eq.Category("f"), "1 level tells nothing"),
        (lambda: eq.Category(["f", "m"]), "one by one"),
        (lambda: eq.Category("f", "f"), "the same"),
        (lambda: eq.Category("1", 1), "the same"),
        (lambda: eq.Category(1.5, 2), "neither text nor a whole number"),
        (lambda: eq.Category("f", "m", reference="x"), "no level"),
        (lambda: eq.Category("f", "m", missing="x"), "neither 'indicator' nor a level"),
        (lambda: eq.Category("f", "missing", missing="indicator"), "already"),
        (lambda: eq.Features(age=3), "not a field"),
        (lambda: eq.Features(**{"a`b": eq.Number()}), "cannot be called"),
        (lambda: eq.Features(**{"1": eq.Number()}), "cannot be called '1'"),
        (lambda: eq.Features(intercept=eq.Number()), "two columns would be called 'intercept'"),
        (
            lambda: eq.Features("a*b + `a:b`", a=eq.Number(), b=eq.Number(), **{"a:b": eq.Number()}),
            "two columns",
        ),
        (lambda: eq.Features.from_table({"a": [1.0, math.inf]}), "too large"),
        (lambda: eq.Features.from_table({"a": [1, 10**400]}), "too large"),
    ],
)
def test_fields_that_are_refused(build, words):
    with pytest.raises(eq.errors.InvalidFeatures, match=words):
        build()


def test_features_are_plain_data():
    found = eq.Features(
        "1 + age * sex + `blood pressure` + stage",
        age=AGE,
        sex=eq.Category("f", "m", reference="m", label="Sex at birth"),
        stage=eq.Category(1, 2, 3, missing=2),
        **{"blood pressure": eq.Number(unit="mmHg", missing=120.5, log=10)},
    )
    text = json.dumps(found.to_dict())
    for again in (
        eq.Features.from_dict(json.loads(text)),
        eq.Features.from_toml(found.to_toml()),
        pickle.loads(pickle.dumps(found)),
        copy.deepcopy(found),
        eval(repr(found), {"Features": _features, "Number": eq.Number, "Category": eq.Category}),
    ):
        assert again == found
        assert hash(again) == hash(found)
        record = {"age": 30, "sex": "f", "stage": 3, "blood pressure": 100}
        np.testing.assert_array_equal(again.encode(record), found.encode(record))
    assert found != eq.Features(age=AGE)


def _features(formula, **fields):
    return eq.Features(formula, **fields)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"formulla": "1"}, "did you mean 'formula'"),
        ({"fields": [1]}, "not a table of fields"),
        ({"fields": {"a": {"low": 1}}}, "kind is 'category' or 'number'"),
        ({"fields": {"a": {"kind": "number", "lo": 1}}}, "did you mean 'low'"),
        ({"fields": {"a": {"kind": "category", "levels": "ab"}}}, "not a list"),
        ({"fields": {"a": {"kind": []}}}, "kind is 'category' or 'number'"),
        ({"fields": {1: {"kind": "number"}}}, "not a table of fields"),
    ],
)
def test_plain_data_that_are_refused(values, words):
    with pytest.raises(eq.errors.InvalidFeatures, match=words):
        eq.Features.from_dict(values)


@pytest.mark.parametrize("kind", ["pandas", "polars", "records", "columns", "rows"])
def test_tables_of_all_kinds_are_records(kind):
    records = [{"age": 54, "sex": "m"}, {"age": 20, "sex": "f"}]
    table = {
        "pandas": pd.DataFrame(records),
        "polars": pl.DataFrame(records),
        "records": records,
        "columns": {"age": [54, 20], "sex": np.array(["m", "f"])},
        "rows": [row for _, row in pd.DataFrame(records).iterrows()],
    }[kind]
    np.testing.assert_array_equal(features().encode_many(table), [[1, 0.4, 1, 0.4], [1, -3, 0, 0]])


def test_the_moment_of_a_table():
    records = [{"age": 60, "sex": "m"}, {"age": 40, "sex": "f"}]
    np.testing.assert_array_equal(
        eq.Features("1 + age + sex", age=AGE, sex=SEX).moment(records),
        [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.5, 0.5, 0.5]],
    )
    with pytest.raises(eq.errors.InvalidFeatures, match="no rows"):
        features().moment([])


def test_a_batch_says_which_unit_is_wrong():
    with pytest.raises(eq.errors.InvalidRecord, match="unit 1 of the batch: 'age' is 5") as caught:
        features().encode_many([{"age": 54, "sex": "m"}, {"age": 5, "sex": "m"}])
    assert caught.value.field == "age"
    with pytest.raises(eq.errors.InvalidContext, match="one record"):
        features().encode_many({"age": 54, "sex": "m"})


def test_centre_and_scale_can_be_undone():
    found = features("1 + age + sex + age:sex + marker + I(age**2)")
    names, units, matrix = found.unscaled()
    raw = eq.Features(found.formula, age=eq.Number(), sex=SEX, marker=MARKER)
    rng = np.random.default_rng(1)
    for _ in range(20):
        record = {"age": rng.uniform(18, 90), "sex": "m", "marker": rng.exponential()}
        np.testing.assert_allclose(matrix @ raw.encode(record), found.encode(record), atol=1e-9)
    assert dict(zip(names, units, strict=True))["age:sex[m]"] == "years"
    assert units[names.index("marker")] == "log"
    assert matrix[names.index("age"), 0] == pytest.approx(-5.0, abs=1e-9)


def test_what_cannot_be_undone_is_said():
    with pytest.raises(eq.errors.InvalidFeatures, match="cannot be undone"):
        features("0 + age").unscaled()


def test_a_table_proposes_fields():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": rng.normal(52, 11, 200).round(),
            "sex": rng.choice(["m", "f"], 200, p=[0.7, 0.3]),
            "treated": rng.random(200) < 0.5,
            "marker": np.exp(rng.normal(1, 1.5, 200)),
            "id": [f"P{i}" for i in range(200)],
            "y": 1.0,
        }
    )
    frame.loc[3, "age"] = None
    with pytest.raises(eq.errors.InvalidFeatures, match=r"200 different texts.*'y' is always 1.0"):
        eq.Features.from_table(frame)
    with pytest.raises(eq.errors.InvalidFeatures, match="did you mean 'id'"):
        eq.Features.from_table(frame, exclude=["idd"])
    found = eq.Features.from_table(frame, exclude=["id", "y"])
    assert found.fields["age"] == eq.Number(center=50.0, scale=10.0, missing="indicator")
    assert found.fields["sex"] == eq.Category("m", "f")
    assert set(found.fields["treated"].levels) == {True, False}
    assert found.fields["marker"].log is True
    encoded = found.encode_many(frame.drop(columns=["id", "y"]))
    assert encoded.shape == (200, found.dim)
    assert np.max(np.abs(encoded)) < 10
    assert eq.Features.from_table(pl.from_pandas(frame), exclude=["id", "y"]) == found


def test_the_same_record_has_the_same_bits_however_it_comes():
    found = eq.Features("1 + age + log(dose) + marker", age=AGE, dose=eq.Number(0.1, 9), marker=MARKER)
    records = [{"age": 54, "dose": 0.3, "marker": 3.1}, {"age": 33, "dose": 8, "marker": 0.2}]
    one = np.array([found.encode(record) for record in records])
    assert one.tobytes() == found.encode_many(pd.DataFrame(records)).tobytes()
    typed = found.encode({"age": np.int64(54), "dose": np.float64(0.3), "marker": np.float64(3.1)})
    assert typed.tobytes() == one[0].tobytes()
