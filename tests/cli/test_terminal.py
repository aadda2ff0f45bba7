import os
import pty
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.cli.terminal import new_table, output, print_table, progress_output, visible

PLAN = ("plan", "--noise", "1,2", "--dim", "3", "--target", "0.1")
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x08\r\x7f\u202egnp.exe\u2066"


BIDI = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
KINDS = ("Cc", "Cs", "Zl", "Zp")


def obeyed(text):
    """Characters that a terminal obeys, ends of lines aside."""
    kinds = ((sign, unicodedata.category(sign), unicodedata.bidirectional(sign)) for sign in text)
    return [sign for sign, kind, way in kinds if sign not in "\n\t" and (kind in KINDS or way in BIDI)]


def plain_environment():
    return {name: os.environ[name] for name in os.environ if name not in ("NO_COLOR", "FORCE_COLOR")}


@given(st.text(st.characters()))
def test_nothing_is_left_that_a_terminal_obeys(text):
    assert obeyed(visible(text)) == []
    kept = [sign for sign in text if not obeyed(sign) and sign not in "\u061c\u200e\u200f"]
    assert "".join(kept) == text or visible(text) != text


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_what_can_be_read_stays_as_it_is(text):
    assert visible(text) == text


def test_tables_sentences_and_texts(capsys):
    from rich.text import Text

    table = new_table(EVIL, "value")
    table.add_row(EVIL, "1")
    table.add_row(Text(EVIL), "1")
    console = output()
    console.print(table)
    console.print(EVIL, style="bold")
    console.print(Text(EVIL))
    shown = capsys.readouterr().out
    assert obeyed(shown) == []
    assert shown.count("\\u001b[2J") == 5
    progress_output().print(EVIL)
    assert obeyed(capsys.readouterr().err) == []


def test_names_of_columns_files_and_policies(run, tmp_path):
    values = np.random.default_rng(1).normal(size=(60, 3))
    rows = "\n".join(",".join(f"{value:.3f}" for value in row) for row in values)
    table = tmp_path / "a\x1b[2J\u202eb.csv"
    table.write_text(f"x\x1b[31m,\u202ey,z\x9b5m\n{rows}\n", encoding="utf-8")
    targets = "\u202ey,z\x9b5m"
    options = ("--budget", "20", "--trials", "5", "--policy", "uniform", "--no-saved")
    result = run("replay", table, "--targets", targets, *options)
    assert result.exit_code == 0, result.output
    assert obeyed(result.output) == []
    assert "\\u202ey" in result.stdout
    for arguments in (
        ("replay", tmp_path / "no\x1b[2J.csv", "--targets", "y", "--budget", "20"),
        ("replay", table, "--targets", "\x1b[2J", "--budget", "20"),
        ("replay", table, "--targets", targets, "--budget", "20", "--policy", "\x1b[2J"),
        ("simulate", "--scenario", "\x1b[2J"),
        ("data", "inspect", "\x1b[2J"),
        ("\x1b[2J",),
        ("plan", "--\x1b[2J"),
        ("demo", "--budget", "\x1b[2J"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2
        assert obeyed(result.output) == [], result.output


def on_terminal(*arguments, **environment):
    """What the command writes to a terminal."""
    settings = {"TERM": "xterm-256color", **environment}
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "equipoise", *arguments],
        stdout=follower,
        stderr=follower,
        stdin=follower,
        env={**plain_environment(), **settings},
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            block = os.read(leader, 4096)
        except OSError:  # the other end is closed
            break
        if not block:
            break
        shown += block
    os.close(leader)
    return process.wait(), shown.decode()


def in_pipe(*arguments, **environment):
    command = [sys.executable, "-m", "equipoise", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env={**plain_environment(), **environment})
    return done.returncode, done.stdout + done.stderr


WRONG = ("plan", "--noise", "x", "--dim", "3", "--target", "0.1")


@pytest.mark.parametrize(
    ("place", "environment", "coloured"),
    [
        (on_terminal, {}, True),
        (on_terminal, {"NO_COLOR": "1"}, False),
        (on_terminal, {"NO_COLOR": ""}, True),
        (on_terminal, {"TERM": "dumb"}, False),
        (on_terminal, {"FORCE_COLOR": "0"}, False),
        (on_terminal, {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        (on_terminal, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (in_pipe, {}, False),
        (in_pipe, {"FORCE_COLOR": "1"}, True),
        (in_pipe, {"FORCE_COLOR": ""}, False),
        (in_pipe, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_colours(place, environment, coloured):
    for arguments, status in ((WRONG, 2), (PLAN, 0)):
        code, shown = place(*arguments, **environment)
        assert code == status, shown
        assert ("\x1b[" in shown) == coloured, shown


def test_a_pipe_with_colours_gets_no_progress_bar():
    options = ("--noise", "1,2", "--dim", "2", "--budget", "20", "--trials", "50", "--policy", "uniform")
    code, shown = in_pipe("simulate", *options, FORCE_COLOR="1")
    assert code == 0
    assert "\x1b[?25l" not in shown  # hides the cursor


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100])
def test_a_number_and_its_error_stay_on_one_line(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    long = "trace-ucb:width=theory:bound=3:delta=0.05"
    table = new_table("policy", "expected\nmax", "median\nmax", "mean", long)
    rows = [("uniform", "0.49 ± 0.11", "0.403 ± 0.074", "0.234 ± 0.043", "96.7 ± 3.3 %")]
    rows += [(long, "-0.309 ± 0.080", "0.41 ± 0.15", "0.1790 ± 0.0032", "95.19 ± 0.12 %")]
    for row in rows:
        table.add_row(*row)
    print_table(table, title="Errors")
    shown = capsys.readouterr().out
    for row in rows:
        for cell in row[1:]:
            assert shown.count(cell) == 1, shown
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown
    if width >= 100:
        assert shown.count("policy") == 1  # in one part
