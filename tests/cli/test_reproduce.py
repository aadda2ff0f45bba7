import json

import pytest

from equipoise.studies.reproduce import reproduce
from equipoise.studies.sparse import studies
from equipoise.studies.sparse.support import SupportStudy

BASE = ("reproduce", "d", "--trials-scale", "1e-4", "--width-trials", "20000", "--seed", "3")


@pytest.mark.slow
def test_json_is_the_library_s_record(run, tmp_path):
    result = run(*BASE, "--json", "--workers", "1")
    assert result.exit_code == 0
    found = reproduce(["d"], output=tmp_path / "other", trials_scale=1e-4, width_trials=20_000, seed=3)
    assert json.loads(result.stdout) == json.loads(json.dumps({"command": "reproduce", **found.record()}))
    assert (tmp_path / "equipoise-reproduce" / "checkpoint").is_dir()


@pytest.mark.slow
def test_claims_widths_settings_and_figures_are_printed(run):
    text = " ".join(run(*BASE).stdout.split())
    for words in ("d1 Unequal noise: as n grows", "claimed at most 1.1", "width=0.25", "width=theory"):
        assert words in text
    assert "TOO FEW TRIALS TO SAY" in text
    assert "HOLDS" not in text
    assert "by width, 2 trials a point" in text
    assert "seed 3 · trials (d) 3" in text
    assert "Δ = σ̄²/√(k−d)" in text
    assert "figure1.png" in text
    assert "rate.png" not in text


def test_without_width_trials_there_is_no_comparison(run):
    text = run("reproduce", "d", "--trials-scale", "1e-4", "--width-trials", "0").stdout
    assert "by width" not in text


@pytest.mark.slow
def test_the_table_is_written(run, tmp_path):
    run(*BASE, "--claims-table", "claims.md")
    assert (tmp_path / "claims.md").read_text().startswith("| | the paper |")


def test_sparse_arms_have_their_own_heading(run, tmp_path, monkeypatch):
    monkeypatch.setitem(studies.STUDIES, "support", SupportStudy(dims=(20, 40), pulls=(4, 12), features=2))
    result = run("reproduce", "support", "--trials-scale", "0.02", "--claims-table", "sparse.md")
    text = " ".join(result.stdout.split())
    for words in ("What is asked of Sparse-Trace-UCB", "the share crosses ½ at θ", "sparse-support.png"):
        assert words in text
    assert "What the paper says" not in text
    assert (tmp_path / "sparse.md").read_text().startswith("| | asked of Sparse-Trace-UCB |")
    page = (tmp_path / "equipoise-reproduce" / "report.html").read_text()
    assert "How often the features are found" in page
    assert "Share of 4 trials in which the support was found exactly" in page


def test_help_says_what_runs_only_when_named(run):
    text = " ".join(run("reproduce", "--help").stdout.split())
    assert "drawn only if named: support" in text


def test_ratings_that_are_not_there(fail, tmp_path):
    message, hint = fail("reproduce", "jester", "--data", tmp_path)
    assert "panel jester needs the ratings" in message
    assert "equipoise data fetch jester-1" in hint


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("reproduce", "rat"), "no panel 'rat'", "did you mean 'rate'?"),
        (("reproduce", "suport"), "no panel 'suport'", "did you mean 'support'?"),
        (("reproduce", "g"), "no panel 'g'", "panels: a, b, c, d, e, f, jester, movielens, rate"),
        (("reproduce", "a", "--trials-scale", "0"), "--trials-scale 0 is not a positive number", "0.1"),
        (("reproduce", "a", "--width-trials", "-1"), "--width-trials -1 is not", "2000"),
        (("reproduce", "a", "--workers", "0"), "--workers 0 is not", "--workers 2"),
        (
            ("reproduce", "a", "--cluster", "tcp://x:1", "--workers", "2"),
            "--workers is for threads",
            "one out",
        ),
        (("reproduce", "a", "--claims-table", "none/claims.md"), "cannot write to none/claims.md", "FILE"),
    ],
)
def test_wrong_values_are_named_with_a_hint(fail, tmp_path, arguments, message, hint):
    found, advice = fail(*arguments)
    assert message in found
    assert hint in advice
    assert not (tmp_path / "equipoise-reproduce" / "checkpoint").exists()


def test_an_output_that_is_a_file_is_refused(fail, tmp_path):
    (tmp_path / "taken").write_text("")
    message, hint = fail("reproduce", "a", "--output", "taken")
    assert "cannot write to taken" in message
    assert "--output DIR" in hint
