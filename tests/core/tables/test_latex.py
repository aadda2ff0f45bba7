"""Tables for journals: every name escaped, numbers with the digits that errors allow."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from equipoise.core.tables.digits import by_error
from equipoise.core.tables.latex import latex_table, latex_text
from equipoise.core.tables.tidy import ForReaders, TidyTable


@pytest.fixture
def table():
    shown = ForReaders(["arm_1", "95 %"], [["[a] & b|c", "-0.5 to 1.2"]], 1, ["A note with 5 %."])
    return TidyTable(["arm", "low"], [("[a] & b|c", -0.5123)], {"seed": 1}, shown)


def test_latex_escapes_and_balances(table):
    text = table.to_latex(caption="Arms & doses", label="tab:a")
    assert r"{}[a] \& b$|$c & $-$0.5 to 1.2 \\" in text
    assert r"arm\_1 & 95 \% \\" in text
    assert r"\caption{Arms \& doses}" in text
    assert r"\label{tab:a}" in text
    assert r"A note with 5 \%." in text
    opened, closed = re.findall(r"\\begin{(\w+)}", text), re.findall(r"\\end{(\w+)}", text)
    assert opened == closed[::-1] == ["table", "tabular"]
    for rule in ("toprule", "midrule", "bottomrule"):
        assert text.count(f"\\{rule}") == 1


def test_a_bare_tabular_keeps_its_notes_as_comments(table):
    text = table.to_latex()
    assert text.startswith("% A note with 5 %.\n\\begin{tabular}{lr}")
    assert "table}" not in text


@pytest.mark.parametrize("sign", ["\\", "&", "%", "$", "#", "_", "{", "}", "~", "^"])
def test_no_sign_has_a_meaning_to_latex(sign):
    text = latex_text(f"a{sign}b")
    assert re.fullmatch(r"a(\\[&%$#_{}]|\\text\w+\{\})b", text)


def test_columns_of_words_stand_to_the_left():
    assert "{llr}" in latex_table(["a", "b", "c"], [], left=2)


def test_csv_and_markdown(table, tmp_path):
    table.to_csv(tmp_path / "a.csv")
    assert pd.read_csv(tmp_path / "a.csv").to_dict("records") == table.records()
    assert table.to_markdown(tmp_path / "a.md") == (tmp_path / "a.md").read_text()
    assert r"| [a] & b\|c | -0.5 to 1.2 |" in table.to_markdown()
    assert "A note" in table.to_markdown()
    gaps = TidyTable(["a", "b"], [(float("nan"), None), (float("inf"), "x, y")], {})
    assert gaps.to_csv() == 'a,b\n,\ninf,"x, y"\n'


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.5, 0.099, "0.500"),
        (0.5, 0.1, "0.50"),
        (-0.001, 0.5, "0.00"),
        (123456789.0, 1e3, "1.234568e+08"),
        (1.23456e-9, 1.2e-11, "1.235e-09"),
        (float("inf"), 1.0, "–"),
        (2.0, float("inf"), "2"),
    ],
)
def test_digits(value, error, text):
    assert by_error(value, error) == text
