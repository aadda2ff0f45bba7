"""Two experiments on one file, one of which leaves to the other what it can."""

import pytest
from storing.crowds import crowd

import equipoise as eq
from equipoise.live.experiment.requests import errands as errands_module


@pytest.fixture
def leader(file_url, problem):
    with eq.create_experiment(store=file_url, name="trial", problem=problem, actor="leader") as live:
        live.ask([1.0, 0.0], unit="L-0")
        yield live


@pytest.fixture
def follower(file_url, leader):
    with eq.load_experiment(store=file_url, name="trial", actor="follower") as live:
        crowd(live)
        yield live


@pytest.fixture
def patient(monkeypatch):
    """Nobody tries for the lock in the time of a test."""
    monkeypatch.setattr(errands_module, "PATIENCE", 30.0)
    monkeypatch.setattr(errands_module, "_LONGEST", 30.0)
