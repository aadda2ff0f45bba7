import contextlib
import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import equipoise as eq
from equipoise.core.problem.real import NotReal, real_array, real_number
from equipoise.errors import InvalidContext, InvalidMoment, InvalidOutcome, InvalidScenario

MASKED = np.ma.array([1.0, -9999.0], mask=[False, True])
FOREIGN = {
    "masked": (MASKED, "masked entries"),
    "masked whole numbers": (np.ma.array([1, -9999], mask=[False, True]), "masked entries"),
    "text": (["1.5", "2"], "text"),
    "some text": ([1.5, "2"], "text"),
    "text array": (np.array(["1.5", "2"]), "text"),
    "bytes": (np.array([b"1.5", b"2"]), "text"),
    "text objects": (np.array([1.0, "2"], dtype=object), "text"),
    "text series": (pd.Series(["1.5", "2"]), "text"),
    "dates": (np.array(["2026-01-01", "2026-01-02"], "datetime64[D]"), "dates or times"),
    "spans": (np.array([1, 2], "timedelta64[s]"), "dates or times"),
    "spans in objects": (np.array([np.timedelta64(1, "s"), 2.0], dtype=object), "dates or times"),
    "days": ([datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)], "dates or times"),
    "pandas dates": (pd.Series(pd.to_datetime(["2026-01-01", "2026-01-02"])), "dates or times"),
    "complex": (np.array([1 + 2j, 3]), "complex numbers"),
    "complex list": ([1.0, 2j], "complex numbers"),
    "none": ([1.0, None], "missing values"),
    "none array": (np.array([1.0, None], dtype=object), "missing values"),
    "bools among objects": (np.array([1.0, True], dtype=object), "true and false"),
}
REAL = {
    "float32": np.array([1.0, 2.0], np.float32),
    "float16": np.array([1.0, 2.0], np.float16),
    "long": np.array([1.0, 2.0], np.longdouble),
    "int8": np.array([1, 2], np.int8),
    "uint64": np.array([1, 2], np.uint64),
    "big-endian": np.array([1.0, 2.0], ">f8"),
    "list": [1, 2.0],
    "tuple": (1, 2),
    "objects": np.array([1, 2.0], dtype=object),
    "fractions": [Fraction(1), Decimal(2)],
    "masked, nothing hidden": np.ma.array([1.0, 2.0], mask=[False, False]),
    "masked without a mask": np.ma.array([1.0, 2.0]),
    "series": pd.Series([1.0, 2.0]),
    "nullable": pd.Series([1, 2], dtype="Int64"),
    "pandas row": pd.DataFrame({"a": [1], "b": [2.0]}).iloc[0],
    "polars row": pl.DataFrame({"a": [1], "b": [2.0]}).row(0),
    "polars series": pl.Series([1.0, 2.0]),
    "strided": np.array([1.0, 5.0, 2.0])[::2],
}


def experiment():
    return eq.Experiment(eq.Problem(2, 2, budget=20), eq.Uniform())


@pytest.mark.parametrize(("values", "what"), FOREIGN.values(), ids=FOREIGN)
def test_what_is_not_real_is_refused_by_name(values, what):
    with pytest.raises(NotReal, match=what) as refused:
        real_array(values)
    assert refused.value.hint
    live = experiment()
    with pytest.raises(InvalidContext, match=f"the context holds {what}"):
        live.ask(values)
    with pytest.raises(InvalidContext, match=f"unit 1 of the batch: the context holds {what}"):
        live.ask_many([[1.0, 2.0], values])
    with pytest.raises(InvalidMoment, match=f"moment holds {what}"):
        eq.Problem(2, 2, budget=20, moment=[[1.0, 0.0], values])
    for place in ("covariance", "coef"):
        with pytest.raises(InvalidScenario, match=f"holds {what}"):
            eq.GaussianScenario([1.0, 2.0], 2, 20, **{place: [[1.0, 0.0], values]})
    assert live.ask([1.0, 2.0]).id == 1


