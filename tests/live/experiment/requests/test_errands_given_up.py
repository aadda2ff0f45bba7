"""Requests that processes leave to each other: who no longer waits, is interrupted, closed, forked."""

import time

import pytest
from storing.crowds import Called, Interrupted, crowd, kinds, needs_boards, posted
from storing.processes import forked

import equipoise as eq
from equipoise.errors import CommitUnknown, StoreBusy, StoreUnavailable
from equipoise.live.experiment.requests import errands as errands_module
from equipoise.live.stores.board import SLOTS

pytestmark = needs_boards


def test_an_interrupt_while_it_is_waited_for(leader, follower, monkeypatch):
    """It is done, as it was under way; nobody does it again, and the next call is the next."""
    slot = follower._ledger._errands._slot

    def interrupt(*_):
        leader.ask([1.0, 3.0])  # takes what was posted, and answers
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(type(slot), "wait", interrupt)
        with pytest.raises(Interrupted):
            follower.ask([1.0, 2.0])
    assert kinds(leader)["asked"] == 3
    assert follower.ask([1.0, -2.0]).id == 4
    assert follower.ask([1.0, -2.0]).id == 5
    assert kinds(leader)["asked"] == 5
    assert leader.verify().decided == 5


def test_an_interrupt_does_no_harm_to_other_threads(leader, follower, monkeypatch):
    """One thread works for both, and is interrupted after others have done it: the other is answered once."""
    errands = follower._ledger._errands
    errands.is_crowded = False
    slot = errands._slot
    other = []

    def interrupt(*_):
        leader.ask([1.0, 3.0])
        raise Interrupted

    def first():
        with pytest.raises(Interrupted):
            follower.ask([1.0, 2.0])

    with monkeypatch.context() as patch:
        with follower._lock:
            waiting = Called(first)
            while not follower._ledger.combiner._waiting:
                time.sleep(0.001)
            other.append(Called(lambda: follower.ask([1.0, 5.0])))
            while len(follower._ledger.combiner._waiting) < 2:
                time.sleep(0.001)
            errands.is_crowded = True
            patch.setattr(type(slot), "wait", interrupt)
        waiting.get()
    unit = other[0].get()
    assert kinds(leader)["asked"] == 4
    rows = [entry.event["x"] for entry in leader.log() if entry.kind == "asked"]
    assert rows.count([1.0, 5.0]) == rows.count([1.0, 2.0]) == 1
    assert rows[unit.id - 1] == [1.0, 5.0]
    assert leader.verify(unit.receipt).decided == 4


def test_a_fork_leaves_what_is_its_parents(leader, follower):
    def work():
        assert follower.ask([1.0, 2.0]).id == 2
        crowd(follower)
        assert follower.ask([1.0, 2.0]).id == 3
        follower.close()

    _, wait = forked(work)
    assert wait() == 0
    follower._ledger._errands.is_crowded = True
    assert follower.ask([1.0, 2.0]).id == 4
    assert leader.verify().decided == 4


def test_a_board_that_is_gone_costs_only_time(leader, follower):
    follower.store.board().close()
    assert follower.ask([1.0, 2.0]).id == 2
    leader.store.board().close()
    assert leader.ask([1.0, 2.0]).id == 3
    assert crowd(follower)
    asked = Called(lambda: follower.ask([1.0, 2.0]))
    leader.note("here I am")
    assert asked.get().id == 4


@pytest.mark.parametrize("how", ["experiment", "store"])
@pytest.mark.parametrize("taken", [False, True])
def test_closing_while_somebody_waits(leader, follower, monkeypatch, how, taken):
    """What nobody has taken is not done; of the rest nobody can say it here."""
    monkeypatch.setattr(errands_module, "_LAST_WAIT", 0.2)
    wait = type(follower._ledger._errands._slot).wait

    def close(slot, token, seconds):
        if taken:
            leader.store.board().posted("trial")
        (follower if how == "experiment" else follower.store).close()
        monkeypatch.setattr(type(slot), "wait", wait)
        return wait(slot, token, seconds)

    monkeypatch.setattr(type(follower._ledger._errands._slot), "wait", close)
    with pytest.raises(CommitUnknown if taken else StoreUnavailable) as caught:
        follower.ask([1.0, 2.0])
    assert isinstance(caught.value, CommitUnknown) == taken
    leader.note("whatever is posted would be done now")
    assert kinds(leader)["asked"] == 1


