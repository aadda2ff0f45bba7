"""A number that is taken is an error: nothing is skipped, and nothing acknowledged."""

import pytest
from storing.databases import Postgres, Sqlite
from storing.rows import add, begin

from equipoise.errors import StoreDamaged
from equipoise.live.stores.opening import open_store


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    if request.param == "sqlite":
        made = Sqlite(tmp_path)
    else:
        made = Postgres(request.getfixturevalue("empty_postgres"))
    made.make()
    return made


@pytest.mark.parametrize("count", [1, 3])
def test_a_head_that_was_set_back_alone(database, count):
    """Its rows are still there: whoever goes on from the head meets them."""
    with open_store(database.url) as store:
        begin(store)
        add(store, b"one")
        add(store, b"two", b"three")
        before = list(store.read("trial"))
        database.run(
            "UPDATE equipoise_experiments SET sequence = 2,"
            " hash = (SELECT hash FROM equipoise_events WHERE sequence = 2)"
        )
        with pytest.raises(StoreDamaged):
            add(store, *[b"other"] * count)
        assert store.head("trial").sequence == 2
        database.run(
            "UPDATE equipoise_experiments SET sequence = 4,"
            " hash = (SELECT hash FROM equipoise_events WHERE sequence = 4)"
        )
        assert list(store.read("trial")) == before
        assert add(store, b"four").sequence == 5
