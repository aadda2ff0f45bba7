"""A new file, all of it or none; migrations; copies."""

from __future__ import annotations

import errno
import glob
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from equipoise.errors import EquipoiseError, InvalidStore, OutputExists
from equipoise.files import not_writable
from equipoise.live.stores.migrations import check_writable, migrations
from equipoise.live.stores.sqlite.connecting import APPLICATION, SCHEMA, Connection, size_of
from equipoise.live.stores.sqlite.failures import damaged, may_write, read_only, refused_by_system, translated
from equipoise.live.stores.sqlite.file_systems import refuse_undecodable, refuse_unsafe
from equipoise.version import __version__

PACKAGE = "equipoise.live.stores.sqlite"
PAGE_BYTES = 2048
"""Of a new file; half of SQLite's own choice. Every commit writes a few whole pages: of events, their index,
heads. Smaller ones make it quicker, and files somewhat larger."""


def make_file(path: Path) -> None:
    """Make a database with the newest schema, unless there is one.

    It is made under another name and then linked to its own, so that nobody ever meets half of it.
    """
    check_folder(path)
    try:
        with _beside(path) as draft:
            _fill(draft, path)
            with suppress(FileExistsError):  # somebody else was faster
                _put_in_place(draft, path)
    except OSError as error:
        if isinstance(error, EquipoiseError):
            raise
        raise refused_by_system(path, error) from None


def check_folder(path: Path) -> None:
    """Refuse a place where no file can be made; whether the disk has room is only seen when one is."""
    if not path.parent.is_dir():
        raise InvalidStore(f"there is no folder {path.parent}", hint="make it, or choose another one")
    if not may_write(path.parent):
        raise read_only(path)


def check_only_name(path: Path) -> None:
    """Refuse a file that has another name, too.

    Whoever opened it by that one would keep another write-ahead log, and neither would see what the other
    stores. A name under which a file was made, by a program that was killed right then, is removed.
    """
    if _names(path) > 1:
        for draft in path.parent.glob(f".{glob.escape(path.name)}.*.new"):
            with suppress(OSError):
                if draft.samefile(path):
                    draft.unlink()
    if _names(path) > 1:
        raise InvalidStore(
            f"{path} has another name, too (a hard link); by that one it would be opened without what is "
            f"in {path.name}-wal",
            hint="remove the other name (find it with find -samefile), or work with a copy of the file",
        )


def _names(path: Path) -> int:
    try:
        return path.stat().st_nlink if path.is_file() else 0
    except OSError:
        return 0


def _fill(draft: Path, path: Path) -> None:
    draft.touch()  # or the system says why not
    system = 0
    try:
        raw = apsw.Connection(str(draft))
        try:
            raw.execute(f"PRAGMA page_size = {PAGE_BYTES}; PRAGMA application_id = {APPLICATION}")
            raw.pragma("journal_mode", "wal")
            raw.execute("BEGIN IMMEDIATE")
            _apply(raw, 0)
            raw.execute("COMMIT")
        finally:
            system = raw.system_errno
            raw.close(True)
    except apsw.Error as error:
        raise translated(error, path, 0.0, system=system) from error


def migrate_file(path: Path, url: str, wait: float, *, dry_run: bool) -> tuple[int, int]:
    """Bring a file to the newest schema; gives the versions before and after. A dry run takes all back."""
    refuse_undecodable(path)
    refuse_unsafe(path)
    check_only_name(path)
    raw = None
    try:
        raw = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        raw.set_busy_timeout(int(wait * 1000))
        raw.execute("PRAGMA synchronous = FULL")
        raw.execute("BEGIN EXCLUSIVE")
        if not raw.execute("SELECT 1 FROM sqlite_schema WHERE name = 'equipoise_schema'").fetchall():
            raise InvalidStore(f"{path} is a database of another program", hint="choose another file")
        before = raw.execute("SELECT max(version) FROM equipoise_schema").fetchall()[0][0]
        assert isinstance(before, int)
        if before > SCHEMA:
            check_writable(url, before, SCHEMA)
        _apply(raw, before)
        raw.execute("ROLLBACK" if dry_run else "COMMIT")
        return before, SCHEMA
    except apsw.Error as error:
        raise translated(error, path, wait) from error
    finally:
        if raw is not None:
            raw.close(True)


def copy_file(source: Connection, target: Path) -> None:
    """A consistent copy by SQLite's online backup, while others go on writing."""
    refuse_undecodable(target.absolute())
    if target.exists():
        raise OutputExists(f"{target} is there already", hint="choose another place")
    try:
        with _beside(target) as draft:
            _copy(source, draft)
            _put_in_place(draft, target)
    except FileExistsError:
        raise OutputExists(f"{target} is there already", hint="choose another place") from None
    except OSError as error:
        if isinstance(error, EquipoiseError):
            raise
        raise not_writable(target, error, "choose another place") from None


def _copy(source: Connection, draft: Path) -> None:
    draft.touch()  # or the system says why not
    copy = apsw.Connection(str(draft))
    try:
        with copy.backup("main", source.raw, "main") as backup:
            backup.step()
        wrong = copy.pragma("quick_check")
    except (apsw.FullError, apsw.IOError) as error:
        system = errno.ENOSPC if isinstance(error, apsw.FullError) else copy.system_errno
        raise OSError(system, os.strerror(system) if system else str(error)) from error
    finally:
        copy.close(True)
    if wrong != "ok":
        raise damaged(source.path, str(wrong))
    with draft.open("rb+") as file:
        os.fsync(file.fileno())


def _put_in_place(draft: Path, path: Path) -> None:
    """Give a finished file its name, unless the name is taken: FileExistsError."""
    _refuse_left_over(path)
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if path.exists():
            raise FileExistsError(path) from None
        draft.rename(path)
    with suppress(OSError):  # some systems do not open folders
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _refuse_left_over(path: Path) -> None:
    """Refuse a name whose former file is gone and has left its log: SQLite would write it into a new one."""
    for ending in ("-wal", "-journal"):
        log = Path(f"{path}{ending}")
        # In this order: who makes the file at this moment has it there before its log.
        if size_of(log) and not path.exists():
            raise InvalidStore(
                f"there is no file {path}, but {log.name} of one that was there: it may hold events that "
                "were stored last, and would damage a new file",
                hint=f"bring the file back; or move {log.name} elsewhere, then try again",
            )


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.new")
    try:
        yield draft
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            Path(f"{draft}{ending}").unlink(missing_ok=True)


def _apply(raw: apsw.Connection, before: int) -> None:
    for number, sql in migrations(PACKAGE).items():
        if number > before:
            raw.execute(sql)
            raw.execute(
                "INSERT INTO equipoise_schema VALUES (?, ?, ?)",
                (number, __version__, time.time_ns() // 1000),
            )
