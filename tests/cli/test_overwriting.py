"""Files of an earlier run are not replaced without being asked, by any command that writes some."""

import os
import sys

import click
import pytest

from equipoise.cli.overwriting import check_earlier
from equipoise.errors import OutputExists

SCENARIO = ("--noise", "1,2", "--dim", "1", "--budget", "9")
SIMULATE = ("simulate", *SCENARIO, "--policy", "uniform", "--trials", "2")


@pytest.mark.parametrize(
    ("command", "files"),
    [
        (SIMULATE, ["report.html", "losses.parquet", "scenario.toml", "result.npz"]),
        (("replay", "table.csv", "--targets", "b,c", "--budget", "9"), ["report.html", "result-9.npz"]),
        (("reproduce", "a"), ["report.html", "reproduce.json", "figure1.svg"]),
        (("leaderboard",), ["leaderboard.md", "leaderboard.png"]),
        (("leaderboard", "--bar"), ["bar.json"]),
        (("demo",), ["demo.png", "demo.db", "report.html"]),
    ],
)
def test_every_command_refuses_before_any_work(command, files, fail, tmp_path):
    (tmp_path / "table.csv").write_text("a,b,c\n" + "\n".join(f"{i},{i * i},{-i}" for i in range(30)))
    (tmp_path / "out").mkdir()
    for name in files:
        (tmp_path / "out" / name).write_text("earlier")
        message, hint = fail(*command, "--output", "out")
        assert f"out/{name} is there from an earlier run" in message
        assert "--overwrite" in hint
        assert (tmp_path / "out" / name).read_text() == "earlier"
        (tmp_path / "out" / name).unlink()


def test_overwrite_replaces_and_the_line_to_run_again_does(run, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "report.html").write_text("earlier")
    done = run(*SIMULATE, "--output", "out", "--overwrite")
    assert done.exit_code == 0, done.output
    assert "<h1>" in (tmp_path / "out" / "report.html").read_text()
    fresh = run(*SIMULATE, "--output", "new")
    assert fresh.stdout.splitlines()[-1].endswith("--overwrite")
    old, new = ((tmp_path / name / "scenario.toml").read_text() for name in ("out", "new"))
    assert old == new


@pytest.mark.parametrize(("answer", "goes_on"), [("y", True), ("n", False), ("", False)])
def test_at_a_terminal_it_asks(answer, goes_on, tmp_path, monkeypatch):
    for name in ("report.html", "losses.csv"):
        (tmp_path / name).write_text("earlier")
    keyboard, terminal = os.openpty()
    os.write(keyboard, f"{answer}\n".encode())
    with os.fdopen(terminal) as typed, os.fdopen(os.dup(terminal), "w") as seen:
        monkeypatch.setattr(sys, "stdin", typed)
        monkeypatch.setattr(sys, "stderr", seen)
        if goes_on:
            check_earlier(tmp_path, ["report.html", "losses.*"], overwrite=False)
        else:
            with pytest.raises(click.Abort):
                check_earlier(tmp_path, ["report.html", "losses.*"], overwrite=False)
        seen.flush()
        asked = ""
        while "[y/N]" not in asked:
            asked += os.read(keyboard, 10_000).decode()
    os.close(keyboard)
    assert "losses.csv and 1 more are there from an earlier run. Replace them? [y/N]" in asked


def test_nothing_there_is_nothing_to_ask(tmp_path):
    check_earlier(tmp_path / "new", ["*"], overwrite=False)
    (tmp_path / "report.html").write_text("earlier")
    check_earlier(tmp_path, ["losses.*"], overwrite=False)
    check_earlier(tmp_path, ["report.html"], overwrite=True)
    with pytest.raises(OutputExists, match=r"report\.html is there"):
        check_earlier(tmp_path, ["report.html"], overwrite=False)
