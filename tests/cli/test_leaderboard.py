import json

import pytest

from equipoise.lab.results.words import loss_words
from equipoise.studies.leaderboard import check_bar, run_leaderboard, write_bar

BASE = ("leaderboard", "--only", "equal-d5-n350", "--only", "lost", "--trials", "5", "--seed", "3")
POLICIES = ("--policy", "trace-gain", "--policy", "uniform")
NAMES = ["equal-d5-n350", "lost"]


def test_json_is_the_record_and_the_files_are_there(run, tmp_path):
    result = run(*BASE, *POLICIES, "--json")
    assert result.exit_code == 0, result.output
    found = run_leaderboard(NAMES, policies=["trace-gain", "uniform"], trials=5, seed=3)
    assert json.loads(result.stdout) == json.loads(json.dumps({"command": "leaderboard", **found.record()}))
    folder = tmp_path / "equipoise-leaderboard"
    assert {path.name for path in folder.iterdir()} == {
        "checkpoint",
        "leaderboard.json",
        "leaderboard.md",
        "leaderboard.png",
        "leaderboard.svg",
    }


def test_ranking_settings_and_files_are_printed(run):
    words = " ".join(run(*BASE, *POLICIES, "--output", "here").stdout.split())
    for expected in (
        "2 scenarios, 4 contests",
        "1 trace-gain 0.",
        "± ",
        "seed 3 · 5 trials",
        "leaderboard.png",
    ):
        assert expected in words


def test_the_bar_is_printed_and_written(run, tmp_path):
    result = run(*BASE, "--bar", "--output", "here")
    assert result.exit_code == 0, result.output
    board = run_leaderboard(NAMES, policies=["oracle", "trace-ucb", "trace-gain"], trials=5, seed=3)
    lines = [line.split() for line in result.stdout.splitlines()]
    for name, limits in check_bar(board).items():
        for limit in limits:
            start = [name, *loss_words(limit.loss).split(), limit.reference, f"{limit.ratio:.3f}"]
            assert any(line[: len(start)] == start for line in lines)
    write_bar(board, tmp_path / "there")
    for name in ("bar.md", "bar.json"):
        assert (tmp_path / "here" / name).read_text() == (tmp_path / "there" / name).read_text()
    printed = json.loads(run(*BASE, "--bar", "--json").stdout)
    met = [limit.met for limits in check_bar(board).values() for limit in limits]
    assert [limit["met"] for found in printed["scenarios"].values() for limit in found["limits"]] == met
    assert printed["met"] is None  # five trials judge nothing
    assert "so few trials cannot say" in result.stdout
    assert not {"yes", "NO"} & {line[-1] for line in lines if line}


def test_ctrl_c_says_how_to_go_on(run, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("equipoise.studies.leaderboard.run_leaderboard", interrupted)
    result = run(*BASE)
    assert result.exit_code == 130
    assert "kept in equipoise-leaderboard/checkpoint" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("--only", "lots"), "no scenario 'lots'", "did you mean 'lost'?"),
        (("--policy", "trace-usb"), "no policy 'trace-usb'", "trace-ucb"),
        (("--policy", "oracle"), "nothing to compare with the oracle", "name a policy besides the oracle"),
        (("--trials", "1"), "--trials 1 is not", "--trials 2000"),
        (("--seed", "-1"), "--seed -1 is not", "--seed 1"),
        (("--bar", "--policy", "uniform"), "no other policies", "leave --policy out"),
        (("--cluster", "tcp://x:1", "--workers", "2"), "--workers is for threads", "one out"),
    ],
)
def test_wrong_values_are_named_with_a_hint(fail, arguments, message, hint):
    found, advice = fail("leaderboard", *arguments)
    assert message in found
    assert hint in advice


def test_an_output_that_is_a_file_is_refused(fail, tmp_path):
    (tmp_path / "taken").write_text("")
    message, hint = fail("leaderboard", "--output", "taken")
    assert "cannot write to taken" in message
    assert "--output DIR" in hint
