"""Gaps, roles and categories: every rule does what it says, and says what it did."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import equipoise as eq
from equipoise.lab.replay.reading import sources

DATA = {
    "age": [30.0, None, 50.0, 70.0, 90.0],
    "town": ["Ulm", "Bonn", None, "Ulm", "Ulm"],
    "y": [1.0, 2.0, 3.0, 4.0, None],
}


@pytest.mark.parametrize("cells", [3, 4_000_000])
@pytest.mark.parametrize(
    ("missing", "names", "age"),
    [
        ("mean", ("age", "town=Bonn", "town=Ulm", "town=(missing)"), [30, 50, 50, 70]),
        ("median", ("age", "town=Bonn", "town=Ulm", "town=(missing)"), [30, 50, 50, 70]),
        (
            "indicator",
            ("age", "age (missing)", "town=Bonn", "town=Ulm", "town=(missing)"),
            [30, 50, 50, 70],
        ),
    ],
)
def test_contexts_are_filled_and_targets_never(missing, names, age, cells, monkeypatch):
    monkeypatch.setattr(sources, "_CELLS_A_BLOCK", cells)
    table = eq.as_table(DATA, targets=["y"], missing=missing, one_hot=True)
    assert (table.context_names, table.dropped, table.filled) == (names, 1, 2)
    columns = dict(zip(names, table.contexts.T.tolist(), strict=True))
    assert columns["age"] == age
    assert columns["town=(missing)"] == [0, 0, 1, 0]
    assert columns["town=Ulm"] == [1, 0, 0, 1]
    assert columns.get("age (missing)", [0, 1, 0, 0]) == [0, 1, 0, 0]
    rule = "median" if missing == "median" else "mean"
    assert f"age: 1 missing cell was filled with the {rule} of the others, 50." in table.notes
    assert "1 of 5 rows left out, as a value is missing: y 1." in table.notes


def test_the_median_is_not_the_mean():
    data = {"x": [0.0, None, 1.0, 8.0], "y": [1.0, 2.0, 3.0, 4.0]}
    filled = {
        rule: eq.as_table(data, targets=["y"], missing=rule).contexts[1, 0] for rule in ("mean", "median")
    }
    assert filled == {"mean": 3.0, "median": 1.0}


def test_rows_that_are_dropped_are_named():
    table = eq.as_table(DATA, targets=["y"], one_hot=True)
    assert (table.rows, table.dropped) == (2, 3)
    assert any("age 1, town 1, y 1" in note and "--missing mean" in note for note in table.notes)


@pytest.mark.parametrize(
    ("data", "asked", "says", "hint"),
    [
        ({"x": [None, None, 3.0], "y": [1.0, 2.0, 3.0]}, {}, "1 complete rows: 2 of 3 miss", "--exclude x"),
        (
            {"x": [None] * 3, "z": [1, 2, 3], "y": [1, 2, 3]},
            {"missing": "mean"},
            "'x' is empty",
            "--exclude x",
        ),
        ({"x": [1, 2], "y": [1, 2]}, {"missing": "zero"}, "missing='zero'", "'indicator'"),
        ({"x": [1, 2], "y": [1, 2]}, {"exclude": ["z"]}, "no column 'z'", "columns: x, y"),
        ({"x": [1, 2], "y": [1, 2]}, {"exclude": ["y"]}, "a target and excluded", None),
        ({"x": [1, 2], "y": [1, 2]}, {"exclude": ["x"]}, "no columns are left", None),
        ({"x": [1, 2], "y": [1, 2]}, {"exclude": ["x"], "contexts": ["x"]}, "a context and excluded", None),
        ({"x": [1, 2], "y": [1, 2]}, {"group": "y"}, "a target and the group", None),
        ({"x": [1, 2], "g": ["a", "a"], "y": [1, 2]}, {"group": "g"}, "one value in all rows", None),
        ({"x": [1, 2], "g": ["a", "b"], "y": [1, 2]}, {"order": "g"}, "cannot be put in its order", None),
    ],
)
def test_refusals(data, asked, says, hint):
    with pytest.raises(eq.EquipoiseError, match=says) as refused:
        eq.as_table(data, targets=["y"], **asked)
    assert hint is None or hint in refused.value.hint


def test_matrices_are_not_filled():
    table = eq.as_table(DATA, contexts=["age"], targets=["y"])

    class Dense:
        contexts, targets = np.array([[1.0], [np.nan], [2.0]]), np.ones((3, 1))
        context_names, target_names = table.context_names, table.target_names

    assert eq.as_table(Dense).dropped == 1
    with pytest.raises(eq.errors.InvalidArgument, match="these are matrices"):
        eq.as_table(Dense, missing="mean")


def test_names_are_no_categories():
    data = {"who": [f"P{i // 3}" for i in range(90)], "x": range(90), "y": range(90)}
    with pytest.raises(eq.errors.InvalidTable, match="'who' has 30 different values in 90 rows"):
        eq.as_table(data, targets=["y"], one_hot=True)
    assert eq.as_table(data, targets=["y"], group="who").labels.tolist() == [i // 3 for i in range(90)]


def test_rows_are_put_in_order_and_groups_numbered_by_their_first():
    frame = pd.DataFrame(
        {
            "when": ["2026-01-03", "2026-01-01", "2026-01-02", "2026-01-01"],
            "who": [7, 9, 7, 8],
            "y": [1, 2, 3, 4],
        }
    )
    frame["x"] = frame["y"] * 10
    table = eq.as_table(frame, targets=["y"], order="when")
    assert table.context_names == ("who", "x")
    assert table.targets[:, 0].tolist() == [2, 4, 3, 1]  # rows of one time as they came
    assert table.labels.tolist() == [0, 0, 1, 2]
    both = eq.as_table(frame, targets=["y"], order="when", group="who")
    assert both.context_names == ("x",)
    assert both.labels.tolist() == [0, 1, 2, 2]
    assert len({table.digest, both.digest, eq.as_table(frame, targets=["y"], exclude=["when"]).digest}) == 3
    named = eq.as_table(frame, contexts=["when", "x"], targets=["y"], order="when")
    assert named.context_names == ("when", "x")
