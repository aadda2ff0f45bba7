"""Tables from anywhere: the same numbers, and refusals that name what is wrong."""

from __future__ import annotations

import datetime
import gzip
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import equipoise as eq
from equipoise.lab.replay.reading import sources

COLUMNS = {
    "age": [30, 41, 52, 63],
    "dose": [0.5, 1.5, 2.5, 1.0],
    "smokes": [True, False, True, False],
    "pain": [1.0, 2.0, 4.0, 8.0],
    "sleep": [7, 6, 8, 5],
}
SPLIT = {"contexts": ["age", "dose", "smokes"], "targets": ["pain", "sleep"]}


def written(tmp_path, kind):
    """The same table as every kind of thing that is taken."""
    frame, table = pd.DataFrame(COLUMNS), pa.table(COLUMNS)
    path = tmp_path / f"people.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "csv.gz":
        path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    elif kind == "tsv":
        frame.to_csv(path, index=False, sep="\t")
    elif kind == "parquet":
        pa.parquet.write_table(table, path)
    elif kind == "feather":
        pa.feather.write_feather(table, path)
    elif kind == "arrow":
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    return {
        "pandas": frame,
        "nullable": frame.convert_dtypes(),
        "polars": pl.DataFrame(COLUMNS),
        "lazy": pl.LazyFrame(COLUMNS),
        "table": table,
        "dictionary": COLUMNS,
        "records": frame.to_records(index=False),
    }.get(kind, path)


KINDS = [
    *("csv", "csv.gz", "tsv", "parquet", "feather", "arrow"),
    *("pandas", "nullable", "polars", "lazy", "table", "dictionary", "records"),
]


