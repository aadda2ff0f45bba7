"""A live experiment does what one in memory does, on every store, and every call is in the log."""

import copy
import pickle
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import (
    AssignmentNotFound,
    ExperimentExists,
    ExperimentNotFound,
    ExperimentPaused,
    InvalidArgument,
    OutcomeConflict,
    ReasonMissing,
    ReceiptUnknown,
    StoreUnavailable,
    UnitConflict,
)


def created(store, name, problem, **rest):
    return eq.create_experiment(store=store, name=name, problem=problem, seed=3, actor="ann", **rest)


def bits(experiment):
    """Everything that an experiment knows."""
    return {key: array.tobytes() for key, array in experiment.in_memory().snapshot().items()}


def test_decisions_are_those_of_an_experiment_in_memory(store, name, problem):
    live, memory = created(store, name, problem), eq.Experiment(problem, seed=3)
    rng = np.random.default_rng(0)
    for i in range(20):
        x, y = rng.normal(size=2), float(rng.normal())
        assignment = live.ask(x, unit=f"u{i}")
        assert assignment == memory.ask(x, unit=f"u{i}")
        if i % 3:
            live.tell(f"u{i}", y)
            memory.tell(f"u{i}", y)
    contexts, keys = rng.normal(size=(9, 2)), [f"m{i}" for i in range(9)]
    assert live.ask_many(contexts, keys) == memory.ask_many(contexts, keys)
    live.tell_many({"m0": 1.0, "m1": 2.0})
    memory.tell_many({"m0": 1.0, "m1": 2.0})
    live.correct("m0", 3.0, reason="typing error")
    memory.correct("m0", 3.0)
    live.lose("m2", reason="moved")
    memory.lose("m2")
    live.withdraw("m3", reason="asked to")
    memory.withdraw("m3")
    live.received("m4", "a", reason="pharmacy")
    memory.received("m4", "a")
    live.close_arm("c", reason="side effects")
    memory.close_arm("c")
    assert live.ask([1.0, 2.0], unit="z") == memory.ask([1.0, 2.0], unit="z")
    live.reopen_arm("c")
    memory.reopen_arm("c")
    live.add_arm("d", weight=2.0)
    memory.add_arm("d", weight=2.0)
    live.change_budget(70)
    memory.change_budget(70)
    assert live.ask([1.0, 2.0], unit="p", arm="b", reason="allergy") == memory.ask([1, 2], unit="p", arm="b")
    assert live.ask([1.0, 2.0], unit="q", arms=["a", "d"]) == memory.ask([1, 2], unit="q", arms=["a", "d"])
    for one in (live, eq.load_experiment(store=store, name=name), live.in_memory()):
        assert bits(one) == bits(memory)
        assert one.units(scores=True).records()[-1]["score of d"] is not None
        assert one.counts == memory.counts
        assert one.pending == memory.pending
    assert live.verify().decided == 32
    kinds = [entry.kind for entry in live.log()]
    assert kinds[0] == "created"
    assert kinds.count("asked_together") == 9
    assert kinds[-9:] == [
        *("withdrawn", "received", "arm_closed", "asked", "arm_reopened", "arm_added", "budget_changed"),
        *("asked", "asked"),
    ]


def test_a_repeat_gives_the_same_assignment_and_writes_nothing(store, name, problem):
    live = created(store, name, problem)
    first = live.ask([1.0, 2.0], unit="P-1")
    second = live.ask([0.0, 1.0], unit="P-2")
    elsewhere = eq.load_experiment(store=store, name=name)
    for experiment in (live, elsewhere):
        again = experiment.ask([1.0, 2.0], unit="P-1")
        assert (again, again.receipt) == (first, first.receipt)
        assert again.scores == first.scores
        many = experiment.ask_many([[1.0, 2.0], [0.0, 1.0]], ["P-1", "P-2"])
        assert [unit.receipt for unit in many] == [first.receipt, second.receipt]
        assert many == [first, second]
        with pytest.raises(UnitConflict, match="another context"):
            experiment.ask([1.0, 3.0], unit="P-1")
    assert store.head(name).sequence == 3


