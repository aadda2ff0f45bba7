"""A person's data go for good, the log stays sound, and models stay as they are."""

import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path

import apsw
import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import (
    AssignmentClosed,
    AssignmentNotFound,
    ErasureUnfinished,
    NotRedactable,
    StoreBusy,
)
from equipoise.live.experiment.redacting import Redaction
from equipoise.live.experiment.state import snapshots
from equipoise.live.log import undisturbed
from equipoise.live.stores import sql
from equipoise.live.stores.sql import SqlStore

KEY = "Jane-Doe-1971"


def bits(experiment):
    return {key: array.tobytes() for key, array in experiment.in_memory().snapshot().items()}


def begun(store, name, problem):
    live = eq.create_experiment(store=store, name=name, problem=problem, seed=3, actor="ann")
    rng = np.random.default_rng(0)
    for i in range(6):
        live.ask(rng.normal(size=2), unit=f"u{i}")
        live.tell(f"u{i}", float(rng.normal()))
    live.ask_many([[0.123456789, 1.0], [0.5, 2.0]], [KEY, "v1"])
    live.tell(KEY, 0.987654321)
    live.note("called twice", KEY)
    live.correct(KEY, 0.87654321, reason="misread")
    live.ask([1.0, 1.0], unit="later")
    return live


def test_nothing_of_the_unit_is_left(store, name, problem):
    live = begun(store, name, problem)
    live._save_snapshot()
    other = eq.load_experiment(store=store, name=name)
    before = live.estimates()
    number = live[KEY].id
    live.redact(KEY, reason="she asked us to")
    assert store.load_snapshot(name) is None
    rows = list(store.read(name))
    gone = [row.sequence for row in rows if row.payload is None]
    assert len(gone) == 4
    told = b"".join((row.payload or b"") + row.header for row in rows)
    for secret in (KEY.encode(), b"0.123456789", b"0.87654321", b"called twice"):
        assert secret not in told
    assert list(live.log())[-1].kind == "redacted"
    assert list(live.log())[-1].reason == "she asked us to"
    assert [entry.event for entry in live.log() if entry.sequence in gone] == [None] * 4
    found = live.verify()
    assert (found.redacted, found.redacted_units, found.units) == (4, 1, 9)
    assert "1 unit redacted, 4 rows erased" in str(found)
    for one in (live, other, eq.load_experiment(store=store, name=name)):
        assert bits(one) == bits(live)
        for arm, earlier in zip(one.estimates(), before, strict=True):
            assert np.array_equal(arm.coef, earlier.coef)
        assert one[number].status == "redacted"
        assert one[number].unit is None
        with pytest.raises(AssignmentNotFound):
            one.tell(KEY, 0.0)
        with pytest.raises(AssignmentClosed, match="redacted"):
            one.correct(number, 0.0, reason="too late")
    assert live.ask([2.0, 1.0], unit="x") == other.ask([2.0, 1.0], unit="x")
    assert live.verify().decided + live.verify().undecided == 10
    assert [row["unit"] for row in live.units()].count(None) == 1


def test_decisions_before_and_after_are_made_anew(memory, problem):
    live = begun(memory, "trial", problem)
    live.redact(KEY, reason="she asked us to")
    for i in range(5):
        live.tell(live.ask([1.0, float(i)]).id, 1.0)
    found = live.verify()
    first, last = live[7].id, live[8].id
    assert (first, last) == (7, 8)
    assert 1 <= found.undecided <= 3  # she, who was asked with her, and "later"
    assert found.decided == 14 - found.undecided
    assert f"{found.undecided} decisions not verifiable: redacted" in str(found)


