"""What the tests under load share."""

import tempfile

import pytest
from postgres import Server, skip_without_server
from torture.harness import a_nursery

from equipoise.live.stores.opening import migrate


@pytest.fixture(scope="package")
def nursery():
    with a_nursery() as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, file_url):
    return file_url if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture(scope="package")
def own_server():
    """A server that may be killed: nobody else uses it."""
    skip_without_server()
    server = Server(tempfile.mkdtemp())
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture
def own_url(own_server):
    url = own_server.url(own_server.new_database())
    migrate(url)
    return url