def test_telling_twice_is_harmless_and_otherwise_names_correct(store, name, problem):
    live = created(store, name, problem)
    live.ask([1.0, 2.0], unit="P-1")
    live.tell("P-1", 0.5)
    receipt = live.receipt
    live.tell("P-1", 0.5)
    assert live.receipt == receipt
    with pytest.raises(OutcomeConflict, match="correct"):
        live.tell("P-1", 0.6)
    with pytest.raises(OutcomeConflict):
        live.tell_many({"P-1": 0.7})
    assert store.head(name).sequence == 3


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_reasons_are_demanded_before_anything_happens(memory, name, problem, reason):
    live = created(memory, name, problem)
    live.ask([1.0, 2.0], unit="P-1")
    for act in (
        lambda: live.correct("P-1", 1.0, reason),
        lambda: live.lose("P-1", reason),
        lambda: live.withdraw("P-1", reason),
        lambda: live.correct_many({"P-1": 1.0}, reason),
        lambda: live.lose_many(["P-1"], reason),
        lambda: live.withdraw_many(["P-1"], reason),
        lambda: live.received_many({"P-1": "a"}, reason),
        lambda: live.redact_many(["P-1"], reason),
        lambda: live.ask_many([[0.0, 0.0]], ["P-2"], given_arms=["a"], reason=reason),
        lambda: live.received("P-1", "a", reason),
        lambda: live.close_arm("a", reason),
        lambda: live.ask([0.0, 0.0], arm="a", reason=reason),
        lambda: live.redact("P-1", reason),
        lambda: live.expire(timedelta(0), reason),
    ):
        with pytest.raises(ReasonMissing, match="needs a reason"):
            act()
    assert memory.head(name).sequence == 2


def test_many_entries_are_one_commit_and_all_or_nothing(store, name, problem):
    live = created(store, name, problem)
    units = live.ask_many(
        np.eye(2).repeat(3, 0), [f"P-{i}" for i in range(6)], given_arms=[*"abcabc"], reason="r"
    )
    assert [(unit.arm, unit.receipt.sequence) for unit in units] == list(
        zip("abcabc", range(2, 8), strict=True)
    )
    live.tell("P-0", 1.0)
    before = store.head(name)
    for wrong in (
        lambda: live.correct_many({"P-1": 1.0, "P-9": 2.0}, "r"),
        lambda: live.lose_many(["P-1", "P-0"], "r"),
        lambda: live.withdraw_many(["P-1", "P-9"], "r"),
        lambda: live.received_many({"P-1": "a", "P-9": "a"}, "r"),
        lambda: live.received_many({"P-1": "a", "P-2": "z"}, "r"),
        lambda: live.redact_many(["P-0", "P-1"], "r"),
        lambda: live.redact_many(["P-0", "P-9"], "r"),
        lambda: live.redact_many("P-0", "r"),
        lambda: live.ask_many([[1.0, 1.0], [2.0, 2.0]], ["Q-1", "Q-2"], given_arms=["a", "z"], reason="r"),
    ):
        with pytest.raises(eq.EquipoiseError):
            wrong()
    assert store.head(name) == before
    times = []
    for act, new in (
        (lambda: live.correct_many({"P-0": 1.0, "P-1": 2.0, "P-2": 3.0}, "typing errors"), 2),
        (lambda: live.received_many({"P-0": "c", "P-1": "c", "P-2": "c"}, "mixed up"), 2),
        (lambda: live.lose_many(["P-3", "P-4"], "moved"), 2),
        (lambda: live.withdraw_many(["P-4", "P-5"], "asked to"), 2),
    ):
        head = store.head(name).sequence
        assert (act(), act()) == (new, 0)
        rows = list(live.log(head))
        assert len(rows) == new
        assert live.receipt.hash == rows[-1].hash
        times.append({row.time for row in rows})
    assert [len(each) for each in times] == [1, 1, 1, 1]
    assert eq.load_experiment(store=store, name=name).counts == live.counts
    assert live.verify().units == 6


def test_who_and_why_are_in_the_log(memory, name, problem):
    live = created(memory, name, problem)
    live.ask([1.0, 2.0], unit="P-1")
    with live.acting("dr-who"):
        live.lose("P-1", reason="  moved away ")
        with live.acting("bea"):
            live.pause("a weekend")
    live.resume()
    entries = list(live.log(after=2))
    assert [(entry.kind, entry.actor, entry.reason) for entry in entries] == [
        ("lost", "dr-who", "moved away"),
        ("paused", "bea", "a weekend"),
        ("resumed", "ann", None),
    ]
    assert all(entry.version == eq.__version__ and entry.numerics == eq.NUMERICS for entry in entries)
    assert abs(entries[0].time - datetime.now(UTC)) < timedelta(minutes=5)
    assert entries[0].event == {"kind": "lost", "id": 1, "unit": "P-1"}
    with pytest.raises(InvalidArgument, match="who acts"), live.acting(" "):
        pass


def test_actors_of_one_experiment_are_not_those_of_another(memory, problem):
    one, other = created(memory, "one", problem), created(memory, "other", problem)
    with one.acting("bea"):
        one.note("here")
        other.note("there")
    assert [list(each.log())[-1].actor for each in (one, other)] == ["bea", "ann"]


def test_receipts_are_of_rows_and_of_threads(store, name, problem):
    live = created(store, name, problem)
    (first,) = live.log()
    assert (live.receipt.sequence, live.receipt.hash) == (1, first.hash)
    assert live.verify(live.receipt).receipt == live.receipt
    assert eq.load_experiment(store=store, name=name).receipt is None
    many = live.ask_many(np.eye(2), ["x", "y"])
    entries = {entry.sequence: entry for entry in live.log()}
    for unit in many:
        assert entries[unit.receipt.sequence].hash == unit.receipt.hash
        assert entries[unit.receipt.sequence].event["id"] == unit.id
    assert live.receipt == max((unit.receipt for unit in many), key=lambda receipt: receipt.sequence)
    assert eq.load_experiment(store=store, name=name, receipt=str(live.receipt)).asked == 2
    with pytest.raises(ReceiptUnknown, match="another hash"):
        eq.load_experiment(store=store, name=name, receipt=eq.Receipt(name, 1, 2, bytes(32)))
    with pytest.raises(ReceiptUnknown, match="has 3 rows"):
        eq.load_experiment(store=store, name=name, receipt=eq.Receipt(name, 1, 9, bytes(32)))


def test_processes_see_each_other(store, name, problem):
    one = created(store, name, problem)
    other = eq.load_experiment(store=store, name=name)
    one.ask([1.0, 0.0], unit="P-1")
    assert other.asked == 1
    other.tell("P-1", 2.0)
    assert one["P-1"].outcome == 2.0
    assert one["P-1"].scores is not None
    assert one.ask([0.0, 1.0]).id == 2
    assert other.ask([0.0, 1.0]).id == 3


def test_pausing(memory, name, problem):
    live = created(memory, name, problem)
    live.ask([1.0, 0.0], unit="P-1")
    live.pause("holidays")
    with pytest.raises(ExperimentPaused):
        live.ask([1.0, 1.0])
    live.tell("P-1", 1.0)
    assert eq.load_experiment(store=memory, name=name).paused
    live.resume()
    assert live.ask([1.0, 1.0]).id == 2


def test_overdue_is_computed_and_expiry_is_stored(store, name, problem):
    live = created(store, name, problem, deadline=timedelta(hours=1))
    for key in ("P-1", "P-2", "P-3"):
        live.ask([1.0, 0.0], unit=key)
    live.tell("P-2", 0.0)
    later = datetime.now(UTC) + timedelta(hours=2)
    assert len(live.overdue()) == 0
    assert [row["unit"] for row in live.overdue(now=later)] == ["P-1", "P-3"]
    assert len(live.overdue(timedelta(hours=3), now=later)) == 0
    assert store.head(name).sequence == 5
    assert live.expire(reason="nothing is old") == []
    assert eq.load_experiment(store=store, name=name).expire(timedelta(0), "end of study") == ["P-1", "P-3"]
    assert live["P-1"].status == "lost"
    assert live["P-1"].closed_at is not None
    live.tell("P-1", 4.0)
    assert (live["P-1"].status, live["P-1"].outcome) == ("told", 4.0)
    assert live.asked == 3
    with pytest.raises(InvalidArgument, match="not a duration"):
        live.expire(timedelta(seconds=-1), "x")


def test_a_deadline_is_needed(memory, name, problem):
    live = created(memory, name, problem)
    with pytest.raises(InvalidArgument, match="without a deadline"):
        live.overdue()


def test_names(store, name, problem):
    created(store, f"default/{name}", problem)
    with pytest.raises(ExperimentExists):
        created(store, name, problem)
    with pytest.raises(ExperimentNotFound):
        eq.load_experiment(store=store, name=f"{name}-2")


def test_records_are_kept_as_they_were_given(memory, name):
    features = eq.Features("1 + age", age=eq.Number(18, 90, center=50, scale=10))
    problem = eq.Problem(arms=["a", "b"], features=features, budget=20)
    live = created(memory, name, problem)
    live.ask({"age": 54}, unit="P-1")
    live.ask_many([{"age": 30}, {"age": 70}], ["P-2", "P-3"])
    assert [row["age"] for row in live.units()] == [54, 30, 70]
    assert live["P-2"].context == {"age": 30}
    assert live.units()[0]["asked_at"] <= datetime.now(UTC)
    assert [row["age"] for row in live.in_memory().units()] == [54, 30, 70]
    assert live.in_memory().ask({"age": 54}, unit="P-1") == live.ask({"age": 54}, unit="P-1")


def test_closing(file_url, name, problem):
    with created(file_url, name, problem) as live:
        live.ask([1.0, 0.0], unit="P-1")
    live.close()
    for act in (lambda: live.ask([1.0, 1.0]), lambda: live.asked):
        with pytest.raises(StoreUnavailable, match="closed here"):
            act()
    with eq.load_experiment(store=file_url, name=name) as live:
        assert live.asked == 1
        with pytest.raises(AssignmentNotFound):
            live.tell("P-2", 0.0)


def test_a_seed_is_drawn_unless_it_is_given(memory, problem):
    seeds = [eq.create_experiment(store=memory, name=f"t-{j}", problem=problem).seed for j in range(3)]
    assert len({*seeds}) == 3
    assert all(0 <= seed < 2**53 for seed in seeds)
    assert eq.create_experiment(store=memory, name="given", problem=problem, seed=0).seed == 0


@pytest.mark.parametrize("deadline", [timedelta.max, timedelta(days=10**5), timedelta(days=-1), 30])
def test_what_is_no_deadline(memory, problem, deadline):
    with pytest.raises(InvalidArgument, match=r"too far away|not a duration"):
        eq.create_experiment(store=memory, name="trial", problem=problem, deadline=deadline)
    assert memory.names() == []


def test_a_deadline_comes_back_to_the_microsecond(memory, problem):
    limit = timedelta(days=36_599, microseconds=1)
    eq.create_experiment(store=memory, name="trial", problem=problem, deadline=limit)
    assert eq.load_experiment(store=memory, name="trial").deadline == limit


@pytest.mark.parametrize("now", [datetime.min, "today", 5])
def test_what_is_no_moment(memory, name, problem, now):
    live = created(memory, name, problem, deadline=timedelta(hours=1))
    with pytest.raises(InvalidArgument, match="is not a moment"):
        live.overdue(now=now)


def test_the_deadline_is_known(memory, problem):
    limit = timedelta(days=30)
    for name, deadline in (("with", limit), ("without", None)):
        eq.create_experiment(store=memory, name=name, problem=problem, deadline=deadline).close()
        assert eq.load_experiment(store=memory, name=name).deadline == deadline


def test_it_says_that_it_cannot_be_pickled(memory, name, problem):
    live = created(memory, name, problem)
    for send in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"cannot be pickled.*eq\.load_experiment\(store=") as found:
            send(live)
        assert isinstance(found.value, eq.EquipoiseError)
    assert pickle.loads(pickle.dumps(live.in_memory())).asked == live.asked