def test_twice_is_once(memory, problem):
    live = begun(memory, "trial", problem)
    number = live[KEY].id
    live.redact(KEY, reason="she asked us to")
    count = memory.head("trial").sequence
    live.redact(number, reason="again")
    assert memory.head("trial").sequence == count
    live.redact("u1", reason="he, too")
    assert live.verify().redacted == 6
    assert bits(eq.load_experiment(store=memory, name="trial")) == bits(live)
    with pytest.raises(AssignmentNotFound):
        live.redact("nobody", reason="x")
    with pytest.raises(AssignmentNotFound):
        live.redact(999, reason="x")
    with pytest.raises(NotRedactable):
        live.redact("later", reason="awaited")
    assert live.verify().redacted == 6


def test_many_at_once(store, name, problem):
    live = begun(store, name, problem)
    live.lose("later", reason="moved away")
    other = eq.load_experiment(store=store, name=name)
    before, times = live.estimates(), [(unit["asked_at"], unit["closed_at"]) for unit in live.units()]
    head = store.head(name)
    for wrong in ([KEY, "v1"], [KEY, "nobody"], [KEY, 99]):  # v1 is awaited
        with pytest.raises(eq.EquipoiseError):
            live.redact_many(wrong, "they asked us to")
    assert store.head(name) == head
    ids = {key: live[key].id for key in (KEY, "u1", "later")}
    assert live.redact_many([KEY, "u1", ids["u1"], "later"], "they asked us to") == 3
    assert store.head(name).sequence == head.sequence + 1
    # One event, so that what stays are sums over all of them: differences of two would be those of one unit.
    assert next(live.log(head.sequence)).event["ids"] == sorted(ids.values())
    rows = list(store.read(name))
    told = b"".join((row.payload or b"") + row.header for row in rows)
    for secret in (KEY.encode(), b"0.123456789", b"0.87654321", b"called twice", b'"u1"', b"later"):
        assert secret not in told
    assert len([row for row in rows if row.payload is None]) == 4 + 2 + 2
    found = live.verify()
    assert (found.redacted, found.redacted_units) == (8, 3)
    again = eq.load_experiment(store=store, name=name)
    for one in (live, other, again):
        assert bits(one) == bits(live)
        assert [(unit["asked_at"], unit["closed_at"]) for unit in one.units()] == times
        assert {one[number].status for number in ids.values()} == {"redacted"}
        for arm, earlier in zip(one.estimates(), before, strict=True):
            assert np.array_equal(arm.coef, earlier.coef)
    assert live.redact_many(list(ids.values()), "again") == 0
    assert again.redact_many([ids["u1"], "u2"], "one more") == 1
    with pytest.raises(AssignmentNotFound):
        live.redact_many([KEY], "the key is gone")
    assert live.verify().redacted == 10
    assert bits(eq.load_experiment(store=store, name=name)) == bits(again)


def test_it_goes_from_the_file(file_url, problem):
    live = begun(file_url, "trial", problem)
    path = Path(file_url.removeprefix("sqlite:///"))
    live.redact(KEY, reason="she asked us to")
    live.close()
    for part in path.parent.glob("trial.db*"):
        assert KEY.encode() not in part.read_bytes(), part


@contextmanager
def reader_of(path):
    """Somebody else who looks at the file as it is now, and goes on looking."""
    raw = apsw.Connection(str(path))
    raw.execute("BEGIN")
    raw.execute("SELECT count(*) FROM equipoise_events").fetchall()
    yield
    raw.close(True)


def holders(path):
    """Files of the store that hold something of her."""
    return {part.name for part in path.parent.glob(f"{path.name}*") if KEY.encode() in part.read_bytes()}


def test_a_long_reader_is_told_of(tmp_path, problem):
    path = tmp_path / "trial.db"
    with eq.open_store(f"sqlite:///{path}", wait=0.3) as store:
        live = begun(store, "trial", problem)
        number = live[KEY].id
        with reader_of(path):
            with pytest.raises(ErasureUnfinished, match="unit 8 is redacted in the log, but") as caught:
                live.redact(KEY, reason="she asked us to")
            assert (caught.value.unit, caught.value.hint.count("redact(8")) == (number, 1)
            assert live[number].status == "redacted"
            assert live.receipt.sequence == store.head("trial").sequence
            assert holders(path)
            with pytest.raises(ErasureUnfinished):
                live.redact(number, reason="again")
            live.ask([1.0, 1.5])  # others go on
        live.redact(number, reason="again")
        assert holders(path) == set()
        assert live.verify().redacted == 4
        with reader_of(path), pytest.raises(ErasureUnfinished, match="2 units are redacted") as caught:
            live.redact_many(["u3", "u2"], reason="they asked us to")
        assert caught.value.unit == 3
        live.redact(caught.value.unit, reason="again")


