"""A database with an experiment in it."""

import pytest
from storing.rows import begin

from equipoise.live.stores.opening import migrate, open_store


@pytest.fixture
def url(empty_postgres):
    migrate(empty_postgres)
    return empty_postgres


@pytest.fixture
def store(url):
    with open_store(url, wait=20) as store:
        begin(store)
        yield store
