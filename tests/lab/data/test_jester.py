"""Jester's files, in every form, real and made up, whole and broken."""

from __future__ import annotations

import contextlib
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rating_files import csv_of, write_gzip, write_xls, write_zip

import equipoise as eq
from equipoise.another_python import another_python
from equipoise.errors import (
    DataNotFound,
    EquipoiseError,
    InvalidArgument,
    InvalidData,
    NoCompleteUsers,
    RatingOutOfRange,
)
from equipoise.lab.data import spreadsheet
from equipoise.lab.data.jester import read_jester

# Users × 5 jokes; jokes 2 and 4 are rated by all, joke 5 by one.
ROWS = [
    [4, -9.5, 1.25, 99, 10, 3],
    [3, 2.0, -3.75, 99, 0, 99],
    [4, 7.01, 5.5, -1, -10, 99],
    [2, 99, 8.0, 99, 4, 99],
]
HEADER = ["row", "count", "j1", "j2", "j3", "j4", "j5"]


def written(path, form):
    text = csv_of(ROWS)
    sheet = write_xls(path / "jester-data-1.xls", [[float(cell) for cell in row] for row in ROWS])
    return {
        "xls": lambda: sheet,
        "xls.gz": lambda: write_gzip(path / "packed", sheet.read_bytes()),
        "zip": lambda: write_zip(
            path / "a.zip", {"jester-data-1.xls": sheet.read_bytes(), "readme.txt": b""}
        ),
        "csv": lambda: save(path / "a.csv", text),
        "csv.gz": lambda: write_gzip(path / "a.csv.gz", text),
        "csv.zip": lambda: write_zip(path / "b.zip", {"data/jester-data-1.csv": text}),
        "csv, no last newline": lambda: save(path / "a.csv", text.rstrip(b"\n")),
        "csv, CRLF": lambda: save(path / "a.csv", text.replace(b"\n", b"\r\n")),
        "csv, gaps empty": lambda: save(path / "a.csv", text.replace(b"99", b"")),
        "header": lambda: save(
            path / "a.csv", csv_of([HEADER, *([n, *row] for n, row in enumerate(ROWS, start=1))])
        ),
        "byte order mark": lambda: save(path / "a.csv", b"\xef\xbb\xbf" + csv_of([HEADER[1:], *ROWS])),
        "xls under a wrong name": lambda: sheet.rename(path / "jester.csv"),
    }[form]()


def save(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "form",
    [
        "xls", "xls.gz", "zip", "csv", "csv.gz", "csv.zip", "csv, no last newline", "csv, CRLF",
        "csv, gaps empty", "header", "byte order mark", "xls under a wrong name",
    ],
)  # fmt: skip
def test_every_form_gives_the_same_table(tmp_path, form):
    table = eq.load_jester(written(tmp_path, form), items=3, targets=1)
    # The most rated: jokes 2 and 4, by all four, then joke 1, by three.
    assert table.context_names == ("j2", "j4")
    assert table.target_names == ("j1", "count")
    np.testing.assert_array_equal(table.contexts, [[1.25, 10], [-3.75, 0], [5.5, -10]])
    np.testing.assert_array_equal(table.targets, [[-9.5, 10], [2.0, -10], [7.01, 10]])
    np.testing.assert_array_equal(table.counts, [4, 3, 4])
    assert table.complete_users == len(table) == 3
    assert table.names == ("j2", "j4", "j1", "count")
    assert table.contexts.dtype == table.targets.dtype == np.float64
    assert "3 users, 2 contexts, 2 targets" in table.describe()
    assert "3 users" in repr(table)


def test_choices(tmp_path):
    path = written(tmp_path, "csv")
    table = eq.load_jester(str(path), items=2, targets=1, users=2, rating_count=False)
    assert (table.context_names, table.target_names) == (("j2",), ("j4",))
    assert (len(table), table.complete_users) == (2, 4)
    drawn = {eq.load_jester(path, items=3, targets=1, seed=seed).target_names[0] for seed in range(20)}
    assert drawn == {"j1", "j2", "j4"}
    # Only the count: then all items are contexts.
    only = eq.load_jester(path, items=2, targets=0)
    assert only.target_names == ("count",)


