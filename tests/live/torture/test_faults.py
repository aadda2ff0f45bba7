"""What can happen to a store under a live experiment: a clear error, nothing acknowledged that is not stored,
and the way on that the pages describe."""

import shutil
import threading
from datetime import timedelta

import apsw
import numpy as np
import pytest
from full_disk import full_disk
from storing.failing_disk import failing_disk
from storing.nobody import as_nobody, open_folder
from torture.harness import bits

import equipoise as eq
from equipoise.errors import (
    CommitUnknown,
    EquipoiseError,
    ReceiptUnknown,
    SchemaMismatch,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from equipoise.live.log import rows as log_rows

REASON = "the disk was damaged"


def begun(url, name="trial", units=6, **rest):
    """An experiment in which something has happened."""
    problem = eq.Problem(arms=["a", "b", "c"], dim=2, budget=100_000, moment=np.eye(2))
    live = eq.create_experiment(store=url, name=name, problem=problem, policy="trace-gain", seed=3, **rest)
    ask(live, units)
    return live


def ask(live, count, first=0):
    """Units, each told of; gives the receipts."""
    receipts = []
    for i in range(first, first + count):
        receipts.append(live.ask([1.0, i % 5 - 2.0], unit=f"u{i}").receipt)
        live.tell(f"u{i}", i % 7 / 2)
    return receipts


def again(live, url):
    """The same experiment, opened anew, has what the open one has."""
    with eq.load_experiment(store=url, name=live.name) as other:
        assert bits(other.in_memory()) == bits(live.in_memory())
        return other.verify()


def copied(path, folder):
    folder.mkdir(exist_ok=True)
    return shutil.copy(path, folder / path.name)


def test_a_disk_that_fills_up(file_url, tmp_path):
    """Calls succeed until one says that the disk is full; that one is not in the log, all others are."""
    live = begun(file_url)
    with full_disk(max(file.stat().st_size for file in tmp_path.iterdir()) + 30_000):
        acknowledged = []
        with pytest.raises(StoreFull, match=r"no space is left.*free some space"):
            acknowledged.extend(live.ask([1.0, 0.5], unit=f"more-{i}") for i in range(500))
        stored = 6 + len(acknowledged)
        # Whoever waits is told, too, and reading goes on.
        errors = in_threads(4, lambda k: live.ask_many(np.ones((200, 2)), [f"{k}-{i}" for i in range(200)]))
        assert [type(error) for error in errors] == [StoreFull] * 4
        assert live.asked == stored
    assert again(live, file_url).units == stored
    assert live.ask([1.0, 0.5], unit=f"more-{len(acknowledged)}").id == stored + 1
    assert again(live, file_url).units == stored + 1


def test_a_disk_that_fails_in_the_moment_of_storing(file_url):
    """Once: the log is asked, and the call made good. For good: nobody is told that nothing was stored."""
    with failing_disk() as disk:
        live = begun(file_url)
        synced = disk.synced
        ask(live, 1, 6)
        assert disk.synced >= synced + 2  # every call is brought to the disk before it returns
        disk.failures = 1
        assert live.ask([1.0, 0.5], unit="once").id == 8
        assert disk.failed == 1
        disk.failures = 10**6
        with pytest.raises(CommitUnknown, match="cannot be asked whether it happened"):
            live.ask([1.0, 0.5], unit="for good")
        disk.failures = 0
        assert live.ask([1.0, 0.5], unit="for good").id == 9
        assert again(live, file_url).units == 9
        live.close()


def in_threads(count, act):
    errors = []

    def work(k):
        try:
            act(k)
        except EquipoiseError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_a_file_that_may_only_be_read(file_url, tmp_path):
    begun(file_url).close()
    with open_folder() as folder:
        path = folder / "trial.db"
        shutil.copy(tmp_path / "trial.db", path)
        path.chmod(0o444)
        with as_nobody(), eq.load_experiment(store=f"sqlite:///{path}", name="trial") as live:
            assert live.asked == 6
            for act in (lambda: live.ask([1.0, 0.0], unit="new"), lambda: live.close_arm("a", "unsafe")):
                with pytest.raises(StoreReadOnly, match="read-only here"):
                    act()
            assert (live.asked, live.verify().rows) == (6, 13)
        # What whoever could only read has left beside it has no more rights than the file had.
        for file in folder.iterdir():
            file.chmod(0o666)
        with as_nobody(), eq.load_experiment(store=f"sqlite:///{path}", name="trial") as live:
            assert live.ask([1.0, 0.0], unit="new").id == 7


def test_a_server_that_turns_read_only(own_server, own_url, name):
    database = own_url.partition("@/")[2].partition("?")[0]
    live = begun(own_url, name)

    def switch(word):
        own_server.run_sql(f"ALTER DATABASE {database} SET default_transaction_read_only = {word}")
        own_server.run_sql(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
        )

    switch("on")
    with pytest.raises(StoreReadOnly, match="connect to the primary server"):
        live.ask([1.0, 0.0], unit="new")
    assert live.asked == 6
    switch("off")
    assert live.ask([1.0, 0.0], unit="new").id == 7
    assert again(live, own_url).units == 7


def test_a_file_that_is_gone_in_the_middle(file_url, tmp_path):
    live = begun(file_url)
    away = tmp_path / "away"
    away.mkdir()
    kept = [path for path in tmp_path.iterdir() if path.is_file()]
    for path in kept:
        path.rename(away / path.name)
    for act in (lambda: ask(live, 1, 6), lambda: live.asked, lambda: live.verify()):
        with pytest.raises(StoreUnavailable, match=r"was removed or replaced.*open the store anew"):
            act()
    live.close()
    for path in kept:
        (away / path.name).rename(path)
    with eq.load_experiment(store=file_url, name="trial") as back:
        assert back.asked == 6
        ask(back, 1, 6)
        assert back.verify().rows == 15


def test_a_server_that_is_gone_in_the_middle(own_server, own_url, name):
    live = begun(own_url, name)
    own_server.stop("immediate")
    try:
        for act in (lambda: ask(live, 1, 6), lambda: live.asked):
            with pytest.raises(StoreUnavailable, match="see to the server"):
                act()
    finally:
        own_server.start()
    assert live.asked == 6
    ask(live, 1, 6)
    assert again(live, own_url).rows == 15


def test_a_flipped_byte_is_never_taken_for_data(file_url, tmp_path):
    """Wherever it is: an error that says what to do, or the log is whole; the backup brings the rest back."""
    live = begun(file_url, units=30)
    path, backup = tmp_path / "trial.db", tmp_path / "backup.db"
    live.store.backup(backup)
    sound = live.verify().head
    live.close()
    whole = path.read_bytes()
    noticed = []
    for place in range(120, len(whole), len(whole) // 40):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        try:
            found = eq.verify_experiment(store=file_url, name="trial")
        except EquipoiseError as error:
            assert error.hint
            noticed.append(place)
        else:
            assert found.head == sound
    assert len(noticed) > 10
    bring_back(tmp_path, backup, sound)


@pytest.mark.parametrize("damage", ["hash = zeroblob(32)", "sequence = 11"])
def test_a_head_that_is_not_the_end_of_the_log(file_url, tmp_path, damage):
    """Rows that were acknowledged are not left out without a word, and who writes is told what is wrong."""
    live = begun(file_url)
    raw = apsw.Connection(str(tmp_path / "trial.db"))
    raw.execute(f"UPDATE equipoise_experiments SET {damage}")
    raw.close()
    other = eq.load_experiment(store=file_url, name="trial")
    for act in (lambda: other.ask([1.0, 0.0], unit="new"), lambda: other.asked, lambda: other["u1"]):
        with pytest.raises(StoreDamaged, match=r"the head of 'trial' says .*restore the last backup"):
            act()
    with pytest.raises((StoreDamaged, ReceiptUnknown)):
        live.ask([1.0, 0.0], unit="new")
    with pytest.raises(eq.errors.ChainBroken, match="the end should be"):
        other.verify()


@pytest.mark.parametrize("left", [0.99, 0.5, 0.0])
def test_a_file_that_was_cut(file_url, tmp_path, left):
    live = begun(file_url, units=30)
    path, backup = tmp_path / "trial.db", tmp_path / "backup.db"
    live.store.backup(backup)
    sound = live.verify().head
    live.close()
    size = path.stat().st_size
    with path.open("rb+") as file:
        file.truncate(int(size * left))
    for act in (eq.load_experiment, eq.verify_experiment):
        with pytest.raises(EquipoiseError, match=r"damaged.*restore the last backup|broken at row") as caught:
            act(store=file_url, name="trial")
        assert isinstance(caught.value, (StoreDamaged, eq.errors.ChainBroken))
    bring_back(tmp_path, backup, sound)


def bring_back(folder, backup, sound):
    """What the pages tell to do: a new file from the last backup, in a new epoch; then go on."""
    url = f"sqlite:///{folder / 'new.db'}"
    with eq.restore_experiment(store=url, name="trial", backup=backup, reason=REASON) as live:
        verified = live.verify(sound)
        assert (verified.rows, verified.restored) == (sound.sequence + 1, (sound.sequence + 1,))
        ask(live, 1, 30)
        assert again(live, url).units == 31


def test_a_tail_that_was_cut_off_cleanly(file_url, tmp_path):
    """Rows are removed at the end, and the head set back: receipts tell, and whoever had it open."""
    live = begun(file_url)
    receipts = ask(live, 2, 6)
    raw = apsw.Connection(str(tmp_path / "trial.db"))
    triggers = [name for (name,) in raw.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'")]
    for trigger in triggers:
        raw.execute(f"DROP TRIGGER {trigger}")
    raw.execute("DELETE FROM equipoise_events WHERE sequence > 13")
    raw.execute(
        "UPDATE equipoise_experiments SET (sequence, hash, updated) ="
        " (SELECT sequence, hash, time FROM equipoise_events WHERE sequence = 13)"
    )
    raw.close()
    with pytest.raises(ReceiptUnknown, match="restored from a backup, or exchanged"):
        live.ask([1.0, 0.0], unit="new")
    live.close()
    for receipt in receipts:
        with pytest.raises(ReceiptUnknown, match="the log has 13 rows"):
            eq.load_experiment(store=file_url, name="trial", receipt=receipt)
        with pytest.raises(ReceiptUnknown, match="its end was cut off"):
            eq.verify_experiment(store=file_url, name="trial", receipt=receipt)
    assert eq.verify_experiment(store=file_url, name="trial").units == 6


def test_a_wal_that_was_cut(file_url, tmp_path):
    """After a power cut on a disk that lied: the log is shorter and whole; receipts tell what is gone."""
    live = begun(file_url)
    ask(live, 3, 6)
    last = live.receipt
    crashed = tmp_path / "crashed"
    for file in ("trial.db", "trial.db-wal"):
        copied(tmp_path / file, crashed)
    live.close()
    wal = crashed / "trial.db-wal"
    with wal.open("rb+") as file:
        file.truncate(wal.stat().st_size - 30_000)
    url = f"sqlite:///{crashed / 'trial.db'}"
    with pytest.raises(ReceiptUnknown):
        eq.load_experiment(store=url, name="trial", receipt=last)
    with eq.restore_experiment(store=url, name="trial", reason=REASON) as back:
        assert 0 < back.asked < 9
        assert len(back.verify().restored) == 1
        kept = back.asked
        # Used numbers are given again, in another epoch; what clients repeat by key is where it was.
        ask(back, 9 - kept + 1, kept - 1)
        assert back.verify().units == 9
        with pytest.raises(ReceiptUnknown, match=r"newer than the restored log|another hash"):
            back.verify(last)


def test_a_clock_that_is_set_back(file_url, monkeypatch):
    """Time stands still; no unit is overdue before it was asked for."""
    live = begun(file_url, deadline=timedelta(days=1))
    last = max(entry.time for entry in live.log())
    monkeypatch.setattr("time.time_ns", lambda: 1_000_000_000_000_000_000)
    ask(live, 2, 6)
    live.ask([1.0, 0.0], unit="pending")
    times = [entry.time for entry in live.log()]
    assert times == sorted(times)
    assert times[-1] == last
    assert len(live.overdue()) == 0
    monkeypatch.undo()
    ask(live, 1, 9)
    assert max(entry.time for entry in live.log()) > last
    assert again(live, file_url).units == 10


def test_tables_of_a_newer_program(file_url, tmp_path):
    """Reads, refuses to write with both versions, and goes on where that was undone."""
    live = begun(file_url)
    raw = apsw.Connection(str(tmp_path / "trial.db"))
    raw.execute("INSERT INTO equipoise_schema VALUES (2, '9.9', 0)")
    for one in (live, eq.load_experiment(store=file_url, name="trial")):
        with pytest.raises(SchemaMismatch, match="2"):
            one.ask([1.0, 0.0], unit="new")
        assert (one.asked, one.verify().rows) == (6, 13)
    raw.execute("DELETE FROM equipoise_schema WHERE version = 2")
    raw.close()
    assert live.ask([1.0, 0.0], unit="new").id == 7


def test_two_versions_write_in_turns(file_url, monkeypatch):
    """Each says so in its rows; neither uses the other's snapshots, and both see one history."""
    older = begun(file_url)
    monkeypatch.setattr(log_rows, "__version__", "0.0.9")
    newer = eq.load_experiment(store=file_url, name="trial")
    for i in range(6, 12, 2):
        ask(newer, 1, i)
        monkeypatch.undo()
        ask(older, 1, i + 1)
        monkeypatch.setattr(log_rows, "__version__", "0.0.9")
    assert bits(older.in_memory()) == bits(newer.in_memory())
    assert {entry.version for entry in older.log()} == {eq.__version__, "0.0.9"}
    assert again(older, file_url).units == 12
