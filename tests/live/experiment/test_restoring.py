"""Archives make the same experiment elsewhere; backups begin an epoch, and newer receipts are told."""

import gzip
import re
import shutil
import tracemalloc

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import (
    ArchiveDamaged,
    ChainBroken,
    DataNotFound,
    ExperimentExists,
    InvalidArgument,
    InvalidData,
    OutputExists,
    ReasonMissing,
    ReceiptUnknown,
    StoreBusy,
    WrongMode,
)
from equipoise.live.experiment import restoring
from equipoise.live.log.rows import make_rows


def begun(store, name, problem, **rest):
    live = eq.create_experiment(store=store, name=name, problem=problem, seed=3, **rest)
    rng = np.random.default_rng(0)
    for i in range(8):
        live.ask(rng.normal(size=2), unit=f"u{i}")
        live.tell(f"u{i}", float(rng.normal()))
    return live


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_an_archive_is_the_same_experiment(store, name, problem, tmp_path, suffix):
    live = begun(store, name, problem)
    path = tmp_path / f"trial.{suffix}"
    live.archive(path)
    assert eq.verify_archive(path, receipt=live.receipt) == live.verify(live.receipt)
    with eq.open_store("memory:") as elsewhere:
        again = eq.import_archive(path, store=elsewhere)
        assert (again.name, again.mode) == (name, "live")
        assert again.receipt == live.receipt
        assert list(again.log()) == list(live.log())
        assert again.ask([1.0, 2.0], unit="new") == live.ask([1.0, 2.0], unit="new")
        assert again.ask([1.0, 2.0], unit="new").receipt != live.ask([1.0, 2.0], unit="new").receipt
        with pytest.raises(ExperimentExists):
            eq.import_archive(path, store=elsewhere)


@pytest.mark.parametrize("there", ["trial.db", "trial.db-wal", "notes.txt"])
def test_an_archive_replaces_nothing_else(file_url, problem, tmp_path, there):
    (tmp_path / "notes.txt").write_text("ours")
    with begun(file_url, "trial", problem) as live:
        with pytest.raises(OutputExists, match="something else than an archive"):
            live.archive(tmp_path / there)
        for _ in range(2):
            live.archive(tmp_path / "trial.jsonl")
    assert (tmp_path / "notes.txt").read_text() == "ours"
    with eq.load_experiment(store=file_url, name="trial") as again:
        assert eq.verify_archive(tmp_path / "trial.jsonl") == again.verify()


def test_archives_are_the_same_bytes(memory, problem, tmp_path):
    live = begun(memory, "trial", problem)
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        live.archive(tmp_path / name)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


def test_damaged_archives(memory, problem, tmp_path):
    live, path = begun(memory, "trial", problem), tmp_path / "trial.jsonl"
    live.archive(path)
    lines = path.read_bytes().splitlines(keepends=True)

    def with_lines(*kept):
        path.write_bytes(b"".join(kept))
        return path

    with pytest.raises(ArchiveDamaged, match="is cut off after 16 rows"):
        eq.verify_archive(with_lines(*lines[:-2]))
    with pytest.raises(ArchiveDamaged, match="has 16 rows, and should have 17"):
        eq.verify_archive(with_lines(*lines[:-2], lines[-1]))
    with pytest.raises(ArchiveDamaged, match=r"line 4 of .* cannot be read"):
        eq.verify_archive(with_lines(*lines[:3], lines[3][:40] + b"\n"))
    with pytest.raises(ArchiveDamaged, match="line 3"):
        eq.verify_archive(with_lines(*lines[:2], b'{"sequence": 2}\n'))
    with pytest.raises(ArchiveDamaged, match="line 2"):
        eq.verify_archive(with_lines(lines[0], b"[]\n"))
    with pytest.raises(ArchiveDamaged, match="line 1"):
        eq.verify_archive(with_lines(lines[0][:60]))
    with pytest.raises(ArchiveDamaged, match="the first line"):
        eq.verify_archive(with_lines(lines[0].replace(b'"hash"', b'"hush"'), *lines[1:]))
    with pytest.raises(ArchiveDamaged, match="goes on after its end"):
        eq.verify_archive(with_lines(*lines, lines[1]))
    for number, wrong in [(0, b"1e999"), (1, b"1e999"), (1, b"[" * 10**5)]:
        spoiled = re.sub(rb'"sequence":\d+', b'"sequence":' + wrong, lines[number], count=1)
        assert spoiled != lines[number]
        with pytest.raises(ArchiveDamaged, match="cannot be read"):
            eq.verify_archive(with_lines(*lines[:number], spoiled, *lines[number + 1 :]))
    for no_archive in (b"a,b\n1,2\n", b"", b"{}\n", b"\x80"):
        with pytest.raises(InvalidData, match="not an archive") as found:
            eq.verify_archive(with_lines(no_archive))
        assert not isinstance(found.value, ArchiveDamaged)
    with pytest.raises(ChainBroken, match="at row 4"):
        eq.verify_archive(with_lines(*lines[:4], lines[4].replace(b"u1", b"u7"), *lines[5:]))
    with pytest.raises(ChainBroken, match="at row 4"), eq.open_store("memory:") as elsewhere:
        eq.import_archive(path, store=elsewhere)
    packed = gzip.compress(b"".join(lines))
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(ArchiveDamaged, match="cut off or damaged"):
        eq.verify_archive(path)
    with pytest.raises(DataNotFound):
        eq.verify_archive(tmp_path / "nothing.jsonl")


