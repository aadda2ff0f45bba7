"""What tests of live experiments share: a store of every kind, and a small problem."""

import secrets

import numpy as np
import pytest

import equipoise as eq


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request, tmp_path):
    """An open store; those of a server are shared, so names are to be new."""
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres_url")
    else:
        url = {"memory": "memory:", "sqlite": f"sqlite:///{tmp_path / 'trial.db'}"}[request.param]
    with eq.open_store(url) as opened:
        yield opened


@pytest.fixture
def memory():
    with eq.open_store("memory:") as opened:
        yield opened


@pytest.fixture
def file_url(tmp_path):
    return f"sqlite:///{tmp_path / 'trial.db'}"


@pytest.fixture
def name():
    return f"trial-{secrets.token_hex(6)}"


@pytest.fixture
def problem():
    return eq.Problem(arms=["a", "b", "c"], dim=2, budget=60, moment=np.eye(2))