def test_a_slot_that_was_given_back_is_the_next_ones(file_url, leader, monkeypatch):
    """Closed in another thread, on a store that goes on: who had the slot leaves the next one alone."""
    monkeypatch.setattr(leader._ledger._errands, "deliver", lambda taken: None)
    with eq.open_store(file_url) as store, eq.open_store(file_url) as elsewhere:
        mine = eq.load_experiment(store=store, name="trial", actor="mine")
        other = eq.load_experiment(store=elsewhere, name="trial", actor="other")
        errands = crowd(mine)
        number, wait = errands._slot.number, type(errands._slot).wait

        def close(slot, token, seconds):
            monkeypatch.setattr(type(slot), "wait", wait)
            leader.note("this takes it, commits it, and does not say so")
            mine._ledger.close()
            assert crowd(other)._slot.number == number
            other._ledger._errands._slot.post(token, b"[]")
            return wait(slot, token, seconds)

        monkeypatch.setattr(type(errands._slot), "wait", close)
        assert mine.ask([1.0, 2.0]).id == 2
        assert kinds(leader)["asked"] == 2
        assert not errands._batch or errands._slot is None
        errands.is_crowded = True
        assert mine.ask([1.0, 2.0]).id == 3
        assert errands._slot is None  # who has left gets none any more


def test_who_works_on_another_experiment_does_not_serve(leader, follower, problem, monkeypatch):
    """After some waits the request is withdrawn, and the lock waited for as by others."""
    monkeypatch.setattr(errands_module, "PATIENCE", 0.01)
    second = eq.create_experiment(store=leader.store, name="second", problem=problem)
    seen, look = [], type(follower._ledger._errands).can_be_served

    def noted(errands):
        seen.append(look(errands))
        return seen[-1]

    monkeypatch.setattr(type(follower._ledger._errands), "can_be_served", noted)
    with second.store.writing("second"):
        asked = Called(lambda: follower.ask([1.0, 2.0]))
        until = time.monotonic() + 30
        while not (seen and not seen[-1]):
            assert time.monotonic() < until
            time.sleep(0.001)
        assert 1 not in leader.store.board()._map[:SLOTS]
    assert asked.get().id == 2
    assert kinds(leader)["asked"] == 2


def test_who_gives_up_gets_nothing(leader, file_url):
    """What was posted is withdrawn: nobody does it later."""
    with eq.load_experiment(store=eq.open_store(file_url, wait=0.3), name="trial") as follower:
        crowd(follower)
        with leader.store.writing("trial"), pytest.raises(StoreBusy):
            follower.ask([1.0, 2.0])
        leader.note("whatever is posted would be done now")
        assert kinds(leader)["asked"] == 1
        assert follower.ask([1.0, 2.0]).id == 2
        assert leader.verify().decided == 2
        follower.store.close()


@pytest.mark.parametrize("delivered", [True, False])
def test_who_gives_up_while_it_is_done(leader, file_url, monkeypatch, delivered):
    """It gets the answer if there is one soon, and else learns that nobody knows."""
    monkeypatch.setattr(errands_module, "_LAST_WAIT", 5.0 if delivered else 0.2)
    if not delivered:
        monkeypatch.setattr(leader._ledger._errands, "deliver", lambda taken: None)
    perform = leader._ledger._perform

    def slowly(requests, writer):
        found = perform(requests, writer)
        time.sleep(0.8)
        return found

    with eq.load_experiment(store=eq.open_store(file_url, wait=0.3), name="trial") as follower:
        crowd(follower)
        monkeypatch.setattr(errands_module, "PATIENCE", 0.2)
        monkeypatch.setattr(leader._ledger, "_perform", slowly)
        asked = Called(lambda: follower.ask([1.0, 2.0]))
        posted(leader)
        leader.note("this takes long")
        if delivered:
            assert asked.get().id == 2
        else:
            with pytest.raises(CommitUnknown, match="took this call"):
                asked.get()
        assert kinds(leader)["asked"] == 2
        assert follower.ask([1.0, 2.0]).id == 3
        assert kinds(leader)["asked"] == 3
        follower.store.close()


def test_an_interrupt_withdraws_what_nobody_has_taken(leader, follower, monkeypatch):
    def interrupt(*_):
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(type(follower._ledger._errands._slot), "wait", interrupt)
        with pytest.raises(Interrupted):
            follower.ask([1.0, 2.0])
    leader.note("whatever is posted would be done now")
    assert kinds(leader)["asked"] == 1
    follower._ledger._errands.is_crowded = True
    asked = Called(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    leader.note("here I am")
    assert asked.get().id == 2
