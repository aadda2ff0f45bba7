"""A description says what is there, what would be made of it, and everything that stands in the way."""

from __future__ import annotations

import datetime
import json

import numpy as np

import equipoise as eq

DATA = {
    "no": np.arange(1, 9),
    "when": ["2026-01-02"] * 4 + ["2026-03-31"] * 4,
    "age": [30.0, 40.0, None, 35.0, 62.0, 70.0, 44.0, 51.0],
    "twice": [60.0, 80.0, None, 70.0, 124.0, 140.0, 88.0, 102.0],
    "town": ["Ulm", "Bonn"] * 4,
    "weight": ["71,5", "80,2", "60", "59,9", "70,1", "80", "66,6", "90,1"],
    "same": [1.0] * 8,
    "a": [1.0, 2.0, 4.0, 3.0, 2.0, 5.0, 1.0, 2.5],
    "b": [100.0, 250.0, 180.0, 90.0, 400.0, 320.0, 150.0, 270.0],
}


def column(told, name):
    return next(one for one in told.columns if one.name == name)


def test_every_column_without_targets():
    told = eq.describe_table(DATA)
    assert (told.rows, told.complete, told.refusal, told.targets) == (8, None, None, ())
    assert [one.name for one in told.columns] == list(DATA)
    assert {one.role for one in told.columns} == {""}
    assert (column(told, "age").kind, column(told, "age").missing, column(told, "age").spread) == (
        *("numbers", 1),
        np.std([30, 40, 35, 62, 70, 44, 51]),
    )
    assert (column(told, "when").kind, column(told, "when").lowest, column(told, "when").different) == (
        *("dates", "2026-01-02", 2),
    )
    assert "numbers the rows" in column(told, "no").remark
    assert "constant" in column(told, "same").remark
    assert "decimal comma" in column(told, "weight").remark
    assert "--one-hot" in column(told, "town").remark
    assert "No targets are named yet" in str(told)


def test_all_that_stands_in_the_way_is_seen_at_once():
    told = eq.describe_table(DATA, targets=["a", "b"], group="town")
    assert "looks like numbers with a decimal comma" in told.refusal
    assert "would be refused" in str(told)
    assert (column(told, "town").role, column(told, "a").role) == ("group", "target")
    assert told.complete is None


def test_what_would_be_made_of_it():
    told = eq.describe_table(DATA, targets=["a", "b"], exclude=["weight", "no", "when"], one_hot=True)
    assert told.refusal is None
    assert (told.complete, told.features) == (7, ("age", "town=Bonn"))
    assert told.redundant == ("twice", "town=Ulm", "same")
    assert told.least_budget == 2 * 4
    assert told.spread_ratio > 50
    assert column(told, "weight").role == "excluded"
    text = str(told)
    assert "errors would be shares of each target's variance" in text
    assert "7 rows, 2 context columns" in text
    assert "1 of 8 rows left out" in text
    json.dumps(told.record())
    chosen = eq.describe_table(DATA, contexts=["age"], targets=["a"])
    assert column(chosen, "same").role == "excluded"


def test_columns_that_cannot_be_read_are_described_too():
    data = {
        "x": [1.0, 2.0, 3.0],
        "at": [datetime.time(9, minute) for minute in range(3)],
        "y": [1.0, 3.0, 2.0],
    }
    told = eq.describe_table(data, targets=["y"])
    assert "times of day" in column(told, "at").remark
    assert "times of day" in told.refusal
    assert column(told, "x").kind == "numbers"
    wrong = eq.describe_table(data, targets=["z"])
    assert "no column 'z'" in wrong.refusal


def test_small_ratios_are_said_too():
    told = eq.describe_table(
        {"x": [1.0, 2.0, 4.0], "a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 1.0]}, targets=["a", "b"]
    )
    assert "compared as they are" in str(told)
    assert "a 0.816" in str(told)


def test_tables_that_are_split_already():
    table = eq.as_table({"x": [1.0, 2.0, 4.0], "a": [1.0, 2.0, 3.0]}, targets=["a"], name="mine")
    told = eq.describe_table(table)
    assert (told.name, told.features, told.targets, told.complete) == ("mine", ("x",), ("a",), 3)