def test_equal_counts_are_in_the_middle_of_the_scale(tmp_path):
    table = eq.load_jester(save(tmp_path / "a.csv", csv_of([[2, 1, 2], [2, 3, 4]])), items=2, targets=1)
    np.testing.assert_array_equal(table.targets[:, -1], [0, 0])


def test_parts_are_stacked(tmp_path):
    one, two = save(tmp_path / "1.csv", csv_of(ROWS[:2])), save(tmp_path / "2.csv", csv_of(ROWS[2:]))
    both = eq.load_jester([one, two], items=3, targets=1)
    np.testing.assert_array_equal(
        both.values, eq.load_jester(written(tmp_path, "csv"), items=3, targets=1).values
    )
    narrow = save(tmp_path / "3.csv", csv_of([[1, 5]]))
    with pytest.raises(InvalidData, match="different columns"):
        eq.load_jester([one, narrow])
    with pytest.raises(InvalidData, match="no Jester files"):
        eq.load_jester([])


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"", InvalidData, "is empty"),
        (b"\n", InvalidData, "columns|numbers"),
        (b"5\n", InvalidData, "has 1 columns"),
        (csv_of([[1, 10.5]]), RatingOutOfRange, "user 1 .* rates joke 1 with 10.5"),
        (csv_of([[1, 5, 99], [1, 99, -11]]), RatingOutOfRange, "user 2 .* joke 2 with -11"),
        (csv_of([[1, "inf"], [1, 2]]), InvalidData, "columns|numbers"),
        (csv_of([[1, 2], [1, "inf"]]), RatingOutOfRange, "user 2 .* with inf"),
        (csv_of([[1, 2], [1, "good"]]), InvalidData, "not a table of numbers"),
        (csv_of([[1, 2], [1, 2, 3]]), InvalidData, "not a table of numbers"),
        (csv_of([[1.5, 2]]), InvalidData, "rated 1.5 jokes"),
        (csv_of([[-1, 2]]), InvalidData, "rated -1 jokes"),
        (csv_of([["userId", "movieId", "rating"], [1, 2, 3]]), InvalidData, "columns of Jester"),
        (csv_of([["count", "j1", "j1"], [1, 2, 3]]), InvalidData, "two columns of the same name"),
        (csv_of([["count", "j1", "age"], [1, 2, 3]]), InvalidData, "columns of Jester"),
        (csv_of([["count", "j1"]]), InvalidData, "holds no ratings"),
        (csv_of([[0, 99], [0, 99]]), InvalidData, "holds no ratings"),
        (b"\xd0\xcf\x11\xe0 is how a spreadsheet starts", InvalidData, "not a spreadsheet"),
        (b"PK\x03\x04 is how an archive starts", InvalidData, "damaged"),
        (b"\x1f\x8b is how gzip starts", InvalidData, "damaged"),
        (b"\xff\xfe\x00\x01", InvalidData, "columns|numbers"),
        (b"1,2\n,3\n", InvalidData, "user 2 of .* rated nan jokes"),
    ],
)
def test_broken_files_are_explained(tmp_path, content, error, message):
    path = save(tmp_path / "jester.csv", content)
    with pytest.raises(error, match=message) as raised:
        eq.load_jester(path, items=1, targets=0)
    assert raised.value.hint


def test_text_in_a_spreadsheet(tmp_path):
    path = write_xls(tmp_path / "a.xls", [["number", "joke 1"], [1.0, 2.0]])
    with pytest.raises(InvalidData, match="text where numbers belong"):
        eq.load_jester(path)