def test_a_short_reader_is_waited_for(tmp_path, problem):
    path = tmp_path / "trial.db"
    with eq.open_store(f"sqlite:///{path}", wait=20) as store:
        live = begun(store, "trial", problem)
        with ExitStack() as reading:
            reading.enter_context(reader_of(path))
            timer = threading.Timer(0.4, reading.pop_all().close)
            timer.start()
            live.redact(KEY, reason="she asked us to")
            timer.join()
        assert holders(path) == set()


def test_times_stay_after_a_fresh_load(store, name, problem):
    live = begun(store, name, problem)
    live.lose("later", reason="moved away")
    times = [(unit["asked_at"], unit["closed_at"]) for unit in live.units()]
    for key in (KEY, "later"):
        live.redact(key, reason="asked for")
    again = eq.load_experiment(store=store, name=name)
    for one in (live, again):
        assert [(unit["asked_at"], unit["closed_at"]) for unit in one.units()] == times
    assert again[8].closed_at is not None


def test_an_ask_that_only_the_erased_unit_explains(memory):
    problem = eq.Problem(["a", "b", "c"], 1, budget=20, moment=np.eye(1), costs={"a": 5}, floors={"a": 2})
    live = eq.create_experiment(store=memory, name="trial", problem=problem, policy="uniform", seed=3)
    for number, arm in enumerate("aabbbccc"):
        live.ask([1.0 + number], unit=f"u{number}", arm=arm, reason="history")
        live.tell(number + 1, float(number))
    live.withdraw("u0", reason="moved away")
    # What is left, 4, pays for no unit of "a", so nothing is kept for its floor; without "u2" it would be 5.
    assert live.ask([2.0], unit="last", arms=["c"]).arm == "c"
    live.redact("u2", reason="asked for")
    again = eq.load_experiment(store=memory, name="trial")
    assert bits(again) == bits(live)
    assert again["last"].arm == "c"
    assert live.verify().undecided == 7


def test_archives_keep_what_is_left(memory, problem, tmp_path):
    live = begun(memory, "trial", problem)
    live.redact(KEY, reason="she asked us to")
    live.archive(tmp_path / "trial.jsonl")
    assert eq.verify_archive(tmp_path / "trial.jsonl") == live.verify()
    with eq.open_store("memory:") as elsewhere:
        again = eq.import_archive(tmp_path / "trial.jsonl", store=elsewhere)
        assert bits(again) == bits(live)
        assert again.ask([3.0, 1.0]) == live.ask([3.0, 1.0])


@pytest.mark.parametrize("moment", ["before a chunk", "before the end"])
def test_a_snapshot_that_is_dropped_while_it_is_saved_leaves_nothing(
    store, name, problem, monkeypatch, moment
):
    if not isinstance(store, SqlStore):
        pytest.skip("it is saved at once")
    live, change = begun(store, name, problem), store._change

    def dropped_meanwhile(*steps, only_if=None):
        if ("chunks" if moment == "before a chunk" else "SET finished = 1") in steps[0][0]:
            monkeypatch.setattr(store, "_change", change)
            store.drop_snapshots(name)
        return change(*steps, only_if=only_if)

    monkeypatch.setattr(store, "_change", dropped_meanwhile)
    live._save_snapshot()
    # Of this one: a server holds experiments of other tests, too.
    experiment, _ = store._number(name)
    assert store._select("SELECT 1 FROM equipoise_snapshots WHERE experiment = $1", (experiment,)) == []
    saved = "SELECT number FROM equipoise_snapshots"
    assert store._select(f"SELECT 1 FROM equipoise_snapshot_chunks WHERE snapshot NOT IN ({saved})", ()) == []


