"""``--import``: policies of one's own on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from equipoise.cli import main
from equipoise.core.policies.base import plugins, policy

MINE = """
import equipoise as eq

@eq.register("mine-import")
def least(arm, trial, settings):
    \"\"\"The fewest units.\"\"\"
    return -float(arm.count)
"""
WORLD = ("--noise", "1,2", "--dim", "2", "--budget", "20", "--trials", "3")


@pytest.fixture(autouse=True)
def mine(tmp_path, monkeypatch):
    (tmp_path / "my_policies.py").write_text(MINE)
    monkeypatch.setattr(plugins, "_SOURCES", dict(plugins._SOURCES))
    known = dict(policy.known_policies())
    yield
    policy.restore_policies(known)


def test_simulate(run):
    line = (
        "simulate",
        *WORLD,
        "--import",
        "my_policies.py",
        "--policy",
        "mine-import",
        "--policy",
        "uniform",
    )
    found = json.loads(run(*line, "--json").stdout)["policies"]
    assert found["mine-import"]["expected_max"] == found["uniform"]["expected_max"]
    again = run(*line).stdout
    assert "--import my_policies.py" in again.replace("\n", " ")


def test_every_command_with_policies_takes_it(run, tmp_path):
    (tmp_path / "table.csv").write_text("a,b,c\n" + "\n".join(f"{k},{k % 7},{k % 5}" for k in range(60)))
    own = ("--import", "my_policies.py", "--policy", "mine-import")
    table = ("replay", "table.csv", "--targets", "b,c", "--budget", "20", "--trials", "2")
    result = run(*table, *own)
    assert "mine-import" in result.stdout, result.output
    result = run("demo", "--budget", "100", *own)
    assert "equipoise demo --import my_policies.py --policy mine-import" in result.stdout.replace("\n", " ")
    result = run("plan", "--noise", "1,2", "--dim", "2", "--target", "0.5", "--trials", "20", *own)
    assert "mine-import" in result.stdout, result.output


def test_commands_that_take_policies_or_open_an_experiment_take_imports():
    for name in main.list_commands(None):
        command = main.get_command(None, name)
        options = {text for option in command.params for text in option.opts}
        # The policy of an experiment may be one's own: whoever opens one must be able to have it at hand.
        opening = "--store" in options and name not in ("list", "backup", "migrate")
        assert ("--import" in options) == ("--policy" in options or name == "policies" or opening), name


def test_the_list_says_where_policies_come_from(run):
    assert "my_policies" not in run("policies").stdout
    lines = run("policies", "--import", "my_policies.py").stdout.splitlines()
    assert any(line.split() == ["mine-import", "The", "fewest", "units."] for line in lines)
    assert "From my_policies.py: mine-import" in lines


def test_errors_name_the_file_and_the_line(fail, tmp_path):
    (tmp_path / "wrong.py").write_text("import equipoise\n\nx = unknown\n")
    line = ("simulate", *WORLD, "--policy", "uniform", "--import")
    message, hint = fail(*line, "wrong.py")
    assert message == f"{tmp_path / 'wrong.py'}, line 3: NameError: name 'unknown' is not defined"
    assert hint == "correct that line, or what it calls"
    message, hint = fail(*line, "my_policies")
    assert (message, hint) == ("there is no module 'my_policies'", "did you mean my_policies.py?")
    message, _ = fail("simulate", *WORLD, "--policy", "mine-imports", "--import", "my_policies.py")
    assert message == "no policy 'mine-imports'"
    _, hint = fail("simulate", *WORLD, "--policy", "qqqqq")
    assert hint.endswith("one of your own: --import FILE.py, or eq.import_policies")


PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "equipoise-tiny"
version = "0.3"

[project.entry-points."equipoise.policies"]
tiny = "equipoise_tiny"
"""


@pytest.fixture
def installed(tmp_path):
    """A folder into which pip has installed a package that offers a policy."""
    pytest.importorskip("hatchling", reason="the tools of make package are not installed")
    project, target = tmp_path / "project", tmp_path / "target"
    project.mkdir()
    (project / "pyproject.toml").write_text(PROJECT)
    (project / "equipoise_tiny.py").write_text(MINE.replace("mine-import", "tiny-least"))
    options = ["--no-deps", "--no-index", "--no-build-isolation", "--quiet", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(project)], check=True)
    return target


def test_an_installed_package(installed, monkeypatch, tmp_path):
    assert tomllib.loads(PROJECT)["project"]["name"] == "equipoise-tiny"
    path = ":".join([str(installed), *filter(None, sys.path)])
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setenv("COLUMNS", "120")

    def equipoise(*arguments):
        command = [sys.executable, "-m", "equipoise", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    assert "From equipoise-tiny 0.3: tiny-least\n" in equipoise("policies").stdout
    result = equipoise("simulate", *WORLD, "--policy", "tiny-least", "--json")
    assert json.loads(result.stdout)["policies"].keys() == {"tiny-least"}
    Path(installed / "equipoise_tiny.py").write_text("1 / 0\n")
    result = equipoise("policies")
    assert result.stderr.startswith("Warning: equipoise-tiny 0.3 offers policies (tiny = equipoise_tiny)")
    assert "line 1: ZeroDivisionError" in result.stderr
    assert "trace-ucb" in result.stdout
