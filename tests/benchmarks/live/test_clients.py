"""The clients of the benchmark count what was done, and nothing else."""

import importlib.util
from pathlib import Path

import pytest

CLIENTS = Path(__file__).parents[3] / "benchmarks" / "live" / "clients.py"


@pytest.fixture(scope="module")
def clients():
    found = importlib.util.spec_from_file_location("clients_of_the_benchmark", CLIENTS)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_threads_whose_calls_fail_are_no_rate(clients):
    with clients.create("memory:", budget=12) as live:
        assert clients.in_threads(live, 3, 2) > 0.0
        assert live.asked == 6
        with pytest.raises(SystemExit, match=r"[23] of 3 clients failed: BudgetExhausted"):
            clients.in_threads(live, 3, 4)
