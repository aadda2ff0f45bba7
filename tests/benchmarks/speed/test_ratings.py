"""Large files of ratings stay within memory: the benchmark, at a thirtieth of its size."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="peak memory is read the way of Unix")


def load_benchmark():
    path = Path(__file__).parents[3] / "benchmarks" / "speed" / "ratings.py"
    spec = importlib.util.spec_from_file_location("ratings_benchmark", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_million_ratings(tmp_path):
    benchmark = load_benchmark()
    path = tmp_path / "ratings.csv"
    assert 950_000 < benchmark.write_ratings(path, 1_100_000) < 1_100_000
    seconds, peak, imported, users = benchmark.measure(path, 10, "popular")
    assert users > 100
    # Eight bytes a rating and the piece that is being read; a frame of Python objects would need 200 MB.
    assert peak - imported < 120
    assert seconds < 60
