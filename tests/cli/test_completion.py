"""What a shell offers after Tab, as the scripts that click writes ask for it."""

import os
import subprocess
import sys
import textwrap

import pytest

import equipoise as eq


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


def test_experiments_and_their_latest_units(tmp_path):
    problem = eq.Problem(["a", "b"], 1, budget=9)
    store = f"sqlite:///{tmp_path}/trials.db"
    for name in ("trial-1", "trial-2", "lab/other"):
        with eq.create_experiment(store=store, name=name, problem=problem, policy="uniform") as experiment:
            experiment.ask_many([[1.0], [2.0]], units=["P-1", "P-2"])
            experiment.tell("P-1", 1.0)
            experiment.ask([1.0], unit="Q-3")
    assert offered(f"equipoise status --store {store} trial-", tmp_path) == ["trial-1", "trial-2"]
    assert offered(f"equipoise tell --store {store} trial-1 P-", tmp_path) == ["P-2", "P-1"]
    assert offered("equipoise status trial-", tmp_path) == []  # no store here, and none is made
    assert [path.name for path in tmp_path.glob("equipoise.db*")] == []
