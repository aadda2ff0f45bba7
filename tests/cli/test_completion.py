"""What a shell offers after Tab, as the scripts that click writes ask for it."""

import os
import subprocess
import sys
import textwrap

import pytest


def offered(words, folder):
    """Completions of the last word."""
    program = "from equipoise.cli import main; main(prog_name='equipoise')"
    asked = {
        "_EQUIPOISE_COMPLETE": "zsh_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **asked},
        cwd=folder,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()[1::3]


def test_policies_of_a_file_are_offered(tmp_path):
    (tmp_path / "mine.py").write_text(
        textwrap.dedent("""
        import equipoise as eq

        @eq.register("trace-mine")
        def mine(arm, trial, settings):
            return arm.trace
        """)
    )
    assert offered("equipoise simulate --import mine.py --noise 1;2 --policy trace-", tmp_path) == [
        "trace-gain",
        "trace-mine",
        "trace-ucb",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("equipoise rep", ["replay", "reproduce", "report"]),
        ("equipoise reproduce sparse-", ["sparse-budget", "sparse-screen"]),
        ("equipoise plan --policy trace-ucb:w", ["trace-ucb:width="]),
    ],
)
def test_names(words, expected, tmp_path):
    assert offered(words, tmp_path) == expected
