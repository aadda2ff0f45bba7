"""Requests that processes leave to each other: each is done once, whatever happens to who does it."""

import socket
import time
from contextlib import closing

import apsw
import numpy as np
import orjson
import pytest
from storing.crowds import Called, crowd, kinds, needs_boards, posted, served_together

import equipoise as eq
from equipoise.errors import CommitUnknown, ReceiptUnknown
from equipoise.live.experiment.requests import errands as errands_module

pytestmark = needs_boards


@pytest.fixture
def slow(monkeypatch):
    """An answer is waited for so long that the leader gets the lock first, also on a busy machine."""
    monkeypatch.setattr(errands_module, "PATIENCE", 1.0)
    monkeypatch.setattr(errands_module, "_LONGEST", 1.0)


def test_who_took_it_dies_before_the_commit(leader, follower, slow):
    asked = Called(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    with leader.store.writing("trial"):
        assert len(leader.store.board().posted("trial")) == 1
    assert asked.get().id == 2
    assert kinds(leader)["asked"] == 2
    assert leader.verify().decided == 2


@pytest.mark.parametrize("keyed", [False, True])
def test_who_took_it_dies_after_the_commit(leader, follower, slow, monkeypatch, keyed):
    monkeypatch.setattr(leader._ledger._errands, "deliver", lambda taken: None)
    asked = Called(lambda: follower.ask([1.0, 2.0], unit="F-1" if keyed else None))
    posted(leader)
    leader.ask([1.0, 3.0])
    unit = asked.get()
    assert unit.id == 3
    assert kinds(leader)["asked"] == 3
    (row,) = (entry for entry in leader.log() if entry.sequence == unit.receipt.sequence)
    assert (row.event["id"], row.event["arm"], row.actor) == (3, unit.arm, "follower")
    assert unit.scores == dict(zip(unit.arms, row.event["scores"], strict=True))
    told = Called(lambda: (follower.tell(3, 1.0), follower.receipt)[1])
    assert leader.verify(told.get()).decided == 3
    assert kinds(leader)["told"] == 1


def test_what_may_be_stored_already_is_not_left_to_others(leader, follower, monkeypatch):
    """A commit whose end nobody saw: first the log is asked."""
    errands, give = follower._ledger._errands, follower._ledger._give
    errands.is_crowded = False

    def lost(answers):
        monkeypatch.setattr(follower._ledger, "_give", give)
        errands.is_crowded = True
        raise CommitUnknown("the end of a commit was not seen", hint="ask the log")

    monkeypatch.setattr(follower._ledger, "_give", lost)
    asked = Called(lambda: follower.ask([1.0, 2.0]))
    until = time.monotonic() + 60
    while asked._thread.is_alive():
        assert time.monotonic() < until
        leader.note("whatever is posted would be done now")
        time.sleep(0.001)
    assert asked.get().id == 2
    assert kinds(leader)["asked"] == 2


def test_an_answer_that_comes_too_late_is_nobodys(leader, follower, slow, monkeypatch):
    late, deliver = [], leader._ledger._errands.deliver
    monkeypatch.setattr(leader._ledger._errands, "deliver", late.append)
    first = Called(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    leader.ask([1.0, 3.0])
    first = first.get()
    monkeypatch.setattr(errands_module, "PATIENCE", 30.0)
    follower._ledger._errands.is_crowded = True
    second = Called(lambda: follower.ask([1.0, -1.0]))
    posted(leader)
    deliver(late[0])
    monkeypatch.setattr(leader._ledger._errands, "deliver", deliver)
    leader.ask([1.0, 3.0])
    second = second.get()
    assert [first.id, second.id] == [3, 5]
    assert kinds(leader)["asked"] == 5
    assert leader.verify(second.receipt).decided == 5


@pytest.mark.parametrize("wrong", ["epoch", "line", "hash", "row", "text"])
def test_who_knows_another_log_is_left_to_itself(leader, follower, monkeypatch, wrong):
    """It finds out by itself, under the lock, what is the matter."""
    dumps = orjson.dumps

    def other(value, **options):
        if isinstance(value, list) and len(value) == 5:
            place = {"epoch": 0, "line": 1, "row": 2, "hash": 3}.get(wrong)
            if place is None:
                return b"[1,"
            value[place] = {"epoch": 2, "line": "5f0c91ab", "row": 10**6, "hash": "00" * 32}[wrong]
        return dumps(value, **options)

    monkeypatch.setattr(errands_module.orjson, "dumps", other)
    monkeypatch.setattr(errands_module, "PATIENCE", 30.0)
    asked = Called(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    leader.ask([1.0, 3.0])
    assert asked.get().id == 3
    assert follower._ledger.state.sequence == list(leader.log())[-1].sequence  # it had the lock
    assert kinds(leader)["asked"] == 3


def test_features_that_are_chosen_first(file_url, monkeypatch):
    """Two rows tell of one ask; also where they must be found in the log."""
    problem = eq.Problem(arms=2, dim=3, budget=400, moment=np.eye(3))
    rng = np.random.default_rng(1)
    policy = "sparse-trace-ucb:screen=10:refresh=1.1"
    with (
        eq.create_experiment(store=file_url, name="trial", problem=problem, policy=policy) as leader,
        eq.load_experiment(store=file_url, name="trial") as follower,
    ):
        errands = crowd(follower)
        deliver = leader._ledger._errands.deliver
        for i in range(60):
            leader._ledger._errands.deliver = (lambda taken: None) if i % 2 else deliver
            monkeypatch.setattr(errands_module, "PATIENCE", 0.1 if i % 2 else 30.0)
            x = rng.normal(size=3).tolist()
            asked = Called(lambda x=x: follower.ask(x))
            posted(leader)
            leader.note("here I am")
            unit = asked.get()
            assert unit.id == i + 1
            leader.tell(unit.id, sum(x[:1]) + rng.normal())
            errands.is_crowded = True
        assert kinds(leader)["features_chosen"] >= 1
        assert leader.verify().decided == 60


def test_a_request_that_spoils_the_state_leaves_the_others_to_themselves(leader, follower, monkeypatch):
    """The lock is free before the leader goes on: who waits may have done it then."""
    writing, tries = leader.store.writing, []

    def slowly(name, waiting=None):
        tries.append(name)
        if len(tries) == 2:
            time.sleep(0.5)
        return writing(name, waiting)

    def spoil(turn):
        turn.experiment.note("half")
        raise RuntimeError("half-way")

    monkeypatch.setattr(leader.store, "writing", slowly)
    monkeypatch.setattr(errands_module, "PATIENCE", 0.1)
    asked = Called(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    with pytest.raises(RuntimeError, match="half-way"):
        leader._ledger.submit(spoil, "leader")
    assert asked.get().id == 2
    assert len(tries) == 2
    assert kinds(leader) == {"created": 1, "asked": 2, "note": 1}
    assert leader.verify().decided == 2


def test_a_log_that_was_set_back_is_noticed_by_who_was_served(leader, follower, patient, tmp_path):
    leader.store.backup(tmp_path / "copy.db")
    asked = Called(lambda: follower.ask([1.0, 2.0], unit="F-1"))
    posted(leader)
    leader.note("here I am")
    asked.get()
    leader.close()
    with (
        closing(apsw.Connection(str(tmp_path / "copy.db"))) as source,
        closing(apsw.Connection(str(tmp_path / "trial.db"))) as target,
        target.backup("main", source, "main") as copying,
    ):
        while not copying.done:
            copying.step(100)
    follower._ledger._errands.is_crowded = False
    for act in (lambda: follower.ask([1.0, 2.0], unit="F-2"), lambda: follower.asked):
        with pytest.raises(ReceiptUnknown, match="restored from a backup"):
            act()


def test_a_row_that_was_redacted_before_it_was_found(leader, follower, monkeypatch):
    """Its salt is gone, so nobody can say whether it was the one."""
    monkeypatch.setattr(leader._ledger._errands, "deliver", lambda taken: None)
    monkeypatch.setattr(errands_module, "PATIENCE", 1.0)
    asked = Called(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    leader.note("here I am")
    leader.withdraw(2, reason="a wish")
    leader.redact(2, reason="a wish")
    with pytest.raises(CommitUnknown, match="redacted"):
        asked.get()
    assert kinds(leader)["asked"] == 2
    assert follower.ask([1.0, 2.0]).id == 3


def test_what_was_redacted_of_others_is_not_taken_for_it(leader, follower, slow):
    """Who took the call has died; rows that were erased since have other actors."""
    asked = Called(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    with leader.store.writing("trial"):
        assert len(leader.store.board().posted("trial")) == 1
    leader.ask([1.0, 5.0])
    leader.withdraw(2, reason="a wish")
    leader.redact(2, reason="a wish")
    assert asked.get().id == 3
    assert kinds(leader)["asked"] == 3


def test_salts_say_nothing_of_each_other(leader, follower, patient):
    """Of a row that was redacted nobody can find the payload by trying, also if it came with others."""
    served_together(leader, follower, [lambda k=k: follower.ask([1.0, float(k)]) for k in range(6)])
    salts = [row.salt for row in leader.store.read("trial")]
    assert len({salt[:8] for salt in salts}) == len({salt[8:] for salt in salts}) == len(salts)


def test_a_program_with_a_timeout_for_all_sockets(leader, file_url):
    socket.setdefaulttimeout(20.0)
    try:
        with eq.load_experiment(store=file_url, name="trial") as follower:
            crowd(follower)
            began = time.monotonic()
            assert follower.ask([1.0, 2.0]).id == 2
            assert time.monotonic() - began < 10
    finally:
        socket.setdefaulttimeout(None)