def test_archives_with_nothing_or_too_much(tmp_path):
    for members, message in (
        ({}, "damaged|no files"),
        ({"notes.txt": b"1"}, "holds no files with ratings"),
        ({"jester-data-1.xls": b"1", "jester-data-2.xls": b"2"}, "holds 2 files with ratings"),
    ):
        with pytest.raises(InvalidData, match=message):
            eq.load_jester(write_zip(tmp_path / "a.zip", members))


def test_truncated_archives(tmp_path):
    whole = written(tmp_path, "zip").read_bytes()
    packed = written(tmp_path, "csv.gz").read_bytes()
    for content in (whole[: len(whole) // 2], packed[:-9], packed[:-4] + b"oops"):
        with pytest.raises(InvalidData, match="damaged"):
            eq.load_jester(save(tmp_path / "cut", content))


def test_paths_that_lead_nowhere(tmp_path, monkeypatch):
    with pytest.raises(DataNotFound, match="there is no file"):
        eq.load_jester(tmp_path / "nothing.xls")
    with pytest.raises(DataNotFound, match="is a folder"):
        eq.load_jester(tmp_path)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path))
    with pytest.raises(DataNotFound, match="has not been fetched"):
        eq.load_jester()


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"items": 6, "targets": 1}, "6 items cannot be chosen from 5"),
        ({"items": 0}, "items=0"),
        ({"items": 2.5}, "items=2.5"),
        ({"items": 3, "targets": 3}, "leave no context"),
        ({"items": 3, "targets": -1}, "targets=-1"),
        ({"items": 3, "targets": 0, "rating_count": False}, "no targets"),
        ({"items": 3, "targets": 1, "users": 0}, "users=0"),
        ({"items": 3, "targets": 1, "method": "best"}, "no method 'best'"),
    ],
)
def test_choices_that_cannot_be(tmp_path, choice, message):
    with pytest.raises(InvalidArgument, match=message) as raised:
        eq.load_jester(written(tmp_path, "csv"), **choice)
    assert raised.value.hint


def test_too_few_users(tmp_path):
    path = written(tmp_path, "csv")
    with pytest.raises(NoCompleteUsers, match="nobody rated all of 5 items"):
        eq.load_jester(path, items=5, targets=1)
    with pytest.raises(NoCompleteUsers, match=r"only 3 users rated all of 3 items.*users=4"):
        eq.load_jester(path, items=3, targets=1, users=4)


cells = st.one_of(st.just(99.0), st.integers(-1000, 1000).map(lambda n: n / 100))


@given(st.integers(1, 6).flatmap(lambda w: st.lists(st.lists(cells, min_size=w, max_size=w), min_size=1)))
def test_whatever_is_written_is_read(tmp_path_factory, ratings):
    rows = [[float(sum(cell != 99 for cell in row)), *row] for row in ratings]
    folder = tmp_path_factory.mktemp("jester")
    path = [write_xls(folder / "a.xls", rows), save(folder / "a.csv", csv_of(rows))]
    for file in path:
        if all(cell == 99 for row in ratings for cell in row):
            with pytest.raises(InvalidData, match="no ratings"):
                read_jester(file)
            continue
        matrix = read_jester(file)
        np.testing.assert_array_equal(matrix.codes, ratings)
        np.testing.assert_array_equal(matrix.counts, [row[0] for row in rows])


@given(
    st.binary(max_size=200),
    st.sampled_from([b"", b"\xd0\xcf\x11\xe0", b"PK\x03\x04", b"\x1f\x8b\x08", b"1,2\n"]),
)
def test_no_bytes_bring_it_down(tmp_path_factory, content, start):
    path = save(tmp_path_factory.mktemp("noise") / "file", start + content)
    try:
        read_jester(path)
    except EquipoiseError as error:
        assert error.hint


@pytest.mark.parametrize("content", [b'3,"', b'3,2\n4,"', b'"\n3,"', b'3,"1\n'])
def test_a_single_quote_is_no_panic(tmp_path, capfd, content):
    path = save(tmp_path / "file", content)
    with contextlib.suppress(EquipoiseError):
        read_jester(path)
    assert capfd.readouterr().err == ""


