"""What every store keeps, as checks that anyone can run on a store of their own.

>>> from equipoise.live.stores.contract import check_store
>>> from equipoise.live.stores.opening import open_store
>>> check_store(lambda: open_store("memory:", wait=0.2))

``check_store`` calls the function for a store that is open, and closes it. Every check makes experiments of
new names, so a store that holds others can be checked, too. A broken promise is a CheckFailed that names it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from threading import Event, Thread

from equipoise.errors import (
    CheckFailed,
    EquipoiseError,
    ExperimentExists,
    ExperimentNotFound,
    InvalidArgument,
    StoreBusy,
    StoreUnavailable,
)
from equipoise.live.stores.chain import SALT_BYTES, empty_head, first_link, hash_payload, link
from equipoise.live.stores.store import Head, Row, Snapshot, Store


def rows_after(head: Head, payloads: Sequence[bytes], time: int, header: bytes = b"{}") -> list[Row]:
    """Rows that continue a head."""
    rows, before = [], head.hash
    for sequence, payload in enumerate(payloads, head.sequence + 1):
        salt = os.urandom(SALT_BYTES)
        payload_hash = hash_payload(salt, payload)
        before = link(before, payload_hash, header)
        rows.append(Row(sequence, time, header, salt, payload, payload_hash, before))
    return rows


def check_store(open_one: Callable[[], Store]) -> None:
    """Run every check on a store."""
    for check in CHECKS:
        with open_one() as store:
            check(store)


def created_is_there(store: Store) -> None:
    """What was created is there, under its canonical name, and can be read."""
    name = f"checks/{_new_name()}"
    head = store.create(
        name, lambda now: rows_after(empty_head(name, "practice"), [b"a", b"b"], now), "practice"
    )
    rows = list(store.read(name))
    _hold(store.head(name) == head, "head() gives another head than create()")
    _hold(
        (head.name, head.mode, head.project) == (name, "practice", "checks"),
        "the head has another name or mode",
    )
    _hold([row.payload for row in rows] == [b"a", b"b"], "the rows are other ones")
    _hold((head.sequence, head.hash) == (2, rows[-1].hash), "the head is not that of the last row")
    _hold((head.created, head.updated) == (rows[0].time, rows[1].time), "times of head and rows differ")
    _hold(head in store.names() and head in store.names("checks"), "names() lacks an experiment")
    _hold(head not in store.names("other"), "names() gives experiments of another project")
    _hold(
        link(first_link(name), rows[0].payload_hash, rows[0].header) == rows[0].hash, "the first row's hash"
    )


def names_are_unique(store: Store) -> None:
    """A name is given once, and an unknown one is an error."""
    name = _begin(store)
    _raises(ExperimentExists, lambda: store.create(f"default/{name}", _one_row(name), "live"))
    missing = _new_name()
    for act in (store.head, store.read, store.load_snapshot, store.drop_snapshots):
        _raises(ExperimentNotFound, lambda act=act: act(missing))  # type: ignore[misc]
    with_writing = store.writing(missing)
    _raises(ExperimentNotFound, with_writing.__enter__)
    _raises(InvalidArgument, lambda: store.head("a/b/c"))


def failed_creation_leaves_nothing(store: Store) -> None:
    """Rows that cannot be made, or do not fit, begin no experiment."""
    name = _new_name()
    made: list[Callable[[int], list[Row]]] = [_failing, lambda now: [], _one_row("another")]
    for wrong in made:
        _raises((InvalidArgument, _Stop), lambda wrong=wrong: store.create(name, wrong, "live"))  # type: ignore[misc]
    _raises(InvalidArgument, lambda: store.create(name, _one_row(name), "rehearsal"))
    _raises(ExperimentNotFound, lambda: store.head(name))
    store.create(name, _one_row(name), "live")


def tries_leave_nothing(store: Store) -> None:
    """What would be refused is refused by a try, too, and nothing is made or stored by one."""
    name, missing = _begin(store), _new_name()
    before = store.head(name)
    store.try_writing(name)
    _hold(store.head(name) == before, "try_writing() has moved the head")
    store.try_creating(missing, "live")
    _raises(ExperimentNotFound, lambda: store.head(missing))
    _raises(ExperimentNotFound, lambda: store.try_writing(missing))
    _raises(ExperimentExists, lambda: store.try_creating(f"default/{name}", "live"))
    _raises(InvalidArgument, lambda: store.try_creating(missing, "rehearsal"))


def created_in_parts(store: Store) -> None:
    """Rows of a new experiment may come a few at a time, many in all; others see it when it is whole."""
    name, parts = _new_name(), 5
    with store.creating(name, "live", epoch=3) as writer:
        for part in range(parts):
            payloads = [b"%d %d" % (part, number) for number in range(300)]
            writer.append(rows_after(writer.head, payloads, writer.now))
        _hold(len(writer.newer(0)) == writer.head.sequence, "the writer does not read what it appended")
        _raises(ExperimentNotFound, lambda: store.head(name))
    rows = list(store.read(name))
    _hold(store.head(name) == writer.head, "head() gives another head than the writer's")
    _hold((len(rows), store.head(name).epoch) == (300 * parts, 3), "rows or epoch are others")
    _hold([rows[0].payload, rows[-1].payload] == [b"0 0", b"4 299"], "the rows are other ones")


def appended_is_there(store: Store) -> None:
    """Rows are kept bit for bit, in order, with what they continue."""
    name = _begin(store)
    payloads = [b"", bytes(range(256)), "größer".encode(), os.urandom(100_000)]
    with store.writing(name) as writer:
        rows = rows_after(writer.head, payloads, writer.now, '{"kind": "ß"}'.encode())
        writer.append(rows[:1])
        writer.append(rows[1:])
        _hold(list(writer.newer(1)) == rows, "newer() lacks what was appended")
        _hold(writer.head.hash == rows[-1].hash, "the writer's head does not move")
        _hold(store.head(name).sequence == 1, "others see what is not committed")
        _hold(len(list(store.read(name))) == 1, "others see what is not committed")
    _hold(list(store.read(name, after=1)) == rows, "rows come back changed")
    _hold(
        [row.sequence for row in store.read(name, 2, 4)] == [3, 4], "read() gives other rows than asked for"
    )
    _hold(
        list(store.read(name, 5)) == [] == list(store.read(name, 3, 2)),
        "read() gives rows that are not asked for",
    )
    with store.writing(name) as writer:
        _hold(writer.head == store.head(name), "the next writer begins elsewhere")
        _hold(list(writer.newer(3)) == rows[2:], "newer() gives other rows")


def many_rows_come_in_order(store: Store) -> None:
    """More rows than a page holds are read in order, without gaps."""
    name = _begin(store)
    with store.writing(name) as writer:
        writer.append(rows_after(writer.head, [str(i).encode() for i in range(1500)], writer.now))
    rows = list(store.read(name))
    _hold([row.sequence for row in rows] == list(range(1, 1502)), "rows are missing or in another order")


def failed_block_leaves_nothing(store: Store) -> None:
    """A block that raises stores nothing and gives the head back."""
    name = _begin(store)
    before = store.head(name)
    # One row, and more than are sent at once.
    for failure, count in ((_Stop, 1), (KeyboardInterrupt, 1500), (GeneratorExit, 1)):
        try:
            with store.writing(name) as writer:
                writer.append(rows_after(writer.head, [b"lost"] * count, writer.now))
                writer.newer(0)
                _hold(store.head(name) == before, "others see what is not committed")
                writer.erase([1])
                raise failure
        except failure:
            pass
        _hold(store.head(name) == before, "a block that raised has stored something")
        _hold(next(store.read(name)).payload is not None, "a block that raised has erased something")
    with store.writing(name) as writer:
        rows = rows_after(writer.head, [b"kept"], writer.now)
        writer.append(rows)
        _hold(list(writer.newer(1)) == rows, "what a block that raised has appended comes back")
    _hold(list(store.read(name, 1)) == rows, "what a block that raised has appended comes back")


def only_what_continues_is_taken(store: Store) -> None:
    """A row with another number, time or hash than what follows is refused, with all that come with it."""
    name = _begin(store)
    with store.writing(name) as writer:
        good = rows_after(writer.head, [b"x", b"y"], writer.now)
        changes: list[list[Row]] = [
            [good[0], good[0]],
            [good[1]],
            [good[0]._replace(sequence=3)],
            [good[0]._replace(header=b"other")],
            [good[0]._replace(payload=b"other")],
            [good[0]._replace(salt=bytes(SALT_BYTES))],
            [good[0]._replace(payload=None)],
            [good[0], good[1]._replace(time=writer.now - 1)],
            [good[0]._replace(hash=bytes(32))],
        ]
        for rows in changes:
            _raises(InvalidArgument, lambda rows=rows: writer.append(rows))  # type: ignore[misc]
        _raises(InvalidArgument, lambda: writer.append([], epoch=1))
        _raises(InvalidArgument, lambda: writer.erase([2]))
        writer.append(good)
    _hold(list(store.read(name, 1)) == good, "rows that were refused are there, or others are not")


def time_does_not_go_back(store: Store) -> None:
    """A clock that was set back does not make time go back."""
    name = _begin(store)
    with store.writing(name) as writer:
        late = writer.now + 3_600_000_000
        writer.append(rows_after(writer.head, [b"late"], late))
    with store.writing(name) as writer:
        _hold(writer.now >= late, "the writer's time is before the last row's")


def epochs_are_kept(store: Store) -> None:
    """A new epoch is in the head from then on."""
    name = _begin(store)
    with store.writing(name) as writer:
        writer.append(rows_after(writer.head, [b"restored"], writer.now), epoch=4)
    _hold(store.head(name).epoch == 4, "the epoch was not kept")


def erased_is_gone(store: Store) -> None:
    """Payload and salt are gone, header and hashes stay."""
    name = _begin(store)
    with store.writing(name) as writer:
        writer.append(rows_after(writer.head, [b"kept", b"personal"], writer.now))
    before = list(store.read(name))
    with store.writing(name) as writer:
        writer.erase([3])
        _hold(writer.newer(2)[0].payload is None, "the writer still reads what it erased")
    after = list(store.read(name))
    _hold((after[2].payload, after[2].salt) == (None, b""), "payload or salt are still there")
    kept = [(row.sequence, row.time, row.header, row.payload_hash, row.hash) for row in before]
    now = [(row.sequence, row.time, row.header, row.payload_hash, row.hash) for row in after]
    _hold(kept == now and before[:2] == after[:2], "more than payload and salt has changed")
    # An archive that holds erased rows can be brought into another store.
    copy = _new_name()
    rows = [Row(1, 5, b"h", b"", None, bytes(32), link(first_link(copy), bytes(32), b"h"))]
    store.create(copy, lambda now: rows, "live", epoch=2)
    _hold(
        list(store.read(copy)) == rows and store.head(copy).epoch == 2,
        "an erased row does not come back as it was",
    )


def snapshots_are_whole(store: Store) -> None:
    """The newest snapshot comes back bit for bit; others are gone."""
    name = _begin(store)
    _hold(store.load_snapshot(name) is None, "a snapshot that nobody saved")
    large = Snapshot(1, bytes(32), "format 1", os.urandom(3_000_000))
    small = Snapshot(2, bytes(range(32)), "", b"")
    for snapshot in (large, small):
        store.save_snapshot(name, snapshot.sequence, snapshot.hash, snapshot.label, snapshot.blob)
        _hold(store.load_snapshot(name) == snapshot, "a snapshot comes back changed")
    store.save_snapshot(name, 1, bytes(32), "late", b"older")
    _hold(store.load_snapshot(name) == small, "an older snapshot hides a newer one")
    store.drop_snapshots(name)
    _hold(store.load_snapshot(name) is None, "a snapshot that was dropped")


def writers_take_turns(store: Store) -> None:
    """Threads that write at once lose nothing and tear nothing."""
    names, each = [_begin(store), _begin(store)], 20
    failures: list[BaseException] = []

    def write(name: str) -> None:
        try:
            for _ in range(each):
                with store.writing(name) as writer:
                    writer.append(rows_after(writer.head, [b"1", b"2"], writer.now))
        except BaseException as error:
            failures.append(error)

    threads = [Thread(target=write, args=(name,)) for name in names * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _hold(
        not [error for error in failures if not isinstance(error, StoreBusy)],
        f"a writer failed: {failures[:1]}",
    )
    for name in names:
        rows = list(store.read(name))
        before = first_link(name)
        for row in rows:
            _hold(link(before, row.payload_hash, row.header) == row.hash, "the chain is broken")
            before = row.hash
        _hold(bool(failures) or len(rows) == 1 + 3 * each * 2, "rows are missing")


def waiting_is_bounded(store: Store) -> None:
    """A writer that waits too long is told; readers do not wait."""
    name = _begin(store)
    holds, done = Event(), Event()

    def hold() -> None:
        with store.writing(name):
            holds.set()
            done.wait(60)

    thread = Thread(target=hold)
    thread.start()
    try:
        _hold(holds.wait(60), "a writer waits although nobody writes")
        _raises(StoreBusy, store.writing(name).__enter__)
        _hold(store.head(name).sequence == 1, "a reader waits for a writer")
    finally:
        done.set()
        thread.join()
    with store.writing(name) as writer:
        writer.append(rows_after(writer.head, [b"again"], writer.now))


def closed_is_closed(store: Store) -> None:
    """A closed store says so, and may be closed again."""
    name = _begin(store)
    store.close()
    store.close()
    for act in (store.head, store.load_snapshot, lambda name: store.writing(name).__enter__(), store.read):
        _raises(StoreUnavailable, lambda act=act: act(name))  # type: ignore[misc]


CHECKS: tuple[Callable[[Store], None], ...] = (
    created_is_there,
    names_are_unique,
    failed_creation_leaves_nothing,
    tries_leave_nothing,
    created_in_parts,
    appended_is_there,
    many_rows_come_in_order,
    failed_block_leaves_nothing,
    only_what_continues_is_taken,
    time_does_not_go_back,
    epochs_are_kept,
    erased_is_gone,
    snapshots_are_whole,
    writers_take_turns,
    waiting_is_bounded,
    closed_is_closed,
)
"""The promises, one a function."""


class _Stop(Exception):
    """Raised by checks on purpose."""


def _failing(now: int) -> list[Row]:
    raise _Stop


def _new_name() -> str:
    return f"check-{secrets.token_hex(8)}"


def _one_row(name: str) -> Callable[[int], list[Row]]:
    return lambda now: rows_after(empty_head(name, "live"), [b"created"], now)


def _begin(store: Store) -> str:
    name = _new_name()
    store.create(name, _one_row(name), "live")
    return name


def _hold(promise: bool, otherwise: str) -> None:
    if not promise:
        raise CheckFailed(f"a store breaks its contract: {otherwise}")


def _raises(kind: type[BaseException] | tuple[type[BaseException], ...], act: Callable[[], object]) -> None:
    try:
        act()
    except kind:
        return
    except EquipoiseError as error:
        raise CheckFailed(
            f"a store breaks its contract: {type(error).__name__} in the place of {kind}"
        ) from error
    raise CheckFailed(f"a store breaks its contract: no {kind}")
