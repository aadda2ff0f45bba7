"""A file with an experiment in it."""

import pytest
from storing.rows import begin

from equipoise.live.stores.opening import open_store


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/trial.db"


@pytest.fixture
def store(url):
    with open_store(url, wait=20) as store:
        begin(store)
        yield store