# What it begins with, its eight bytes, says that it is a spreadsheet.
@given(st.lists(st.tuples(st.integers(8, 6000), st.integers(0, 255)), min_size=1, max_size=30))
def test_no_damaged_spreadsheet_brings_it_down(tmp_path_factory, changes):
    folder = tmp_path_factory.mktemp("damage")
    content = bytearray(write_xls(folder / "a.xls", [[2.0, 1.5, -3.25]] * 60).read_bytes())
    for place, value in changes:
        content[place % len(content)] = value
    try:
        read_jester(save(folder / "a.xls", content))
    except EquipoiseError as error:
        assert error.hint


def test_sheets_larger_than_memory_are_damaged(tmp_path, capfd):
    path = write_xls(tmp_path / "a.xls", [[2.0, 1.5, -3.25]] * 60)
    sound = path.read_bytes()
    cell = sound.index(struct.pack("<HHHH", 0x0203, 14, 30, 1)) + 4
    sizes = sound.index(struct.pack("<HHII", 0x0200, 14, 0, 60)) + 8
    # No machine has so much, nor so much for one process; the last one's is 6 GiB.
    for place, wrong in (
        (sizes, b"\xff\xff\xff\xff\x00\x00\xff\xff"),
        (cell, b"\xff\xff\xff\xff"),
        (cell, b"\xff\xff\x00\x0c"),
    ):
        damaged = sound[:place] + wrong + sound[place + len(wrong) :]
        with pytest.raises(InvalidData, match="is not a spreadsheet: its reader broke down") as raised:
            read_jester(save(path, damaged))
        assert raised.value.hint == "download it again"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "program", [None, "", "/nowhere/python", sys.executable + "-frozen", shutil.which("true")]
)
def test_without_another_python_this_one_reads(tmp_path, monkeypatch, program):
    path = written(tmp_path, "xls")
    there = read_jester(path)
    monkeypatch.setattr(sys, "executable", program)
    here = read_jester(path)
    np.testing.assert_array_equal(here.codes, there.codes)
    np.testing.assert_array_equal(here.counts, there.counts)


def test_a_program_that_brings_its_python_is_not_started_again(tmp_path, monkeypatch):
    path = written(tmp_path, "xls")
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(subprocess, "run", None)
    assert len(read_jester(path).counts) == 4


def test_what_others_print_is_no_answer(tmp_path, monkeypatch):
    folder = tmp_path / "own"
    folder.mkdir()
    save(folder / "sitecustomize.py", b"print('hello', flush=True)\n")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.setattr(spreadsheet, "first_sheet", None)  # or this process would read it
    assert len(read_jester(written(tmp_path, "xls")).counts) == 4


def test_another_python_finds_what_this_one_finds(tmp_path, monkeypatch):
    save(tmp_path / "only_here.py", b"")
    (tmp_path / "elsewhere").mkdir()
    save(tmp_path / "elsewhere" / "fastexcel.py", b"raise ImportError\n")
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *filter(None, sys.path)])
    command, environment = another_python("-c", "import fastexcel, only_here")
    assert subprocess.run(command, env=environment).returncode == 0


# The real files.


def test_the_papers_cut(real_data):
    table = eq.load_jester(real_data("jester_dataset_1_1.zip"), users=3811)
    assert table.contexts.shape == (3811, 40)
    assert table.targets.shape == (3811, 10)
    assert table.complete_users == 17_668
    assert table.target_names[-1] == "count"
    assert (table.targets[:, -1].min(), table.targets[:, -1].max()) == (-10, 10)
    # The cut that others made of the same file.
    np.testing.assert_array_equal(
        table.values, eq.load_jester(real_data("jester1_dense49.csv.gz"), users=3811).values
    )


def test_a_search_keeps_more_users_than_the_densest_jokes(real_data):
    table = eq.load_jester(real_data("jester_dataset_1_1.zip"), method="search")
    assert len(table) >= 17_799
