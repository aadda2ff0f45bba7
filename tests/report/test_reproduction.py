"""The report of a reproduction."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("matplotlib")


def test_report_of_a_small_reproduction(tmp_path):
    command = [sys.executable, "-m", "equipoise", "reproduce", "b", "--trials-scale", "0.002"]
    command += ["--width-trials", "0", "--seed", "3", "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    page = (tmp_path / "report.html").read_text()
    assert "Report: " in done.stdout
    assert page.count("<svg") == 1
    assert "prefers-color-scheme: dark" in page
    assert page.count("<style>") == 1  # the drawing brings none of its own
    assert "claim" in page.partition('class="headline"')[2][:60]
    assert "crossover" in page
    assert "equipoise reproduce b --seed 3 --width-trials 0 --trials-scale 0.002" in page
    assert 'src="http' not in page
    for verdict in ("holds", "does not hold"):
        assert (verdict in page) == (verdict in done.stdout.lower())
