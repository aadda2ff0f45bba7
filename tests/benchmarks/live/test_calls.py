"""The benchmark of single calls runs; what it measures is for a quiet machine."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "live" / "calls.py"


@pytest.mark.slow
def test_it_runs(tmp_path):
    written = tmp_path / "calls.md"
    folders = ["--folder", tmp_path, "--memory-folder", tmp_path]
    done = subprocess.run(
        [sys.executable, BENCHMARK, "--rounds", "1", *folders, "--output", written],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    lines = written.read_text().splitlines()
    assert [line.count("|") for line in lines[:6]] == [6] * 6
    assert "Printed by" in lines[-1]