def test_practice_never_becomes_live(memory, problem, tmp_path):
    live, path = begun(memory, "trial", problem, mode="practice"), tmp_path / "trial.jsonl"
    live.archive(path)
    with eq.open_store("memory:") as elsewhere:
        with pytest.raises(WrongMode, match="practice data"):
            eq.import_archive(path, store=elsewhere, mode="live")
        assert eq.import_archive(path, store=elsewhere).mode == "practice"
        assert elsewhere.head("trial").mode == "practice"
    with eq.open_store("memory:") as elsewhere:
        restored = eq.restore_experiment(store=elsewhere, name="trial", backup=path, reason="a try")
        assert restored.mode == "practice"
    path.write_bytes(path.read_bytes().replace(b'"mode":"practice"', b'"mode":"live"', 1))
    with pytest.raises(WrongMode), eq.open_store("memory:") as elsewhere:
        eq.import_archive(path, store=elsewhere)
    path.write_bytes(path.read_bytes().replace(b"practice", b"live"))
    with pytest.raises(ChainBroken, match="at row 1"), eq.open_store("memory:") as elsewhere:
        eq.import_archive(path, store=elsewhere)


def test_a_backup_begins_an_epoch(file_url, problem, tmp_path):
    live = begun(file_url, "trial", problem)
    before = live.receipt
    live.store.backup(tmp_path / "backup.db")
    lost = live.ask([5.0, 5.0], unit="after the backup").receipt
    live.close()
    for backup in (tmp_path / "backup.db", f"sqlite:///{tmp_path / 'backup.db'}"):
        url = f"sqlite:///{tmp_path / 'restored.db'}"
        restored = eq.restore_experiment(store=url, name="trial", backup=backup, reason="the disk broke")
        assert restored.asked == 8
        newest = list(restored.log())[-1]
        assert (restored.receipt.sequence, restored.receipt.hash) == (newest.sequence, newest.hash)
        assert restored.verify(restored.receipt).receipt == restored.receipt
        assert (newest.kind, newest.epoch, newest.reason) == ("restored", 2, "the disk broke")
        assert newest.event["of"]["sequence"] == before.sequence
        assert restored.verify(before).restored == (18,)
        assert restored.store.head("trial").epoch == 2
        unit = restored.ask([1.0, 2.0], unit="new")
        assert (unit.receipt.epoch, unit.id) == (2, 9)
        for look in (
            lambda: restored.verify(lost),  # noqa: B023
            lambda: eq.load_experiment(store=url, name="trial", receipt=lost),  # noqa: B023
        ):
            with pytest.raises(ReceiptUnknown, match="newer than the restored log"):
                look()
        with pytest.raises(ExperimentExists):
            eq.restore_experiment(store=url, name="trial", backup=backup, reason="once more")
        restored.close()
        for part in tmp_path.glob("restored.db*"):
            part.unlink()


def test_a_store_that_was_brought_back_by_other_means(file_url, problem, tmp_path):
    live = begun(file_url, "trial", problem)
    live.store.backup(tmp_path / "backup.db")
    lost = live.ask([5.0, 5.0], unit="after the backup").receipt
    live.close()
    shutil.copy(tmp_path / "backup.db", tmp_path / "brought-back.db")
    url = f"sqlite:///{tmp_path / 'brought-back.db'}"
    with pytest.raises(ReasonMissing):
        eq.restore_experiment(store=url, name="trial")
    restored = eq.restore_experiment(store=url, name="trial", reason="pg_restore, so to speak", actor="bea")
    assert list(restored.log())[-1].actor == "bea"
    assert restored.verify(restored.receipt).head == restored.receipt
    with pytest.raises(ReceiptUnknown, match="newer than the restored log"):
        restored.verify(lost)
    assert restored.ask([1.0, 1.0]).receipt.epoch == 2
    again = eq.restore_experiment(store=url, name="trial", reason="twice")
    assert again.verify().restored == (18, 20)


def test_who_asks_again_after_a_restoration_gets_the_receipt_of_then(file_url, problem):
    live = begun(file_url, "trial", problem)
    x = np.random.default_rng(0).normal(size=2)
    before = live.ask(x, unit="u0").receipt
    live.close()
    with eq.restore_experiment(store=file_url, name="trial", reason="the disk broke") as restored:
        again = restored.ask(x, unit="u0").receipt
        assert again == before
        assert (again.epoch, again.line) == (1, "")
        assert restored.ask_many([x], ["u0"])[0].receipt == before
        assert restored.verify(again).receipt == before


