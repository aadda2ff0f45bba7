"""``equipoise simulate`` where few features matter."""

from __future__ import annotations

import json

import pytest

SMALL = [
    "simulate",
    "--noise",
    "0.5,1,2",
    "--dim",
    "60",
    "--budget",
    "120",
    "--trials",
    "8",
    "--sparsity",
    "2",
]


def test_default_policies_are_those_that_can_run(run):
    result = run(*SMALL)
    assert result.exit_code == 0, result.output
    for name in ("uniform", "sparse-trace-ucb", "sparse-oracle", "exact"):
        assert name in result.output
    assert "Without" not in result.output
    assert "--sparsity 2" in result.output


def test_json_has_the_share_of_exact_recovery(run):
    line = [
        *SMALL,
        "--overlap",
        "0.5",
        "--policy",
        "sparse-trace-ucb:reuse=true",
        "--policy",
        "uniform",
        "--json",
    ]
    result = run(*line)
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["scenario"]["truth"] == {"kind": "sparse", "features": 2, "overlap": 0.5}
    assert 0.0 <= record["policies"]["sparse-trace-ucb:reuse=true"]["recovery"]["value"] <= 1.0
    assert "recovery" not in record["policies"]["uniform"]


def test_options_take_precedence_over_the_file(run, tmp_path):
    file = str(tmp_path / "mine.toml")
    assert run(*SMALL, "--overlap", "0.5", "--save-scenario", file).exit_code == 0
    result = run("simulate", "--scenario", file, "--sparsity", "3", "--trials", "2", "--json")
    record = json.loads(result.stdout)
    assert record["scenario"]["truth"] == {"kind": "sparse", "features": 3, "overlap": 0.5}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["--sparsity", "61"], "61 features that matter are more than the 60"),
        (["--sparsity", "-1"], "--sparsity"),
        (["--overlap", "1.5"], "--overlap"),
        (["--policy", "sparse-trace-ucb:screen=41"], "41 units an arm to choose features"),
        (["--policy", "sparse-trace-ucb:sparsity=70"], "more than the 60 features"),
        (["--policy", "sparse-trace-ucb:look=maybe"], "neither true nor false"),
    ],
)
def test_refuses(fail, changed, message):
    assert message in fail(*SMALL, *changed)[0]


def test_how_many_features_must_be_said(fail):
    _, hint = fail("simulate", "--noise", "1,1", "--dim", 5, "--budget", 30, "--overlap", 0.5)
    assert hint == "type --sparsity S as well"


def test_the_report_names_the_recovery(run, tmp_path):
    result = run(*SMALL, "--output", str(tmp_path))
    assert result.exit_code == 0, result.output
    page = (tmp_path / "report.html").read_text()
    assert "chose exactly the features that matter" in page
