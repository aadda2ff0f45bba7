"""A small trial on a real SQLite file, through the real commands."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from equipoise.cli import main

FIELDS = """
formula = "1 + age + sex"
[fields.age]
kind = "number"
low = 18
high = 90
center = 50
scale = 10
[fields.sex]
kind = "category"
levels = ["f", "m"]
"""


@pytest.fixture(autouse=True)
def surroundings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("EQUIPOISE_STORE", "EQUIPOISE_ACTOR", "COLUMNS", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def live():
    """Run a command that must go through; what it printed, or the object of --json."""

    def run(*arguments, stdin=None):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout) if "--json" in arguments else result.stdout

    return run


@pytest.fixture
def refused():
    """Run a command that must be refused with a status; message and hint."""

    def run(status, *arguments, stdin=None):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)
        assert result.exit_code == status, result.output
        assert result.stdout == ""
        assert isinstance(result.exception, SystemExit)  # no traceback
        message, *hints = result.stderr.splitlines()
        return message.removeprefix("Error: "), "\n".join(hints).removeprefix("Hint: ")

    return run


@pytest.fixture
def trial(live, tmp_path):
    """The name of an experiment with two fields and two arms."""
    (tmp_path / "fields.toml").write_text(FIELDS)
    live(
        *("new", "trial", "--arms", "placebo,drug", "--features", "fields.toml", "--budget", "40"),
        *("--seed", "3", "--deadline", "30d"),
    )
    return "trial"


@pytest.fixture
def running(live, trial, tmp_path):
    """The same with twelve units, ten of which have outcomes."""
    rows = [f"P-{i:02},{20 + 5 * i},{'fm'[i % 3 % 2]}" for i in range(12)]
    (tmp_path / "units.csv").write_text("\n".join(["unit,age,sex", *rows]))
    live("ask", trial, "--file", "units.csv")
    outcomes = [f"P-{i:02},{0.3 * i + (i * 7 % 5) / 5}" for i in range(10)]
    (tmp_path / "outcomes.csv").write_text("\n".join(["unit,outcome", *outcomes]))
    live("tell", trial, "--file", "outcomes.csv")
    return trial
