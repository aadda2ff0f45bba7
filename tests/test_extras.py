"""Libraries that may be missing: the error names what brings them."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from equipoise.errors import MissingExtra
from equipoise.extras import EXTRAS, is_installed, library, need

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def test_extras_are_those_of_the_package():
    named = {
        re.split(r"[<>=\[]", requirement)[0]: extra
        for extra in ("plot", "cluster", "data", "postgres")
        for requirement in PROJECT["optional-dependencies"][extra]
    }
    assert named == EXTRAS


def test_all_brings_every_extra_that_users_may_want():
    theirs = set(PROJECT["optional-dependencies"]) - {"all", "docs", "package", "bench", "dev"}
    (everything,) = PROJECT["optional-dependencies"]["all"]
    assert set(re.search(r"\[(.*)\]", everything)[1].split(",")) == theirs


@pytest.mark.parametrize("act", [library, need])
@pytest.mark.parametrize(
    ("name", "hint"),
    [("matplotlib", "pip install 'equipoise[plot]'"), ("pandas", "pip install pandas")],
)
def test_what_is_missing_is_named(act, name, hint, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    assert not is_installed(name)
    with pytest.raises(MissingExtra, match=f"{name} is not installed") as caught:
        act(name)
    assert caught.value.hint == hint


def test_a_part_of_a_library_comes_with_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtra, match=r"pyarrow is not installed .*equipoise\[data\]"):
        library("pyarrow.parquet")


def test_what_is_there_is_imported():
    need("json")
    assert library("json") is sys.modules["json"]