@pytest.mark.parametrize("cells", [11, 4_000_000])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_numbers_from_everywhere(kind, cells, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_CELLS_A_BLOCK", cells)
    table = eq.as_table(written(tmp_path, kind), **SPLIT)
    expected = eq.as_table(COLUMNS, **SPLIT)
    np.testing.assert_array_equal(table.contexts, expected.contexts)
    np.testing.assert_array_equal(table.targets, expected.targets)
    assert table.digest == expected.digest
    assert table.contexts[0].tolist() == [30.0, 0.5, 1.0]
    assert table.dropped == 0


def test_arrays_by_place(tmp_path):
    values = np.arange(12.0).reshape(4, 3) ** 2
    table = eq.as_table(values, targets=[2])
    assert table.context_names == ("0", "1")
    np.testing.assert_array_equal(table.targets[:, 0], values[:, 2])
    np.save(tmp_path / "kept.npy", values)
    assert eq.as_table(tmp_path / "kept.npy", targets=["2"]).digest == table.digest


def test_tables_that_are_split_already():
    dense = SimpleNamespace(
        name="dense",
        contexts=np.ones((3, 1)),
        targets=np.array([[1.0, 2.0], [np.nan, 1.0], [0.0, 1.0]]),
        context_names=["x"],
        target_names=["a", "b"],
    )
    table = eq.as_table(dense)
    assert (table.name, table.rows, table.dropped) == ("dense", 2, 1)
    assert eq.as_table(table) is table
    with pytest.raises(eq.errors.InvalidTable, match="1 of 3 rows"):
        eq.as_table(dense, missing="refuse")
    with pytest.raises(eq.errors.InvalidArgument, match="already"):
        eq.as_table(dense, targets=["a"])


GAPS = {"x": [1.0, None, 3.0, 4.0, 5.0], "y": [1.0, 2.0, float("nan"), 3.0, float("inf")]}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_rows_with_gaps_are_dropped_and_counted(make):
    table = eq.as_table(make(GAPS), targets=["y"])
    assert (table.rows, table.dropped) == (2, 3)
    assert table.contexts[:, 0].tolist() == [1.0, 4.0]
    with pytest.raises(eq.errors.InvalidTable, match="3 of 5 rows miss a value, most often in column 'y'"):
        eq.as_table(make(GAPS), targets=["y"], missing="refuse")


WORDS = {
    "town": ["Ulm", "Bonn", None, "Ulm", "Cork"],
    "x": [1, 2, 3, 4, 5],
    "y": [1.0, 2.0, 3.0, 5.0, 4.0],
    "note": ["a", "b", "c", "d", "e"],
}


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_text_is_refused_by_name_or_spread(make):
    with pytest.raises(eq.errors.InvalidTable, match=r"columns 'town', 'note' hold text") as refused:
        eq.as_table(make(WORDS), targets=["y"])
    assert "one-hot" in refused.value.hint
    table = eq.as_table(make(WORDS), contexts=["town", "x"], targets=["y"], one_hot=True)
    assert table.context_names == ("town=Bonn", "town=Cork", "town=Ulm", "x")
    assert table.contexts[:, :3].tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert table.dropped == 1
    with pytest.raises(eq.errors.InvalidTable, match="column 'note' holds text"):
        eq.as_table(make(WORDS), contexts=["x"], targets=["note"], one_hot=True)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.array([1 + 1j, 2, 3, 4]), "column 'x' holds complex numbers"),
        ([1.0, 2j, 3.0, None], "column 'x' holds complex numbers"),
        ([datetime.time(9, minute) for minute in range(4)], "column 'x' holds times of day"),
        ([datetime.date(2026, 1, 1), 2.0, 3.0, 4.0], "column 'x' holds dates or times"),
        (np.array([1.0, True, 2.0, 3.0], dtype=object), "column 'x' mixes numbers with true and false"),
        (np.ma.array([1.0, -9999.0, 3.0, 4.0], mask=[0, 1, 0, 0]), "column 'x' holds masked entries"),
        (["1.5", "2", "3", "4"], "column 'x' holds text"),
    ],
    ids=str,
)
@pytest.mark.parametrize("make", [dict, pd.DataFrame])
def test_what_is_no_number_is_refused_by_name(make, values, says):
    if make is pd.DataFrame and isinstance(values, np.ma.MaskedArray):
        values = values.tolist()  # pandas itself makes gaps of masked entries
        assert eq.as_table(make({"x": values, "y": [1.0, 2.0, 3.0, 4.0]}), targets=["y"]).dropped == 1
        return
    with pytest.raises(eq.errors.InvalidTable, match=says):
        eq.as_table(make({"x": values, "y": [1.0, 2.0, 3.0, 4.0]}), targets=["y"])


def test_masked_arrays_keep_their_mask():
    values = np.ma.array([[1.0, 2.0], [3.0, -9999.0], [5.0, 6.0]])
    assert eq.as_table(values, targets=[1]).targets[:, 0].tolist() == [2.0, -9999.0, 6.0]
    values[1, 1] = np.ma.masked
    with pytest.raises(eq.errors.InvalidTable, match="column '1' holds masked entries"):
        eq.as_table(values, targets=[1])
    split = SimpleNamespace(
        contexts=values[:, :1], targets=values[:, 1:], context_names=["x"], target_names=["a"]
    )
    with pytest.raises(eq.errors.InvalidTable, match="the targets hold masked entries"):
        eq.as_table(split)
    split.targets = [["a"], ["b"], ["c"]]
    with pytest.raises(eq.errors.InvalidTable, match="the targets hold text"):
        eq.as_table(split)
    split.targets = [[1.0], [2.0, 3.0], [4.0]]
    with pytest.raises(eq.errors.InvalidTable, match="the targets are not a matrix"):
        eq.as_table(split)


def test_true_and_false_with_gaps_are_numbers():
    table = eq.as_table({"x": [True, None, False, True], "y": [1.0, 2.0, 3.0, 4.0]}, targets=["y"])
    assert table.contexts[:, 0].tolist() == [1.0, 0.0, 1.0]
    assert table.dropped == 1


