"""CSV files as people have them: separators, decimal commas, marks for gaps, and lines that are wrong."""

from __future__ import annotations

import numpy as np
import pytest

import equipoise as eq
from equipoise.lab.replay.reading import text_files

ROWS = [("30", "71,5", "1,25"), ("41", "80,25", "2"), ("52", "65", "3,5"), ("63", "60,1", "4")]


def written(path, separator=";", decimal=",", head=("age", "weight", "y"), rows=ROWS, encoding="utf-8"):
    lines = [
        separator.join(head),
        *(separator.join(cell.replace(",", decimal) for cell in row) for row in rows),
    ]
    path.write_text("\n".join(lines) + "\n", encoding=encoding)
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize(
    ("separator", "decimal", "asked"),
    [
        (";", ",", {"decimal": ","}),
        ("\t", ",", {"decimal": ","}),
        ("|", ".", {}),
        (",", ".", {}),
        (" ", ".", {"separator": " "}),
        ("\t", ".", {"separator": "tab"}),
        (";", ",", {"separator": ";", "decimal": ","}),
    ],
)
def test_what_separates_cells_is_found_or_told(separator, decimal, asked, encoding, tmp_path):
    path = written(tmp_path / "people.csv", separator, decimal, encoding=encoding)
    table = eq.as_table(path, targets=["y"], **asked)
    assert table.context_names == ("age", "weight")
    assert table.contexts.tolist() == [[30, 71.5], [41, 80.25], [52, 65], [63, 60.1]]
    assert table.targets[:, 0].tolist() == [1.25, 2, 3.5, 4]
    said = [note for note in table.notes if note.startswith("Cells are separated by")]
    assert bool(said) == (separator != ",")


def test_numbers_are_the_nearest_ones(tmp_path):
    values = np.random.default_rng(3).normal(size=(500, 2)) * 10.0 ** np.arange(-8, 8, 8)
    lines = "\n".join(f"{a!r};{b!r}".replace(".", ",") for a, b in values.tolist())
    (tmp_path / "x.csv").write_text("x;y\n" + lines)
    table = eq.as_table(tmp_path / "x.csv", targets=["y"], decimal=",")
    np.testing.assert_array_equal(table.contexts[:, 0], values[:, 0])


def test_older_pandas_is_asked_for_the_nearest_number():
    assert text_files._exact("2.2.3") == text_files._exact("3.0.0") == {"float_precision": "round_trip"}
    assert text_files._exact("3.1.1") == text_files._exact("4.0.0rc1") == {}


def test_words_that_mean_missing(tmp_path):
    rows = [*ROWS, ("?", "70", "2"), ("NA", "71", "2"), ("44", "n/b", "2"), ("45", "", "2")]
    path = written(tmp_path / "people.csv", rows=rows)
    with pytest.raises(eq.errors.InvalidTable, match=r"'age' holds numbers and also '\?'") as refused:
        eq.as_table(path, targets=["y"], decimal=",")
    assert "--na '?'" in refused.value.hint
    table = eq.as_table(path, targets=["y"], decimal=",", na=["?", "n/b"])
    assert (table.rows, table.dropped) == (4, 4)
    assert table.reading["na"] == ["?", "n/b"]


def test_separators_at_the_end_of_lines_and_unnamed_columns(tmp_path):
    (tmp_path / "ends.csv").write_text("x;y;\n1;2;\n3;4;\n")
    assert eq.as_table(tmp_path / "ends.csv", targets=["y"]).context_names == ("x",)
    (tmp_path / "index.csv").write_text(",x,y\n1,5,2\n2,3,4\n3,9,9\n")
    table = eq.as_table(tmp_path / "index.csv", targets=["y"])
    assert table.context_names == ("column 1", "x")
    assert any("column 1 numbers the rows" in note for note in table.notes)
    assert not eq.as_table(tmp_path / "index.csv", contexts=["column 1"], targets=["y"]).notes


@pytest.mark.parametrize(
    ("text", "asked", "says", "hint"),
    [
        ("x,y\n1,5,2\n2,5,4\n", {}, "rows with more cells than its 2 columns", "decimal comma"),
        ("x,y\n1,2\n2,5,4\n", {}, "rows with more cells than its 2 columns", "separated by ','"),
        ("a;y\n1;2\n", {"separator": ","}, "no column 'y'", "what separates cells"),
        (
            "x;y\n1,5;2\n2,5;3\n",
            {},
            "'x' looks like numbers with a decimal comma, such as '1,5'",
            "--decimal",
        ),
        ("x;y\n1,5;2\nn/b;3\n2,5;4\n7;4\n", {}, "'x' looks like numbers with a decimal comma", "--decimal"),
        ("x;y\n1.5;2\n2.5;3\n", {"decimal": ","}, "numbers with a decimal point", "--decimal"),
        ("", {}, "is empty", None),
        ("x,x\n1,2\n", {}, "two columns are called 'x'", None),
        ("x,y\n1,2\n3,4\n", {"separator": "ab"}, "not one character", "tab"),
        (
            "x,y\n1,2\n3,4\n",
            {"separator": ",", "decimal": ","},
            "both separate cells and start decimals",
            ";",
        ),
        ("x,y\n1,2\n3,4\n", {"decimal": "'"}, "decimal=", None),
    ],
)
def test_refusals_say_what_to_type(text, asked, says, hint, tmp_path):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(eq.EquipoiseError, match=says) as refused:
        eq.as_table(tmp_path / "x.csv", targets=["y"], one_hot=True, **asked)
    assert hint is None or hint in refused.value.hint


@pytest.mark.parametrize("place", ["name", "cell"])
def test_other_encodings_are_said(place, tmp_path):
    text = "größe,y\n1,2\n" if place == "name" else "x,y\n1,2\nLübeck,3\n"
    (tmp_path / "x.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(eq.errors.InvalidTable, match="not text in UTF-8"):
        eq.as_table(tmp_path / "x.csv", targets=["y"])


def test_settings_of_text_are_for_text(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    for data in (tmp_path / "x.npy", {"x": [1, 2], "y": [1, 2]}):
        with pytest.raises(eq.errors.InvalidArgument, match="for CSV and TSV files"):
            eq.as_table(data, targets=["1"], decimal=",")