@pytest.mark.parametrize("values", REAL.values(), ids=REAL)
def test_real_numbers_of_every_kind_are_taken(values):
    assert real_array(values).tolist() == [1.0, 2.0]
    live, plain = experiment(), experiment()
    assert live.ask(values).arm == plain.ask([1.0, 2.0]).arm
    assert len(live.ask_many([values, values])) == 2
    for place in ("covariance", "coef"):
        given = eq.GaussianScenario([1.0, 2.0], 2, 20, **{place: [[6.0, 1.0], values]})
        assert given == eq.GaussianScenario([1.0, 2.0], 2, 20, **{place: [[6.0, 1.0], [1.0, 2.0]]})


def test_masks_in_whole_batches_and_matrices():
    batch = np.ma.array([[1.0, 2.0], [3.0, -9999.0]], mask=[[False, False], [False, True]])
    with pytest.raises(InvalidContext, match=r"unit 1 of the batch: the context holds masked entries"):
        experiment().ask_many(batch)
    assert len(experiment().ask_many(batch.filled(4.0))) == 2
    assert len(experiment().ask_many(np.ma.array(batch.data))) == 2
    with pytest.raises(InvalidMoment, match="masked"):
        eq.Problem(2, 2, budget=20, moment=np.ma.array(np.eye(2), mask=[[False, True], [True, False]]))


@pytest.mark.parametrize(
    ("outcome", "what"),
    [
        ("1.5", "text"),
        (b"1.5", "text"),
        (np.array("1.5"), "text"),
        (np.ma.masked, "masked entries"),
        (MASKED[1], "masked entries"),
        (np.ma.array(-9999.0, mask=True), "masked entries"),
        (1 + 0j, "complex numbers"),
        (np.complex128(1), "complex numbers"),
        (datetime.date(2026, 1, 1), "dates or times"),
        (datetime.timedelta(1), "dates or times"),
        (np.datetime64("2026-01-01"), "dates or times"),
        (np.timedelta64(5, "s"), "dates or times"),
        (None, "missing values"),
        (pd.NA, "missing values"),
        (pd.NaT, "dates or times|missing values"),
        (np.array(None, dtype=object), "missing values"),
        (np.array(True, dtype=object), "true and false"),
        ([1.5], ""),
        (np.array([1.5]), ""),
        pytest.param(object(), "objects", id="object"),
    ],
    ids=repr,
)
def test_outcomes_that_are_not_numbers(outcome, what):
    live = experiment()
    live.ask([1.0, 2.0])
    with pytest.raises(InvalidOutcome, match=rf"is not a finite number.*({what})"):
        live.tell(1, outcome)
    live.tell(1, 1.5)


@pytest.mark.parametrize(
    "outcome",
    [
        2,
        2.0,
        np.float32(2),
        np.int8(2),
        np.longdouble(2),
        Fraction(2),
        Decimal(2),
        np.array(2.0),
        np.ma.array(2.0),
        np.array(2, dtype=object),
    ],
    ids=repr,
)
def test_outcomes_of_every_kind_of_number(outcome):
    assert real_number(outcome) == 2.0
    live = experiment()
    live.ask([1.0, 2.0])
    live.tell(1, outcome)


@given(npst.arrays(npst.scalar_dtypes(), npst.array_shapes(max_dims=2)))
def test_every_array_is_either_real_or_named(values):
    try:
        numbers = real_array(values)
    except NotReal:
        assert values.dtype.kind in "cmMSUV"
    else:
        assert values.dtype.kind in "biuf"
        assert numbers.dtype == np.float64
        assert numbers.shape == values.shape


@given(st.recursive(st.none() | st.text() | st.complex_numbers() | st.floats(), st.lists, max_leaves=8))
def test_no_value_brings_it_down(values):
    with contextlib.suppress(ValueError, OverflowError):
        assert real_array(values).dtype == np.float64


@pytest.mark.parametrize("name", ["weights", "costs"])
@pytest.mark.parametrize("value", [b"2", np.ma.masked, np.complex128(2), np.timedelta64(2, "s")], ids=repr)
def test_weights_and_costs(name, value):
    with pytest.raises(eq.EquipoiseError, match="is not a positive number"):
        eq.Problem(["a", "b"], 2, budget=20, **{name: {"a": value}})
    with pytest.raises(InvalidScenario):
        eq.GaussianScenario([1.0, value], 2, 20)
    with pytest.raises(eq.EquipoiseError, match=r"not a list of variances|not positive"):
        eq.plan(noise=[1.0, value], dim=2, target=0.1)
