"""The commands on a server: a whole course, and no password in anything that is shown."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from equipoise.cli import main

NEW = ("--arms", "a,b", "--dim", "1", "--budget", "9")


@pytest.fixture
def shown(empty_postgres):
    """Run commands on a server whose URL has a password; status and all that each printed."""
    url = empty_postgres.replace("postgres@", "postgres:open-sesame@")
    assert url != empty_postgres

    def run(*arguments):
        result = CliRunner().invoke(main, [*arguments, "--store", url])
        return result.exit_code, result.stdout + result.stderr

    return run


def test_no_password_is_shown(shown, live):
    live("new", "trial", *NEW)
    live("export", "trial", "trial.jsonl")
    live("new", "second", *NEW)
    live("backup", "copy.db")
    lines = [
        (2, ("new", "first", *NEW)),  # no tables yet
        (0, ("migrate",)),
        (0, ("migrate", "--json")),
        (0, ("new", "first", *NEW)),
        (0, ("new", "other", *NEW, "--json")),
        (2, ("new", "first", *NEW)),
        (0, ("import", "trial.jsonl")),
        (2, ("import", "trial.jsonl")),
        (0, ("restore", "copy.db", "--experiment", "second", "--reason", "r")),
        (2, ("restore", "copy.db", "--reason", "r")),
        (0, ("restore", "--in-place", "--experiment", "second", "--reason", "r", "--json")),
        (0, ("list",)),
        (0, ("status", "first")),
        (0, ("verify", "first")),
        (0, ("report", "first")),
        (2, ("backup", "other.db")),
        (2, ("status", "frist")),
    ]
    for status, line in lines:
        found, text = shown(*line)
        assert found == status, (line, text)
        assert "open-sesame" not in text, line
