"""Requests that processes leave to each other: each is done once, whatever happens to who does it.

Two stores on one file stand for two processes: they share nothing but the file and the board.
"""

import threading
import time
from collections import Counter

import numpy as np
import orjson
import pytest
from storing.processes import forked

import equipoise as eq
from equipoise.errors import AssignmentNotFound, BudgetExhausted, StoreBusy
from equipoise.live.experiment.requests import errands as errands_module
from equipoise.live.stores.board import Board

pytestmark = pytest.mark.skipif(
    Board.offered("any") is None, reason="this system has no memory that processes can share"
)


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


def crowd(live):
    """As if the experiment had found the lock taken before, so that it leaves to others what it can."""
    errands = live._ledger._errands
    errands._wants_slot = True
    live.note("a slot is got under the lock")
    assert errands._slot is not None
    errands.is_crowded = True
    return errands


class Answer:
    """What a call in a thread comes to."""

    def __init__(self, act):
        self._act, self._value, self._error = act, None, None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            self._value = self._act()
        except BaseException as error:
            self._error = error

    def get(self):
        self._thread.join(60)
        assert not self._thread.is_alive()
        if self._error is not None:
            raise self._error
        return self._value


def posted(live):
    """Wait until something is posted."""
    board = live.store.board()
    for _ in range(2000):
        if 1 in board._map[:64]:
            return
        time.sleep(0.001)
    raise AssertionError("nothing was posted")


@pytest.fixture
def patient(monkeypatch):
    """Nobody tries for the lock in the time of a test."""
    monkeypatch.setattr(errands_module, "PATIENCE", 30.0)
    monkeypatch.setattr(errands_module, "_LONGEST", 30.0)


def kinds(live):
    return Counter(entry.kind for entry in live.log())


def test_an_ask_and_a_tell_are_done_by_who_has_the_lock(leader, follower, patient):
    behind = follower._ledger.state.sequence
    asked = Answer(lambda: follower.ask([1.0, 2.0], unit="F-1"))
    posted(leader)
    own = leader.ask([1.0, 3.0], unit="L-1")
    unit = asked.get()
    assert (unit.unit, unit.id) == ("F-1", own.id + 1)
    follower._ledger._errands.is_crowded = True
    told = Answer(lambda: (follower.tell("F-1", 2.5), follower.receipt)[1])
    posted(leader)
    leader.tell("L-1", 1.5)
    receipt = told.get()
    assert follower._ledger.state.sequence == behind  # it was served, and had to fold in nothing
    rows = list(leader.log())[-4:]
    assert [(row.kind, row.actor) for row in rows] == [
        ("asked", "leader"),
        ("asked", "follower"),
        ("told", "leader"),
        ("told", "follower"),
    ]
    assert rows[0].time == rows[1].time  # one commit
    assert unit.receipt.sequence == rows[1].sequence
    assert receipt.sequence == rows[3].sequence
    assert follower._ledger._errands._known[0] == rows[3].sequence  # or it would be a stranger one day
    assert follower.verify(unit.receipt).decided == 3
    assert follower.verify(receipt).decided == 3
    assert follower["F-1"].outcome == 2.5
    follower._ledger._errands.is_crowded = False
    again = follower.ask([1.0, 2.0], unit="F-1")
    assert (again.arm, again.scores, again.receipt) == (unit.arm, unit.scores, unit.receipt)


def test_the_decision_is_the_one_that_the_log_gives(leader, follower, patient):
    """Whoever carries it out: the same as one after the other in memory."""
    alone = eq.Experiment(leader.problem, leader.policy, seed=leader.seed)
    alone.ask([1.0, 0.0], unit="L-0")
    for i in range(12):
        asked = Answer(lambda i=i: follower.ask([1.0, i % 5 - 2.0]))
        posted(leader)
        own = leader.ask([1.0, i % 3 - 1.0])
        assert [own.arm, asked.get().arm] == [
            alone.ask([1.0, i % 3 - 1.0]).arm,
            alone.ask([1.0, i % 5 - 2.0]).arm,
        ]
        follower._ledger._errands.is_crowded = True
    assert leader.verify().decided == leader.asked == 25