def test_categories_across_blocks(monkeypatch):
    monkeypatch.setattr(sources, "_CELLS_A_BLOCK", 4)
    frame = pd.DataFrame(WORDS).assign(town=pd.Categorical(WORDS["town"]))
    table = eq.as_table(frame, contexts=["town"], targets=["y"], one_hot=True)
    assert table.contexts.tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 0]]


@pytest.mark.parametrize("order", [1, -1])
def test_columns_that_mix_are_refused(order, monkeypatch):
    monkeypatch.setattr(sources, "_CELLS_A_BLOCK", 4)
    mixed = np.array([1.0, 2.0, "many", "few"], dtype=object)[::order]
    with pytest.raises(eq.errors.InvalidTable, match="'x' mixes numbers and text"):
        eq.as_table({"x": mixed, "y": [1, 2, 3, 4]}, targets=["y"], one_hot=True)


def test_identifiers_are_not_categories():
    names = {"id": [f"u{i}" for i in range(1_001)], "y": np.arange(1_001)}
    with pytest.raises(eq.errors.InvalidTable, match="'id' has more than 1000"):
        eq.as_table(names, targets=["y"], one_hot=True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "not said which columns are targets"),
        ({"targets": []}, "no targets"),
        ({"targets": ["pian"]}, "did you mean 'pain'"),
        ({"targets": ["pain", "pain"]}, "'pain' is given twice"),
        ({"targets": ["pain"], "contexts": ["age", "pain"]}, "a context and a target"),
        ({"targets": ["pain"], "contexts": []}, "no contexts"),
        ({"targets": list(COLUMNS)}, "no columns are left"),
        ({"targets": ["pain"], "missing": "guess"}, "missing='guess'"),
    ],
)
def test_refusals(arguments, says):
    with pytest.raises(eq.EquipoiseError, match=says):
        eq.as_table(COLUMNS, **arguments)


@pytest.mark.parametrize(
    "data",
    [
        3.0,
        np.zeros(4),
        pd.Series([1.0]),
        {"x": [1, 2], "y": [1]},
        {"x": [1.0, 1e200], "y": [1, 2]},
        pa.table([[1, 2], [3, 4]], names=["y", "y"]),
        {"x": [1], "y": [2]},
    ],
    ids=str,
)
def test_what_is_no_table(data):
    with pytest.raises(eq.errors.InvalidTable):
        eq.as_table(data, targets=["y"])


@pytest.mark.parametrize(
    "name", ["none.csv", "people.xlsx", "broken.parquet", "broken.feather", "broken.npy"]
)
def test_files_that_cannot_be_read(name, tmp_path):
    path = tmp_path / name
    if name != "none.csv":
        path.write_bytes(b"no table at all")
    with pytest.raises(eq.errors.InvalidTable):
        eq.as_table(path, targets=["y"])


def test_a_late_change_of_type_in_a_csv_file(tmp_path):
    path = tmp_path / "late.csv"
    path.write_text("x,y\n" + "1,2\n" * 300_000 + "1.5,2.5\n")
    table = eq.as_table(path, targets=["y"])
    assert table.contexts[-1, 0] == 1.5


@given(arrays(float, (5, 3), elements=st.floats(-1e9, 1e9, width=32)))
def test_the_digest_is_of_the_numbers(values):
    table = eq.as_table(values, targets=[0])
    assert eq.as_table(values.copy(order="F"), targets=["0"]).digest == table.digest
    values[3, 2] += 1.0
    assert eq.as_table(values, targets=[0]).digest != table.digest


def test_names_with_half_a_character_are_refused():
    with pytest.raises(eq.errors.InvalidTable, match="holds half a character"):
        eq.as_table(({"x\ud800": [1.0, 2.0], "y": [1.0, 2.0]}), targets=["y"])
    with pytest.raises(eq.errors.InvalidTable, match="holds half a character"):
        eq.as_table(({"x": ["a", "\udc80"], "y": [1.0, 2.0]}), targets=["y"], one_hot=True)
