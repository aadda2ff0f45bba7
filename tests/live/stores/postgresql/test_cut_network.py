"""A network that is cut between a program and a PostgreSQL server, in the moment of a commit."""

import pytest
from storing.proxy import CuttingProxy
from storing.rows import add, begin, payloads

from equipoise.errors import CommitUnknown, ExperimentNotFound, StoreUnavailable
from equipoise.live.experiment import opening
from equipoise.live.stores.chain import empty_head
from equipoise.live.stores.contract import rows_after
from equipoise.live.stores.opening import open_store


@pytest.fixture
def proxy(postgres_server):
    proxy = CuttingProxy(postgres_server.folder)
    yield proxy
    proxy.close()


@pytest.fixture
def far(store, url, proxy):
    """The same database, over a network that can be cut."""
    with open_store(f"{url.partition('?')[0]}?host={proxy.folder}", wait=2) as far:
        far.head("trial")
        yield far


def add_and(store, payload, act):
    """Something happens between the append and the commit."""
    with store.writing("trial") as writer:
        writer.append(rows_after(writer.head, [payload], writer.now))
        act()


def test_a_commit_whose_answer_is_lost_is_found(far, proxy, store):
    add_and(far, b"arrived", lambda: setattr(proxy, "mode", "cut_after"))
    assert proxy.mode == "pass"  # it was cut
    assert payloads(store) == [b"created", b"arrived"]


def test_a_commit_that_did_not_arrive_is_known_not_to_be_stored(far, proxy, store):
    with pytest.raises(StoreUnavailable, match="nothing was stored") as caught:
        add_and(far, b"lost", lambda: setattr(proxy, "mode", "cut_before"))
    assert not isinstance(caught.value, CommitUnknown)
    assert payloads(store) == [b"created"]
    add(far, b"again")


@pytest.mark.parametrize(("mode", "stored"), [("cut_after", 2), ("cut_before", 1)])
def test_where_nobody_can_be_asked_it_is_said_that_nobody_knows(far, proxy, store, mode, stored):
    def cut():
        proxy.mode, proxy.refusing = mode, True

    with pytest.raises(CommitUnknown, match="may be stored, or not"):
        add_and(far, b"perhaps", cut)
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        far.head("trial")
    assert len(payloads(store)) == stored
    proxy.refusing = False
    assert far.head("trial").sequence == stored


def test_a_creation_that_is_cut_off_leaves_all_or_nothing(far, proxy, store):
    def cut(now):
        proxy.mode = "cut_before"
        return rows_after(empty_head("other", "live"), [b"x"], now)

    with pytest.raises(StoreUnavailable):
        far.create("other", cut, "live")
    with pytest.raises(ExperimentNotFound):
        store.head("other")
    begin(far, "other")


def test_a_creation_that_arrives_late_is_found(far, proxy, store):
    """Its row is not there yet, so that nobody can wait for it; the second attempt does."""

    def fill(writer):
        if writer.head.name not in tried:
            proxy.mode = "cut_and_late"
        tried.append(writer.head.name)
        writer.append(rows_after(writer.head, [b"x"], writer.now))

    tried = []
    opening.begin(far, "other", fill, "live")
    assert tried == ["other", "other"]
    assert store.head("other").sequence == 1
