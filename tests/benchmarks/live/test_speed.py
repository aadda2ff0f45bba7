"""The benchmark of live experiments runs, at small sizes; what it measures is for a quiet machine."""

import subprocess
import sys
from pathlib import Path

import pytest
from postgres import skip_without_server

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "live" / "speed.py"


@pytest.mark.slow
def test_it_runs(tmp_path):
    pytest.importorskip("optuna", reason="what it is compared with")
    skip_without_server()
    written = tmp_path / "speed.md"
    done = subprocess.run(
        [sys.executable, BENCHMARK, "--quick", "--folder", tmp_path, "--output", written],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    text = written.read_text()
    assert text.count("\n| --- |") == 3
    for part in ("Optuna, ask and tell", "bare commits", "A log of", "PostgreSQL 1", "optuna "):
        assert part in text