def test_what_is_read_while_a_unit_is_redacted(file_url, problem, monkeypatch, tmp_path):
    """Its rows are erased before they are read, and the row that says so comes after the end."""
    monkeypatch.setattr(sql, "PAGE_ROWS", 3)
    with begun(file_url, "trial", problem) as live, eq.load_experiment(store=file_url, name="trial") as other:
        units, read, path = [KEY, "u5", "u4", "u3"], live.store.read, tmp_path / "trial.jsonl"

        def disturbed(name, after=0, upto=None):
            if units and after == 0:
                other.redact(units.pop(), reason="they asked us to")
            return read(name, after, upto)

        with monkeypatch.context() as patch:
            patch.setattr(live.store, "read", disturbed)
            found = live.verify()
            assert found.redacted_units == 4
            units += ["u2", "u1"]
            live.archive(path)
            units.append("u0")
            with eq.open_store("memory:") as elsewhere, pytest.raises(StoreBusy, match="redacted while"):
                eq.restore_experiment(store=elsewhere, name="trial", backup=live.store, reason="to see")
        assert eq.verify_archive(path).redacted_units == 6
        assert live.verify().redacted_units == 7


def test_who_redacts_for_ever_is_told_of(memory, problem, tmp_path, monkeypatch):
    live = begun(memory, "trial", problem)
    monkeypatch.setattr(undisturbed, "is_redacted_after", lambda *_: True)
    with pytest.raises(StoreBusy, match="when nobody redacts"):
        live.archive(tmp_path / "trial.jsonl")
    assert not (tmp_path / "trial.jsonl").exists()


def test_a_snapshot_of_somebody_slower_is_dropped(memory, problem):
    live = begun(memory, "trial", problem)
    slow = eq.load_experiment(store=memory, name="trial")
    arrays, meta, link = snapshots.copied(slow._ledger.state)
    live.redact(KEY, reason="she asked us to")
    memory.save_snapshot("trial", meta["sequence"], link, snapshots.LABEL, snapshots.pack(arrays, meta))
    slow._save_snapshot()  # of a state that has not caught up
    assert memory.load_snapshot("trial") is None
    memory.save_snapshot("trial", meta["sequence"], link, snapshots.LABEL, snapshots.pack(arrays, meta))
    again = eq.load_experiment(store=memory, name="trial")
    assert bits(again) == bits(live)
    assert memory.load_snapshot("trial") is None


def test_what_others_do_in_the_middle_of_it_is_erased_too(store, name, problem, monkeypatch):
    """After the look for rows another host corrects the unit; after the drop of snapshots it saves one."""
    live = begun(store, name, problem)
    other = eq.load_experiment(store=store, name=name)
    scan, drop, saved = Redaction.scan, store.drop_snapshots, []

    def corrected_meanwhile(self, *arguments):
        scan(self, *arguments)
        other.correct(KEY, 0.7654321, reason="misread again")

    def saved_meanwhile(*arguments):
        drop(*arguments)
        if not saved:
            other._save_snapshot()
            saved.append(store.load_snapshot(name).sequence)

    with monkeypatch.context() as patch:
        patch.setattr(Redaction, "scan", corrected_meanwhile)
        patch.setattr(store, "drop_snapshots", saved_meanwhile)
        live.redact(KEY, reason="she asked us to")
    assert saved == [store.head(name).sequence - 1]
    assert store.load_snapshot(name) is None
    rows = list(store.read(name))
    assert KEY.encode() not in b"".join(row.payload or b"" for row in rows)
    assert b"0.7654321" not in b"".join(row.payload or b"" for row in rows)
    assert live.verify().redacted == 5
    assert bits(eq.load_experiment(store=store, name=name)) == bits(live)
