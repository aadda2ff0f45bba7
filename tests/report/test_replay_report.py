"""The report of a replay: the numbers of the result, the table, and nothing from a network."""

from __future__ import annotations

import re

import numpy as np
import pytest

import equipoise as eq
from equipoise.report import render, replay_report, write_report
from equipoise.report.numbers import with_error

EVIL = "<script>alert('x')</script> & \"co\""


def columns(rows=200):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(rows, 2))
    y = x @ rng.normal(size=(2, 2)) + rng.normal(size=(rows, 2)) * [0.3, 2.0]
    return {"age": x[:, 0], "again": x[:, 0] * 2, "dose": x[:, 1], EVIL: y[:, 0], "wild": y[:, 1]}


@pytest.fixture(scope="module")
def results():
    data = columns()
    data["dose"][:3] = np.nan
    return eq.replay(
        *(data, ["uniform", "trace-ucb"]),
        targets=[EVIL, "wild"],
        scale="targets",
        budget=[40, 60],
        trials=40,
        name="people",
    )


@pytest.fixture(scope="module")
def page(results):
    return render(replay_report(results, again="equipoise replay people.csv"))


def test_the_numbers_are_the_result_s(results, page):
    shown = page.replace("&nbsp;", " ")
    for result in results:
        for policy in result.policies.values():
            assert with_error(policy.median_max()) in shown
        assert str(result.saved["trace-ucb"]) in shown


def test_the_table_is_described(results, page):
    for words in (
        "197 complete rows",
        "3 of 200 rows left out, as a value is missing: dose 3.",
        "shares of each target&#x27;s variance",
        "combinations of other columns",
    ):
        assert words in page
    assert results[0].table.redundant == ("again",)
    assert results[0].table.digest in page
    assert "equipoise replay people.csv" in page
    assert "By budget" in page


def test_nothing_is_fetched_and_names_are_escaped(page):
    assert re.findall(r"url\((?!#)[^)]*\)|@import[^;]*|https?://\S+", page) == []
    assert "<script>alert" not in page


@pytest.mark.parametrize("policies", [["uniform"], ["trace-ucb", "oracle"]])
@pytest.mark.parametrize("trials", [1, 3])
def test_edges(policies, trials, tmp_path):
    found = eq.replay(columns(), policies, targets=["wild"], contexts=["age"], budget=9, trials=trials)
    path = write_report(tmp_path / "one.html", found)
    assert "Units an arm" in path.read_text()


def test_targets_without_noise(tmp_path):
    data = {"x": np.arange(50.0) % 7, "a": np.ones(50), "b": np.arange(50.0) % 7 * 2}
    found = eq.replay(data, ["uniform", "oracle", "trace-ucb"], targets=["a", "b"], budget=20, trials=5)
    assert found["trace-ucb"].errors.max() < 0.01  # the ridge
    assert render(replay_report([found]))


def in_python(result):
    """The lines that a report prints to run a replay again."""
    (code,) = (block for block in replay_report([result]).again if block.caption == "In Python:")
    return code.text


def plain(result):
    record = result.record()
    for policy in record["policies"].values():
        del policy["decisions_per_second"]
    return record


@pytest.mark.parametrize("kind", ["file", "columns", "split"])
def test_the_lines_in_python_give_the_same_result(kind, tmp_path):
    data = {**columns(60), "town": np.array(["Rome", "Oslo", "Bonn"] * 20)}
    given = {"targets": [EVIL, "wild"], "one_hot": True}
    if kind == "file":
        data = pytest.importorskip("pyarrow").table(data)
        pytest.importorskip("pyarrow.feather").write_feather(data, tmp_path / "people.feather")
        data = tmp_path / "people.feather"
    if kind == "split":
        data, given = eq.as_table(columns(60), targets=[EVIL, "wild"]), {}
        data = eq.ReplayTable("people", data.contexts, data.targets, data.context_names, data.target_names)
    found = eq.replay(
        *(data, ["uniform", "trace-ucb"]),
        **given,
        budget=30,
        objective="mean",
        weights={"wild": 2.0},
        moment="online",
        scale="none",
        trials=3,
        seed=4,
        saved=False,
    )
    lines = in_python(found)
    assert ("data = ...  # put the table" in lines) == (kind != "file")
    assert ("one_hot=True" in lines) == (kind != "split")
    known = {"data": data}
    exec(lines.replace("data = ...", "").replace("seed=4", "seed=4, saved=False"), known)
    assert plain(known["result"]) == plain(found)
