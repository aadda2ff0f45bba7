"""Requests that processes leave to each other: who is served gets what it would have got by itself."""

import numpy as np
import pytest
from storing.crowds import Called, crowd, kinds, needs_boards, posted, served_together

import equipoise as eq
from equipoise.errors import AssignmentNotFound, BudgetExhausted

pytestmark = needs_boards


def test_an_ask_and_a_tell_are_done_by_who_has_the_lock(leader, follower, patient):
    behind = follower._ledger.state.sequence
    asked = Called(lambda: follower.ask([1.0, 2.0], unit="F-1"))
    posted(leader)
    own = leader.ask([1.0, 3.0], unit="L-1")
    unit = asked.get()
    assert (unit.unit, unit.id) == ("F-1", own.id + 1)
    follower._ledger._errands.is_crowded = True
    told = Called(lambda: (follower.tell("F-1", 2.5), follower.receipt)[1])
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
    assert follower._ledger._errands.known[0] == rows[3].sequence  # or it would be a stranger one day
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
        asked = Called(lambda i=i: follower.ask([1.0, i % 5 - 2.0]))
        posted(leader)
        own = leader.ask([1.0, i % 3 - 1.0])
        assert [own.arm, asked.get().arm] == [
            alone.ask([1.0, i % 3 - 1.0]).arm,
            alone.ask([1.0, i % 5 - 2.0]).arm,
        ]
        follower._ledger._errands.is_crowded = True
    assert leader.verify().decided == leader.asked == 25


def test_several_threads_are_served_together(leader, follower, patient):
    behind = follower._ledger.state.sequence
    acts = [lambda k=k: follower.ask([1.0, float(k)], unit=f"F-{k}") for k in range(5)]
    units = served_together(leader, follower, acts)
    assert follower._ledger.state.sequence == behind  # all of them were served
    assert [unit.unit for unit in units] == [f"F-{k}" for k in range(5)]
    assert kinds(leader)["asked"] == 6
    assert len({unit.receipt for unit in units}) == 5
    for unit in units:
        assert leader[unit.unit].arm == unit.arm


def test_what_fails_fails_where_it_was_wanted(leader, follower, patient):
    leader.change_budget(2)
    asked = Called(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    leader.ask([1.0, 1.0])
    with pytest.raises(BudgetExhausted):
        asked.get()
    follower._ledger._errands.is_crowded = True
    told = Called(lambda: follower.tell("nobody", 1.0))
    posted(leader)
    leader.tell("L-0", 1.0)
    with pytest.raises(AssignmentNotFound):
        told.get()
    assert leader.verify().decided == 2


def test_a_repeat_is_answered(leader, follower, patient):
    follower._ledger._errands.is_crowded = True
    asked = Called(lambda: follower.ask([1.0, 0.0], unit="L-0"))
    posted(leader)
    leader.tell("L-0", 4.0)
    assert asked.get().id == 1
    follower._ledger._errands.is_crowded = True
    told = Called(lambda: (follower.tell("L-0", 4.0), follower.receipt)[1])
    posted(leader)
    leader.note("here I am")
    assert told.get() == leader.receipt  # the last row that there was
    assert kinds(leader)["told"] == 1


def test_an_arm_that_joined_is_known(leader, follower, patient):
    leader.add_arm("new")
    asked = Called(lambda: follower.ask([1.0, 2.0]))
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
        asked = Called(lambda: follower.ask([1.0, 2.0]))
        posted(leader)
        leader.note("here I am")
        unit = asked.get()
        assert len(unit.scores) == 400
        assert leader.verify(unit.receipt).decided == 1


def test_what_is_not_plain_waits_for_the_lock(leader, follower, patient):
    assert follower.ask(np.array([1.0, 2.0], dtype=np.float32)).id == 2
    follower._ledger._errands.is_crowded = True
    assert follower.ask([1.0, 2.0], arm="a", reason="history").id == 3
    follower._ledger._errands.is_crowded = True
    follower.correct(3, 1.0, reason="typed wrongly")
    assert kinds(leader) == {"created": 1, "asked": 3, "note": 1, "corrected": 1}


def test_snapshots_are_saved_of_what_others_asked_for(leader, follower, patient, monkeypatch):
    saved = []
    monkeypatch.setattr(leader, "_save_snapshot", lambda: saved.append("leader"))
    monkeypatch.setattr(follower, "_save_snapshot", lambda: saved.append("follower"))
    due = []
    monkeypatch.setattr(leader._snapshots, "is_due", lambda *rows: due.append(rows) or True)
    monkeypatch.setattr(follower._snapshots, "is_due", lambda *rows: True)
    asked = Called(lambda: follower.ask([1.0, 2.0]))
    posted(leader)
    leader.ask([1.0, 3.0])
    last = asked.get().receipt.sequence
    assert due == [(last - 1, last)]
    assert saved == ["leader"]
