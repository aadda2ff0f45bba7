"""From a URL to a store: what is wrong with a URL, and what to type instead."""

import sys

import pytest
from storing.rows import begin

from equipoise.errors import ExperimentNotFound, InvalidStore, MissingExtra
from equipoise.live.stores import opening
from equipoise.live.stores.opening import migrate, open_store
from equipoise.live.stores.sqlite import connecting


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("trial.db", r'"sqlite:///trial\.db"'),
        ("C:\\trial.db", "is not a URL"),
        ("sqlite://trial.db", r'three slashes .*"sqlite:///trial\.db"'),
        ("sqlite:trial.db", "three slashes"),
        ("sqlite:///", "names no file"),
        ("sqlite:///folder/", "names no file"),
        ("sqlite:///:memory:", 'type "memory:"'),
        ("sqlite:///a\0b", "zero byte"),
        ("memory://x", 'type "memory:"'),
        ("mysql://host/db", "no store is called 'mysql'"),
        ("postgres://host/db", '"postgresql://user@host/database"'),
        ("postgresql+psycopg2://host/db", '"postgresql://user@host/database"'),
        ("postgresql:host", "two slashes"),
        (f"sqlite:///{'ä' * 120}", "too long.*a shorter one"),
        (None, "not by NoneType"),
    ],
)
def test_what_is_wrong_with_a_url(url, message):
    with pytest.raises(InvalidStore, match=message):
        open_store(url)


@pytest.mark.parametrize("wait", [-1, float("nan"), float("inf")])
def test_waiting_times_that_cannot_be(wait):
    with pytest.raises(InvalidStore, match="seconds"):
        open_store("memory:", wait=wait)


def test_a_path_is_taken_letter_by_letter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_store("sqlite:///my trial%20#1?.db") as store:
        begin(store)
        monkeypatch.chdir("/")  # the store stays where it was opened
        assert store.head("trial").sequence == 1
    assert [path.name for path in tmp_path.iterdir()] == ["my trial%20#1?.db"]


def test_looking_makes_no_file(tmp_path):
    with open_store(f"sqlite:///{tmp_path}/typo.db") as store:
        assert store.names() == []
        with pytest.raises(ExperimentNotFound, match=r"no file .*typo\.db"):
            store.head("trial")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidStore, match="no file"):
        migrate(f"sqlite:///{tmp_path}/typo.db")


def test_places_where_no_file_can_be(tmp_path):
    with pytest.raises(InvalidStore, match="there is no folder"):
        begin(open_store(f"sqlite:///{tmp_path}/missing/trial.db"))
    with pytest.raises(InvalidStore, match="is a folder"):
        open_store(f"sqlite:///{tmp_path}").head("trial")


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"equipoise\[postgres\]"):
        open_store("postgresql://host/db")


def test_an_sqlite_that_may_damage_files_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(connecting, "OLDEST_SQLITE", (99, 0, 0))
    with pytest.raises(InvalidStore, match=r"SQLite 3\..* 99\.0\.0 is needed .*pip install 'apsw>=99"):
        open_store(f"sqlite:///{tmp_path}/trial.db")


def test_memory_has_no_schema():
    with pytest.raises(InvalidStore, match="no schema"):
        opening.migrate("memory:")