def test_names_of_archives_are_not_exchanged(memory, problem, tmp_path):
    begun(memory, "trial", problem).archive(tmp_path / "trial.jsonl")
    with pytest.raises(InvalidArgument, match="holds 'trial'"), eq.open_store("memory:") as elsewhere:
        eq.restore_experiment(store=elsewhere, name="other", backup=tmp_path / "trial.jsonl", reason="x")


def test_a_backup_restored_twice_makes_two_lines(file_url, problem, tmp_path):
    live = begun(file_url, "trial", problem)
    live.store.backup(tmp_path / "backup.db")
    live.close()
    one, other = (
        eq.restore_experiment(
            store=f"sqlite:///{tmp_path / f'{number}.db'}",
            name="trial",
            backup=tmp_path / "backup.db",
            reason="the disk broke",
        )
        for number in "12"
    )
    of_one = [one.ask([1.0, 2.0], unit=f"new {number}").receipt for number in range(3)]
    of_other = other.ask([1.0, 2.0], unit="new 0").receipt
    assert {receipt.epoch for receipt in of_one} == {of_other.epoch} == {2}
    assert of_one[0].line == of_one[2].line != of_other.line
    for receipt in of_one:  # of rows that the other has, and of rows that it lacks
        assert one.verify(str(receipt)).receipt == receipt
        with pytest.raises(
            ReceiptUnknown, match=f"of another restoration: .*-{of_other.line}, .*-{receipt.line}"
        ):
            other.verify(str(receipt))
    # The same after a load, from a snapshot too, and in a unit that is asked for again.
    one._save_snapshot()
    again = eq.load_experiment(store=one.store, name="trial")
    assert again.ask([1.0, 2.0], unit="new 1").receipt == of_one[1]
    assert again.ask([3.0, 2.0]).receipt.line == of_one[0].line
    assert again.verify().head == again.receipt
    with pytest.raises(ReceiptUnknown, match="of epoch 2, and the log has come to epoch 1"):
        eq.verify_experiment(
            store=f"sqlite:///{tmp_path / 'backup.db'}", name="trial", receipt=str(of_one[0]), decisions=False
        )


def long_archive(path, problem, count):
    """An archive of so many long remarks, 10,000 characters each."""
    with eq.open_store("memory:") as store:
        live = eq.create_experiment(store=store, name="trial", problem=problem, seed=3)
        head = store.head("trial")
        events = [{"kind": "note", "text": f"{i:010d}" * 1000} for i in range(count)]
        with store.writing("trial") as writer:
            writer.append(
                make_rows(
                    events,
                    "ann",
                    previous=head.hash,
                    sequence=1,
                    time=writer.now,
                    epoch=1,
                    mode="live",
                )
            )
        live.archive(path)


def test_a_long_log_is_not_held_in_memory(problem, tmp_path):
    path, count = tmp_path / "trial.jsonl", 2000
    long_archive(path, problem, count)
    acts = {
        "imported": lambda url: eq.import_archive(path, store=url),
        "restored": lambda url: eq.restore_experiment(store=url, name="trial", backup=path, reason="a try"),
    }
    for name, act in acts.items():
        tracemalloc.start()
        live = act(f"sqlite:///{tmp_path / name}.db")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert live.store.head("trial").sequence >= count + 1
        assert most < 0.7 * path.stat().st_size
        live.close()


def test_a_unit_that_is_redacted_while_its_log_is_copied(store, name, problem, monkeypatch):
    """What is copied would lack the unit's data, and what tells why."""
    live, begin = begun(store, name, problem), restoring.begin
    last = live.receipt.sequence

    def begin_later(*arguments):
        monkeypatch.undo()
        live.redact("u3", reason="asked for it")
        return begin(*arguments)

    with eq.open_store("memory:") as elsewhere:
        monkeypatch.setattr(restoring, "begin", begin_later)
        with pytest.raises(StoreBusy, match="were redacted while"):
            eq.restore_experiment(store=elsewhere, name=name, backup=store, reason="a try")
        assert elsewhere.names() == []
        again = eq.restore_experiment(store=elsewhere, name=name, backup=store, reason="a try")
        assert (again.verify().redacted_units, again.receipt.sequence) == (1, last + 2)


def test_rows_that_are_written_while_a_log_is_copied_are_not_in_the_copy(store, name, problem, monkeypatch):
    live, begin = begun(store, name, problem), restoring.begin
    last = live.receipt.sequence

    def begin_later(*arguments):
        live.ask([1.0, 2.0], unit="late")
        return begin(*arguments)

    monkeypatch.setattr(restoring, "begin", begin_later)
    with eq.open_store("memory:") as elsewhere:
        again = eq.restore_experiment(store=elsewhere, name=name, backup=store, reason="a try")
        assert again.receipt.sequence == last + 1
        assert again.verify().units == 8
