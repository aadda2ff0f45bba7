"""Tidy tables become what the user works with, and carry what is needed to run them again."""

from __future__ import annotations

import json
import math
import sys

import pytest

import equipoise as eq
from equipoise.core.tables.tidy import TidyTable
from equipoise.errors import InvalidArgument, MissingExtra, OutputNotWritable

COLUMNS = ["policy", "loss", "value", "stderr"]


@pytest.fixture(scope="module")
def result():
    scenario = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=40, covariance="ar1:0.5")
    return eq.simulate(scenario, ["uniform", "trace-ucb:width=0.5"], trials=40, seed=9)


@pytest.fixture
def table(result):
    return result.losses(quantiles=(0.9,))


def check_metadata(metadata, result):
    assert metadata["version"] == eq.__version__
    assert (metadata["seed"], metadata["trials"]) == (9, 40)
    assert eq.Scenario.from_dict(metadata["scenario"]) == result.scenario
    assert metadata["policies"] == {"uniform": "uniform", "trace-ucb:width=0.5": "trace-ucb:width=0.5"}
    # It is enough to get the same numbers again.
    again = eq.simulate(
        eq.Scenario.from_dict(metadata["scenario"]),
        list(metadata["policies"].values()),
        trials=metadata["trials"],
        seed=metadata["seed"],
    )
    assert again["uniform"].expected_max() == result["uniform"].expected_max()


def test_rows(table):
    assert table.columns == tuple(COLUMNS)
    assert len(table) == len(table.records()) == 2 * len({row["loss"] for row in table})
    assert table[0] == table.records()[0] == next(iter(table))
    assert table[-1]["policy"] == "trace-ucb:width=0.5"
    assert [row["loss"] for row in table[:2]] == table.column("loss")[:2]
    assert {"expected_max", "median_max", "mean", "quantile_max_0.9"} <= set(table.column("loss"))
    with pytest.raises(IndexError):
        table[len(table)]
    with pytest.raises(InvalidArgument, match=r"no column 'error' .*policy, loss, value, stderr"):
        table.column("error")


def test_pandas(table, result):
    frame = table.to_pandas()
    assert list(frame.columns) == COLUMNS
    assert frame["value"].dtype == float
    assert frame.to_dict("records") == table.records()
    check_metadata(frame.attrs, result)
    frame.attrs["scenario"]["noise"] = "changed"
    check_metadata(table.metadata, result)


def test_polars(table):
    polars = pytest.importorskip("polars")
    frame = table.to_polars()
    assert frame.columns == COLUMNS
    assert frame.schema["value"] == polars.Float64
    assert frame.to_dicts() == table.records()


def test_polars_looks_at_every_row():
    polars = pytest.importorskip("polars")
    rows = [(None, 1)] * 150 + [("late", 2.5)]
    frame = TidyTable(["name", "value"], rows, {}).to_polars()
    assert frame.schema == {"name": polars.String, "value": polars.Float64}
    assert frame["value"].to_list()[-1] == 2.5


def test_arrow(table, result):
    pytest.importorskip("pyarrow")
    arrow = table.to_arrow()
    assert arrow.column_names == COLUMNS
    assert arrow.to_pylist() == table.records()
    check_metadata(json.loads(arrow.schema.metadata[b"equipoise"]), result)


def test_parquet(table, result, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "losses.parquet"
    table.write_parquet(path)
    back = parquet.read_table(path)
    assert back.to_pylist() == table.records()
    check_metadata(json.loads(back.schema.metadata[b"equipoise"]), result)


def test_parquet_through_other_readers(table, tmp_path):
    polars = pytest.importorskip("polars")
    path = tmp_path / "losses.parquet"
    table.write_parquet(path)
    assert polars.read_parquet(path).to_dicts() == table.records()


def test_numbers_that_are_none(tmp_path):
    """One trial has no standard error."""
    parquet = pytest.importorskip("pyarrow.parquet")
    table = TidyTable(["value", "stderr"], [(1.5, math.nan)], {})
    table.write_parquet(tmp_path / "one.parquet")
    (row,) = parquet.read_table(tmp_path / "one.parquet").to_pylist()
    assert row["value"] == 1.5
    assert math.isnan(row["stderr"])


def test_a_file_that_cannot_be_written(table, tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(OutputNotWritable, match="choose another file"):
        table.write_parquet(tmp_path / "nowhere" / "losses.parquet")


@pytest.mark.parametrize(
    ("library", "convert"),
    [
        ("pandas", lambda table, path: table.to_pandas()),
        ("polars", lambda table, path: table.to_polars()),
        ("pyarrow", lambda table, path: table.to_arrow()),
        ("pyarrow.parquet", lambda table, path: table.write_parquet(path)),
    ],
)
def test_without_the_library(library, convert, table, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    wanted = "pandas" if library == "pandas" else r"'equipoise\[data\]'"
    with pytest.raises(MissingExtra, match=f"pip install {wanted}"):
        convert(table, tmp_path / "losses.parquet")


def test_printing(table):
    header, *lines = str(table).splitlines()
    assert header.split() == COLUMNS
    assert len(lines) == len(table)
    assert repr(table) == str(table)
    html = TidyTable(["policy", "value"], [("<b>", 1 / 3)], {})._repr_html_()
    assert "&lt;b&gt;" in html
    assert "0.3333" in html


def test_an_empty_table():
    table = TidyTable(["policy", "value"], [], {"seed": 1})
    assert str(table).split() == ["policy", "value"]
    assert list(table.to_pandas().columns) == ["policy", "value"]
    if "polars" in sys.modules:
        assert table.to_polars().columns == ["policy", "value"]