def test_who_took_it_dies_before_the_commit(leader, follower):
    asked = Answer(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    with leader.store.writing("trial"):
        assert len(leader.store.board().posted("trial")) == 1
    assert asked.get().id == 2
    assert kinds(leader)["asked"] == 2
    assert leader.verify().decided == 2


@pytest.mark.parametrize("keyed", [False, True])
def test_who_took_it_dies_after_the_commit(leader, follower, monkeypatch, keyed):
    monkeypatch.setattr(leader._ledger._errands, "deliver", lambda taken: None)
    asked = Answer(lambda: follower.ask([1.0, 2.0], unit="F-1" if keyed else None))
    posted(leader)
    leader.ask([1.0, 3.0])
    unit = asked.get()
    assert unit.id == 3
    assert kinds(leader)["asked"] == 3
    (row,) = (entry for entry in leader.log() if entry.sequence == unit.receipt.sequence)
    assert (row.event["id"], row.event["arm"], row.actor) == (3, unit.arm, "follower")
    assert unit.scores == dict(zip(unit.arms, row.event["scores"], strict=True))
    follower._ledger._errands.is_crowded = True
    told = Answer(lambda: (follower.tell(3, 1.0), follower.receipt)[1])
    assert leader.verify(told.get()).decided == 3
    assert kinds(leader)["told"] == 1


def test_an_answer_that_comes_too_late_is_nobodys(leader, follower, monkeypatch):
    late, deliver = [], leader._ledger._errands.deliver
    monkeypatch.setattr(leader._ledger._errands, "deliver", late.append)
    first = Answer(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    leader.ask([1.0, 3.0])
    first = first.get()
    monkeypatch.setattr(errands_module, "PATIENCE", 30.0)
    follower._ledger._errands.is_crowded = True
    second = Answer(lambda: follower.ask([1.0, -1.0]))
    posted(leader)
    deliver(late[0])
    monkeypatch.setattr(leader._ledger._errands, "deliver", deliver)
    leader.ask([1.0, 3.0])
    second = second.get()
    assert [first.id, second.id] == [3, 5]
    assert kinds(leader)["asked"] == 5
    assert leader.verify(second.receipt).decided == 5


class Interrupted(BaseException):
    pass


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
            waiting = Answer(first)
            while not follower._ledger.combiner._waiting:
                time.sleep(0.001)
            other.append(Answer(lambda: follower.ask([1.0, 5.0])))
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


def test_several_threads_are_served_together(leader, follower, patient):
    errands = follower._ledger._errands
    errands.is_crowded = False
    with follower._lock:
        answers = [Answer(lambda k=k: follower.ask([1.0, float(k)], unit=f"F-{k}")) for k in range(5)]
        while len(follower._ledger.combiner._waiting) < 5:
            time.sleep(0.001)
        errands.is_crowded = True
    # The first has gone to work alone, or with others; the rest follow.
    until = time.monotonic() + 60
    while any(answer._thread.is_alive() for answer in answers):
        assert time.monotonic() < until
        leader.note("here I am")
        time.sleep(0.002)
    units = [answer.get() for answer in answers]
    assert [unit.unit for unit in units] == [f"F-{k}" for k in range(5)]
    assert kinds(leader)["asked"] == 6
    assert len({unit.receipt for unit in units}) == 5
    for unit in units:
        assert leader[unit.unit].arm == unit.arm


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
    asked = Answer(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    leader.ask([1.0, 3.0])
    assert asked.get().id == 3
    assert follower._ledger.state.sequence == list(leader.log())[-1].sequence  # it had the lock
    assert kinds(leader)["asked"] == 3


def test_what_fails_fails_where_it_was_wanted(leader, follower, patient):
    leader.change_budget(2)
    asked = Answer(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    leader.ask([1.0, 1.0])
    with pytest.raises(BudgetExhausted):
        asked.get()
    follower._ledger._errands.is_crowded = True
    told = Answer(lambda: follower.tell("nobody", 1.0))
    posted(leader)
    leader.tell("L-0", 1.0)
    with pytest.raises(AssignmentNotFound):
        told.get()
    assert leader.verify().decided == 2


def test_a_repeat_is_answered(leader, follower, patient):
    follower._ledger._errands.is_crowded = True
    asked = Answer(lambda: follower.ask([1.0, 0.0], unit="L-0"))
    posted(leader)
    leader.tell("L-0", 4.0)
    assert asked.get().id == 1
    follower._ledger._errands.is_crowded = True
    told = Answer(lambda: (follower.tell("L-0", 4.0), follower.receipt)[1])
    posted(leader)
    leader.note("here I am")
    assert told.get() == leader.receipt  # the last row that there was
    assert kinds(leader)["told"] == 1


def test_an_arm_that_joined_is_known(leader, follower, patient):
    leader.add_arm("new")
    asked = Answer(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    leader.note("here I am")
    unit = asked.get()
    assert unit.arms == leader.problem.arms
    assert "new" in unit.scores
    assert kinds(leader)["asked"] == 2


def test_more_rows_than_an_answer_holds_are_read_from_the_log(file_url, patient):
    problem = eq.Problem(arms=[f"arm {k}" for k in range(400)], dim=2, budget=10**5, moment=np.eye(2))
    with (
        eq.create_experiment(store=file_url, name="trial", problem=problem) as leader,
        eq.load_experiment(store=file_url, name="trial") as follower,
    ):
        crowd(follower)
        asked = Answer(lambda: follower.ask([1.0, 2.0]))
        posted(leader)
        leader.note("here I am")
        unit = asked.get()
        assert len(unit.scores) == 400
        assert leader.verify(unit.receipt).decided == 1


def test_features_that_are_chosen_first(file_url, patient):
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
            errands_module.PATIENCE = 0.001 if i % 2 else 30.0
            x = rng.normal(size=3).tolist()
            asked = Answer(lambda x=x: follower.ask(x))
            posted(leader)
            leader.note("here I am")
            unit = asked.get()
            assert unit.id == i + 1
            leader.tell(unit.id, sum(x[:1]) + rng.normal())
            errands.is_crowded = True
        assert kinds(leader)["features_chosen"] >= 1
        assert leader.verify().decided == 60


def test_what_is_not_plain_waits_for_the_lock(leader, follower, patient):
    assert follower.ask(np.array([1.0, 2.0], dtype=np.float32)).id == 2
    follower._ledger._errands.is_crowded = True
    assert follower.ask([1.0, 2.0], arm="a", reason="history").id == 3
    follower._ledger._errands.is_crowded = True
    follower.correct(3, 1.0, reason="typed wrongly")
    assert kinds(leader) == {"created": 1, "asked": 3, "note": 1, "corrected": 1}


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
    asked = Answer(lambda: follower.ask([1.0, 2.0]))
    leader.note("here I am")
    assert asked.get().id == 4


def test_closing_while_somebody_waits(leader, follower):
    asked = Answer(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    follower.close()
    leader.ask([1.0, 3.0])
    with pytest.raises(eq.EquipoiseError):
        asked.get()
    # It may have been done, and once.
    assert kinds(leader)["asked"] in (2, 3)
    leader.verify()


def test_a_lock_that_is_never_free(leader, file_url):
    with eq.load_experiment(store=eq.open_store(file_url, wait=0.3), name="trial") as follower:
        crowd(follower)
        with leader.store.writing("trial"), pytest.raises(StoreBusy):
            follower.ask([1.0, 2.0])
        assert follower.ask([1.0, 2.0]).id == 2
        assert leader.verify().decided == 2
        follower.store.close()


def test_snapshots_are_saved_of_what_others_asked_for(leader, follower, patient, monkeypatch):
    saved = []
    monkeypatch.setattr(leader, "_save_snapshot", lambda: saved.append("leader"))
    monkeypatch.setattr(follower, "_save_snapshot", lambda: saved.append("follower"))
    due = []
    monkeypatch.setattr(leader._snapshots, "is_due", lambda *rows: due.append(rows) or True)
    monkeypatch.setattr(follower._snapshots, "is_due", lambda *rows: True)
    asked = Answer(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    leader.ask([1.0, 3.0])
    last = asked.get().receipt.sequence
    assert due == [(last - 1, last)]
    assert saved == ["leader"]
