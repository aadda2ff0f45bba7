"""Experiments that come from elsewhere: from an archive as they were, from a backup with a new epoch.

A log that was restored from a backup lacks what was acknowledged after it. So its restoration is an event of
its own, and begins an epoch: who comes with a receipt of a row that is gone is told so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from equipoise.errors import ExperimentExists, InvalidArgument, InvalidData, WrongMode
from equipoise.live.experiment.actors import Actor, demanded
from equipoise.live.experiment.experiment import LiveExperiment
from equipoise.live.experiment.opening import begin, opened
from equipoise.live.experiment.state.fold import Fold
from equipoise.live.log.archive import reading_archive
from equipoise.live.log.checking import Walk
from equipoise.live.log.rows import make_rows
from equipoise.live.log.undisturbed import undisturbed_rows
from equipoise.live.stores.names import full_name
from equipoise.live.stores.opening import open_store
from equipoise.live.stores.sql import PAGE_ROWS
from equipoise.live.stores.store import Head, Row, Store, Writer

_SQLITE = b"SQLite format 3\x00"


def import_archive(
    path: str | Path, *, store: str | Store, mode: str | None = None, actor: str | None = None
) -> LiveExperiment:
    """Make the experiment that an archive holds, chain included: the same rows under the same name.

    Parameters
    ----------
    path
        A file that :meth:`LiveExperiment.archive` has written.
    store
        Where the experiment is to be kept; there must be none of its name.
    mode
        The mode that it must be of, ``"live"`` or ``"practice"``; whatever it is unless given.
    actor
        Who acts from now on.
    """
    walk = _archived(path, mode)

    def fill(writer: Writer) -> None:
        with reading_archive(path) as (_, rows):
            _copy(rows, writer, walk)

    target, owns = opened(store)
    try:
        begun = begin(target, walk.name, fill, walk.mode, walk.epoch)
        return LiveExperiment(target, walk.name, actor, owns_store=owns, begun=begun)
    except BaseException:
        if owns:
            target.close()
        raise


def try_import(path: str | Path, *, store: Store, mode: str | None = None, actor: str | None = None) -> Walk:
    """Refuse what :func:`import_archive` would refuse, and store nothing; what would be imported."""
    walk = _archived(path, mode)
    Actor(actor)
    store.try_creating(walk.name, walk.mode)
    with reading_archive(path) as (_, rows):
        Fold(walk.name).catch_up(rows)  # as whoever opens it will
    return walk


def restore_experiment(
    *,
    store: str | Store,
    name: str,
    backup: str | Path | Store | None = None,
    actor: str | None = None,
    reason: str | None = None,
) -> LiveExperiment:
    """Go on from a backup, in a new epoch; needs a reason.

    Parameters
    ----------
    store, name
        Where the experiment is to be; with a ``backup`` there must be none of that name.
    backup
        A copy of an SQLite file, an archive, or the URL of a store. None: the store was brought back with
        tools of its own, such as ``pg_restore`` or by copying its file, and the experiment is in it.
    actor, reason
        Who restores it, and why.
    """
    why, who = demanded(reason, "restore an experiment"), Actor(actor).name
    name = full_name(name)
    target, owns = opened(store)
    try:
        if backup is None:
            begun = _mark(target, name, who, why)
        else:
            with _source(backup, name) as (rows, end):
                walk = _walked(name, rows, end)

            def fill(writer: Writer) -> None:
                with _source(backup, name, walk.sequence) as (rows, _):
                    _copy(rows, writer, walk)
                writer.append([_restored(walk, max(writer.now, walk.time), who, why)])

            begun = begin(target, name, fill, walk.mode, walk.epoch + 1)
        return LiveExperiment(target, name, actor, owns_store=owns, begun=begun)
    except BaseException:
        if owns:
            target.close()
        raise


def try_restore(
    *,
    store: Store,
    name: str,
    backup: str | Path | Store | None = None,
    actor: str | None = None,
    reason: str | None = None,
) -> Walk:
    """Refuse what :func:`restore_experiment` would refuse, and store nothing; what it would go on from."""
    demanded(reason, "restore an experiment")
    Actor(actor)
    name = full_name(name)
    source = store if backup is None else backup
    with _source(source, name) as (rows, end):
        walk = _walked(name, rows, end)
    if backup is None:
        store.try_writing(name)
    else:
        store.try_creating(name, walk.mode)
    with _source(source, name, walk.sequence) as (rows, _):
        Fold(name).catch_up(rows)  # as whoever opens it will
    return walk


def _archived(path: str | Path, mode: str | None) -> Walk:
    """A walk along the rows of an archive, of the mode that it must be of."""
    with reading_archive(path) as (head, rows):
        walk = _walked(head.name, rows, (head.sequence, head.hash))
    if mode not in (None, walk.mode) or walk.mode != head.mode:
        raise WrongMode(
            f"{path} holds {walk.mode} data, not {mode or head.mode}",
            hint="practice data never become live data; begin a new experiment",
        )
    return walk


def _walked(name: str, rows: Iterable[Row], end: tuple[int, bytes]) -> Walk:
    """A walk along rows whose chain is sound; or ChainBroken."""
    walk = Walk(name)
    for _ in walk.over(rows):
        pass
    walk.finish(*end)
    return walk


def _copy(rows: Iterable[Row], writer: Writer, walk: Walk) -> None:
    """Append the rows of a walk, a few at a time: they are read once more, so that few are in memory.

    They are folded, too: what cannot be opened here is not stored.
    """
    fold = Fold(walk.name)
    every = iter(rows)  # to its end, where it is known whether units were redacted meanwhile
    while some := list(islice(every, PAGE_ROWS)):
        fold.catch_up(some)
        writer.append(some)
    if writer.head.hash != walk.hash:
        raise InvalidData(
            f"what was to be read of {walk.name!r} has changed meanwhile",
            hint="try again, when nobody writes",
        )


def _restored(walk: Walk, time: int, actor: str, reason: str) -> Row:
    """The row that begins an epoch."""
    of = {"epoch": walk.epoch, "sequence": walk.sequence, "hash": walk.hash.hex()}
    (row,) = make_rows(
        [{"kind": "restored", "of": of}],
        actor,
        reason,
        previous=walk.hash,
        sequence=walk.sequence,
        time=time,
        epoch=walk.epoch + 1,
        mode=walk.mode,
    )
    return row


def _mark(store: Store, name: str, actor: str, reason: str) -> Head:
    """Begin an epoch in a log that is in its place already; its head then."""
    head = store.head(name)
    walk = _walked(name, undisturbed_rows(store, name, head.sequence), (head.sequence, head.hash))
    with store.writing(name) as writer:
        if writer.head.hash != walk.hash:
            raise ExperimentExists(
                f"somebody goes on writing to {name!r}", hint="stop all programs that use it, then restore it"
            )
        writer.append([_restored(walk, writer.now, actor, reason)], epoch=walk.epoch + 1)
        marked = writer.head
    return marked


@contextmanager
def _source(
    backup: str | Path | Store, name: str, upto: int | None = None
) -> Iterator[tuple[Iterable[Row], tuple[int, bytes]]]:
    """The rows of an experiment in a backup, and what it says about their end; of a store those up to one."""
    if isinstance(backup, Store):
        head = backup.head(name)
        last = head.sequence if upto is None else upto
        yield undisturbed_rows(backup, name, last), (head.sequence, head.hash)
    elif _is_database(backup):
        url = (
            backup if isinstance(backup, str) and "://" in backup else f"sqlite:///{Path(backup).absolute()}"
        )
        with open_store(str(url)) as store, _source(store, name, upto) as found:
            yield found
    else:
        with reading_archive(backup) as (first, rows):
            if full_name(first.name) != name:
                raise InvalidArgument(f"{backup} holds {first.name!r}, not {name!r}", hint="give that name")
            yield rows, (first.sequence, first.hash)


def _is_database(backup: str | Path) -> bool:
    if isinstance(backup, str) and "://" in backup:
        return True
    path = Path(backup)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE
