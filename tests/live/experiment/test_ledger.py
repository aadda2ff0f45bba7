"""Nothing is acknowledged that is not stored; a commit whose end nobody saw is looked for, not repeated."""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from storing.faulty import FaultyStore

import equipoise as eq
from equipoise.errors import (
    CommitUnknown,
    ExperimentExists,
    InvalidArgument,
    InvalidEvent,
    ReceiptUnknown,
    StoreFull,
    StoreUnavailable,
)
from equipoise.live.experiment import ledger
from equipoise.live.experiment.requests import asking
from equipoise.live.experiment.requests.combining import Request
from equipoise.live.log.rows import make_rows

UNKNOWN = "lost on the way there", "lost on the way back"


@pytest.fixture
def faulty(monkeypatch):
    monkeypatch.setattr(ledger, "PAUSE", 0.0)
    return FaultyStore()


@pytest.fixture
def live(faulty, problem):
    return eq.create_experiment(store=faulty, name="trial", problem=problem, seed=3)


def bits(experiment):
    return {key: array.tobytes() for key, array in experiment.in_memory().snapshot().items()}


def kinds(live):
    return [entry.kind for entry in live.log()]


@pytest.mark.parametrize("keyed", [True, False])
@pytest.mark.parametrize("fault", [*UNKNOWN, "cannot be reached"])
def test_one_lost_commit_is_made_good(live, faulty, fault, keyed, problem):
    faulty.faults = [fault]
    unit = live.ask([1.0, 2.0], unit="P-1" if keyed else None)
    assert kinds(live) == ["created", "asked"]
    assert unit.receipt.hash == next(live.log(after=1)).hash
    faulty.faults = [fault]
    live.tell(unit.id, 1.5)
    assert kinds(live) == ["created", "asked", "told"]
    memory = eq.Experiment(problem, seed=3)
    assert memory.ask([1.0, 2.0], unit="P-1" if keyed else None) == unit
    assert live.verify().decided == 1


def test_what_was_stored_is_not_carried_out_again(live, faulty):
    faulty.faults = ["lost on the way back"]
    live.ask([1.0, 2.0])
    assert live.asked == 1
    # The commit, and one that finds it and writes nothing.
    assert faulty.commits == 2
    assert live._last_written == 2  # or no snapshot would be saved of it


def test_a_row_of_somebody_else_is_not_taken_for_the_lost_one(live, faulty, monkeypatch):
    """Another host writes the row with that number before the second attempt looks."""
    other = eq.load_experiment(store=faulty, name="trial", actor="bea")
    between = SimpleNamespace(sleep=lambda seconds: other.ask([3.0, 1.0], unit="O-1"))
    monkeypatch.setattr(ledger, "time", between)
    faulty.faults = ["lost on the way there"]
    unit = live.ask([1.0, 2.0], unit="P-1")
    asked = list(live.log(after=1))
    assert [entry.event["unit"] for entry in asked] == ["O-1", "P-1"]
    assert (unit.id, unit.receipt.hash) == (2, asked[1].hash)
    assert live.verify(unit.receipt).decided == 2


@pytest.mark.parametrize("fault", UNKNOWN)
def test_a_store_that_stays_away_is_said_to(live, faulty, fault):
    faulty.faults = [fault] + ["lost on the way there"] * (ledger.ATTEMPTS - 1)
    if fault == "lost on the way back":
        unit = live.ask([1.0, 2.0], unit="P-1")  # found by the second attempt
        assert unit.id == 1
    else:
        with pytest.raises(CommitUnknown, match="cannot be asked whether it happened"):
            live.ask([1.0, 2.0], unit="P-1")
        assert kinds(live) == ["created"]
    assert live.ask([1.0, 2.0], unit="P-1").id == 1
    assert kinds(live) == ["created", "asked"]


def test_a_commit_in_doubt_stays_so_when_the_store_cannot_be_reached_afterwards(live, faulty):
    writing, down = faulty.writing, []

    @contextmanager
    def gone_after_one(name, waiting=None):
        if down:
            raise StoreUnavailable("no server", hint="nothing was stored")
        down.append(name)
        with writing(name) as writer:
            yield writer

    faulty.writing = gone_after_one
    faulty.faults = ["lost on the way back"]
    with pytest.raises(CommitUnknown, match="cannot be asked whether it happened"):
        live.ask([1.0, 2.0], unit="P-1")
    with pytest.raises(StoreUnavailable) as caught:  # of which nothing was sent
        live.ask([1.0, 2.0], unit="P-2")
    assert not isinstance(caught.value, CommitUnknown)
    del faulty.writing
    assert live.ask([1.0, 2.0], unit="P-1").id == 1
    assert kinds(live) == ["created", "asked"]


def test_a_batch_that_can_be_gone_through_once_is_asked_for_again_whole(live, faulty):
    faulty.faults = ["lost on the way there"]
    units = live.ask_many(iter([[1.0, 2.0], [0.5, 1.0]]), iter(["P-1", "P-2"]))
    assert [unit.unit for unit in units] == ["P-1", "P-2"]
    assert kinds(live) == ["created", "asked_together", "asked_together"]


def test_errors_that_are_certain_are_not_tried_again(live, faulty):
    faulty.faults = ["full"]
    with pytest.raises(StoreFull):
        live.ask([1.0, 2.0])
    assert faulty.commits == 1
    assert live.asked == 0
    assert live.ask([1.0, 2.0]).id == 1
    faulty.faults = ["cannot be reached"] * ledger.ATTEMPTS
    with pytest.raises(StoreUnavailable):
        live.tell(1, 0.0)
    assert live.pending == [1]


@pytest.mark.parametrize("fault", ["interrupted before", "interrupted after"])
def test_an_interrupt_leaves_what_is_stored(live, faulty, fault, problem):
    faulty.faults = [fault]
    with pytest.raises(KeyboardInterrupt):
        live.ask([1.0, 2.0], unit="P-1")
    stored = fault == "interrupted after"
    assert live.asked == stored
    assert live.ask([1.0, 2.0], unit="P-1").id == 1
    assert kinds(live) == ["created", "asked"]
    assert live.verify().decided == 1


@pytest.mark.parametrize("fault", ["interrupted before", "interrupted after", *UNKNOWN, "full", ""])
def test_everybody_who_waits_is_answered(live, faulty, fault, monkeypatch):
    """A thread works for the others while its commit fails; they go on, or get the error."""
    waiting, results = 6, {}

    def ask(i):
        try:
            results[i] = live.ask([1.0, float(i)], unit=f"u{i}")
        except BaseException as error:
            results[i] = error

    with live._lock:
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(waiting)]
        for thread in threads:
            thread.start()
        while len(live._ledger.combiner._waiting) < waiting:
            pass
        faulty.faults = [fault]
        commits = faulty.commits
    for thread in threads:
        thread.join(timeout=20)
    assert len(results) == waiting
    errors = [error for error in results.values() if isinstance(error, BaseException)]
    stored = {entry.event["unit"]: entry for entry in live.log(after=1)}
    if fault == "full":
        assert [type(error) for error in errors] == [StoreFull] * waiting
        assert len({id(error) for error in errors}) == waiting
        assert not stored
        return
    assert len(errors) == fault.startswith("interrupted")
    for i, unit in results.items():
        if not isinstance(unit, BaseException):
            assert unit.receipt.hash == stored[f"u{i}"].hash
            assert unit.arm == stored[f"u{i}"].event["arm"]
    assert len(stored) in (waiting, waiting - len(errors))
    assert faulty.commits - commits <= 3
    assert live.verify().units == len(stored)


def test_one_bad_request_does_not_spoil_the_others(live):
    results = {}

    def tell(i):
        try:
            results[i] = live.tell("P-1" if i % 2 else "nobody", 1.0)
        except eq.EquipoiseError as error:
            results[i] = type(error).__name__

    live.ask([1.0, 2.0], unit="P-1")
    with live._lock:
        threads = [threading.Thread(target=tell, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        while len(live._ledger.combiner._waiting) < 6:
            pass
    for thread in threads:
        thread.join(timeout=20)
    assert results == {i: None if i % 2 else "AssignmentNotFound" for i in range(6)}
    assert kinds(live) == ["created", "asked", "told"]


def test_the_same_unit_twice_in_one_commit(live):
    results = []
    with live._lock:
        threads = [
            threading.Thread(target=lambda: results.append(live.ask([1.0, 2.0], unit="P-1")))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        while len(live._ledger.combiner._waiting) < 4:
            pass
    for thread in threads:
        thread.join(timeout=20)
    assert len({unit.receipt for unit in results}) == 1
    assert all(unit == results[0] and unit.scores == results[0].scores for unit in results)
    assert kinds(live) == ["created", "asked"]


def test_a_log_that_was_exchanged_underneath_is_noticed(live, faulty, problem):
    live.ask([1.0, 2.0])
    later = eq.load_experiment(store=faulty, name="trial")
    del faulty._logs["trial"]
    other = eq.create_experiment(store=faulty, name="trial", problem=problem, seed=4)
    for act in (lambda: live.asked, lambda: live.ask([0.0, 1.0]), lambda: live.asked):
        with pytest.raises(ReceiptUnknown, match="restored from a backup, or exchanged"):
            act()
    other.ask([1.0, 1.0])
    other.ask([1.0, 1.0])
    # Its rows are as many by now, and more; they are others.
    for one in (live, later):
        with pytest.raises(ReceiptUnknown):
            one.ask([0.0, 1.0])
    assert eq.load_experiment(store=faulty, name="trial").asked == 2


def test_creating_is_looked_for_too(faulty, problem):
    class Lost(FaultyStore):
        @contextmanager
        def creating(self, *arguments, **rest):
            if self.faults == ["down"]:
                raise StoreUnavailable("no server", hint="nothing was stored")
            with super().creating(*arguments, **rest) as writer:
                yield writer
            if self.faults:
                raise CommitUnknown(self.faults.pop(0))

    store = Lost()
    store.faults = ["lost on the way back"]
    assert eq.create_experiment(store=store, name="trial", problem=problem).asked == 0
    store.faults = ["lost on the way back", "down"]
    with pytest.raises(CommitUnknown):
        eq.create_experiment(store=store, name="other", problem=problem)
    store.faults = []
    with pytest.raises(ExperimentExists):
        eq.create_experiment(store=store, name="other", problem=problem)


def test_known_and_new_units_are_answered_if_they_are_stored(live, faulty, monkeypatch):
    first = live.ask([1.0, 2.0], unit="P-1")

    def gone(*given):
        raise StoreUnavailable("no server", hint="nothing was stored")

    with monkeypatch.context() as patch:
        patch.setattr(faulty, "read", gone)  # after the commit nothing can be read any more
        units = live.ask_many([[1.0, 2.0], [0.5, 1.0]], ["P-1", "P-2"])
    assert units[0] == first
    assert units[0].receipt == first.receipt
    assert units[1].receipt.hash == next(live.log(after=2)).hash
    assert kinds(live) == ["created", "asked", "asked_together"]


def together(live, *acts):
    """Carry out several requests in one commit, as combined threads do; gives their answers."""
    requests = [Request(act, "ann", None) for act in acts]
    with live._lock:
        live._ledger._carry_out(requests)
    return [request.answer for request in requests]


def asked(unit):
    return lambda turn: asking.noted(turn, [turn.experiment.ask([1.0, 2.0], unit)])


def test_a_unit_that_two_ask_for_in_one_commit(live):
    (one, _), (two, _) = together(live, asked("P-1"), asked("P-1"))
    first, second = asking.assignments(one)[0], asking.assignments(two)[0]
    assert first == second
    assert first.receipt == second.receipt
    assert first.receipt.hash == next(live.log(after=1)).hash


def test_only_who_brings_what_cannot_be_written_gets_the_error(live, problem):
    live.ask([1.0, 2.0], unit="P-0")

    def unwritable(turn):
        turn.experiment.tell("P-0", 9.0)
        turn.experiment.note("a remark")
        turn.events[-1]["text"] = 10**5000

    def half_way(turn):
        turn.experiment.tell("P-0", 8.0)
        raise RuntimeError("stopped half-way")

    answers = together(live, asked("P-1"), unwritable, half_way, asked("P-2"))
    errors = [error for _, error in answers]
    assert [type(error) for error in errors] == [type(None), InvalidArgument, RuntimeError, type(None)]
    assert kinds(live) == ["created", "asked", "asked", "asked"]
    assert live["P-0"].status == "pending"
    again = eq.Experiment(problem, seed=3)
    for unit in ("P-0", "P-1", "P-2"):
        again.ask([1.0, 2.0], unit)
    assert bits(live) == bits(again)
    assert live.verify().decided == 3


def test_the_row_that_cannot_be_folded_is_named(live, faulty):
    live.ask([1.0, 2.0], unit="P-1")
    event = {"kind": "told", "id": 7, "outcome": 1.0}
    head = faulty.head("trial")
    with faulty.writing("trial") as writer:
        writer.append(
            make_rows(
                [event],
                "ann",
                previous=head.hash,
                sequence=head.sequence,
                time=writer.now,
                epoch=1,
                mode="live",
            )
        )
    for act in (lambda: live.asked, lambda: eq.load_experiment(store=faulty, name="trial")):
        with pytest.raises(InvalidEvent, match=r"row 3 \(told\) of 'trial' cannot be folded in: .*unit 7"):
            act()


@pytest.mark.parametrize(
    ("text", "what"),
    [("x" * 10_001, "10,001 characters"), ("bell \a", "cannot be shown"), ("half \ud800", "cannot be shown")],
)
def test_texts_have_limits(live, text, what):
    live.ask([1.0, 2.0], unit="P-1")
    for act in (
        lambda: live.note(text),
        lambda: live.lose("P-1", reason=text),
        lambda: live.pause(reason=text),
        lambda: live.acting(text).__enter__(),
    ):
        with pytest.raises(InvalidArgument, match=what):
            act()
    for name in ("two\nlines", "x" * 201, "a\tb"):
        with pytest.raises(InvalidArgument, match="the name of who acts"), live.acting(name):
            pass
    live.note("two\r\nlines")
    assert [entry.event.get("text") for entry in live.log(after=2)] == ["two\nlines"]
    live.note("x" * 10_000)
