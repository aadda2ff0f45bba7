"""Dates from every kind of table become the same numbers; text in another order is refused, not guessed."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import equipoise as eq

DAYS = [datetime.date(1970, 1, 2), datetime.date(2026, 3, 31), None, datetime.date(1969, 12, 31)]
MOMENTS = [None if day is None else datetime.datetime(day.year, day.month, day.day, 12) for day in DAYS]
ZONED = [
    None if m is None else m.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=6))) for m in MOMENTS
]
SPANS = [datetime.timedelta(1), datetime.timedelta(hours=36), None, datetime.timedelta(-2)]
TEXTS = [None if day is None else day.isoformat() for day in DAYS]
STAMPS = [None if m is None else f"{m:%Y-%m-%dT%H:%M}Z" for m in MOMENTS]
COUNT = (datetime.date(2026, 3, 31) - datetime.date(1970, 1, 1)).days


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (DAYS, [1, COUNT, -1]),
        (MOMENTS, [1.5, COUNT + 0.5, -0.5]),
        (ZONED, [1.25, COUNT + 0.25, -0.75]),
        (SPANS, [1, 1.5, -2]),
        (TEXTS, [1, COUNT, -1]),
        (STAMPS, [1.5, COUNT + 0.5, -0.5]),
    ],
    ids=["days", "moments", "zoned", "spans", "texts", "stamps"],
)
def test_dates_are_days_since_1970(make, cells, expected):
    table = eq.as_table(make({"when": cells, "y": [1.0, 2.0, 3.0, 4.0]}), targets=["y"])
    assert table.contexts[:, 0].tolist() == expected
    assert any("when holds" in note and "counted in days" in note for note in table.notes)
    with pytest.raises(eq.errors.InvalidTable, match="target 'when' holds"):
        eq.as_table(make({"when": cells, "y": [1.0, 2.0, 3.0, 4.0]}), targets=["when"])


@pytest.mark.parametrize(
    ("cells", "format"),
    [
        (["31.03.2026", "1.4.2026"], "%d.%m.%Y"),
        (["03/31/2026", "04/01/2026"], "%m/%d/%Y"),
        (["01/02/2026", "02/03/2026"], "%d/%m/%Y"),
        (["31-03-2026", "01-04-2026"], "%d-%m-%Y"),
        (["2026/03/31", "2026/04/01"], "%Y/%m/%d"),
    ],
)
def test_other_orders_are_asked_for(cells, format):
    data = {"when": cells * 2, "y": [1.0, 2.0, 3.0, 4.0]}
    with pytest.raises(eq.errors.InvalidTable, match="column 'when' looks like dates") as refused:
        eq.as_table(data, targets=["y"], one_hot=True)  # never categories
    assert f"--date-format '{format}'" in refused.value.hint
    table = eq.as_table(data, targets=["y"], date_format=format)
    assert (
        table.contexts[0, 0]
        == (datetime.datetime.strptime(cells[0], format) - datetime.datetime(1970, 1, 1)).days
    )
    assert table.reading["date_format"] == format


def test_dates_that_are_none():
    with pytest.raises(eq.errors.InvalidTable, match="'2026-02-30', which is no date"):
        eq.as_table({"when": ["2026-02-28", "2026-02-30"], "y": [1.0, 2.0]}, targets=["y"])
    for wrong in ("day", "%Q"):
        with pytest.raises(eq.errors.InvalidArgument, match="no format of dates"):
            eq.as_table({"x": [1, 2], "y": [1.0, 2.0]}, targets=["y"], date_format=wrong)


def test_numpy_s_own_dates():
    cells = np.array(["1970-01-02", "NaT", "1970-01-04"], "M8[D]")
    table = eq.as_table({"when": cells, "y": [1.0, 2.0, 3.0]}, targets=["y"])
    assert (table.contexts[:, 0].tolist(), table.dropped) == ([1.0, 3.0], 1)
