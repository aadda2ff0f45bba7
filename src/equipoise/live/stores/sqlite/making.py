"""A new file, all of it or none; migrations; copies."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from equipoise.errors import InvalidStore, OutputExists
from equipoise.files import not_writable
from equipoise.live.stores.migrations import check_writable, migrations
from equipoise.live.stores.sqlite.connecting import APPLICATION, SCHEMA, Connection
from equipoise.live.stores.sqlite.failures import refused_by_system, translated
from equipoise.version import __version__

PACKAGE = "equipoise.live.stores.sqlite"


def make_file(path: Path) -> None:
    """Make a database with the newest schema, unless there is one.

    It is made under another name and then linked to its own, so that nobody ever meets half of it.
    """
    if not path.parent.is_dir():
        raise InvalidStore(f"there is no folder {path.parent}", hint="make it, or choose another one")
    try:
        with _beside(path) as draft:
            raw = apsw.Connection(str(draft))
            try:
                raw.execute(f"PRAGMA application_id = {APPLICATION}")
                raw.pragma("journal_mode", "wal")
                _migrate(raw, 0)
            finally:
                raw.close()
            with suppress(FileExistsError):  # somebody else was faster
                put_in_place(draft, path)
    except apsw.Error as error:
        raise translated(error, path, 0.0) from error
    except OSError as error:
        raise refused_by_system(path, error) from None


def migrate_file(path: Path, url: str, wait: float) -> tuple[int, int]:
    """Bring a file to the newest schema; gives the versions before and after."""
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
        raw.execute("COMMIT")
        return before, max(before, *migrations(PACKAGE))
    except apsw.Error as error:
        raise translated(error, path, wait) from error
    finally:
        if raw is not None:
            raw.close(True)


def copy_file(source: Connection, target: Path) -> None:
    """A consistent copy by SQLite's online backup, while others go on writing."""
    if target.exists():
        raise OutputExists(f"{target} is there already", hint="choose another place")
    try:
        with _beside(target) as draft:
            copy = apsw.Connection(str(draft))
            try:
                with copy.backup("main", source.raw, "main") as backup:
                    backup.step()
                wrong = copy.pragma("quick_check")
            finally:
                copy.close()
            if wrong != "ok":
                raise translated(apsw.CorruptError(wrong), source.path, 0.0)
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            put_in_place(draft, target)
    except FileExistsError:
        raise OutputExists(f"{target} is there already", hint="choose another place") from None
    except OSError as error:
        raise not_writable(target, error, "choose another place") from None


def put_in_place(draft: Path, path: Path) -> None:
    """Give a finished file its name, unless the name is taken: FileExistsError."""
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


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.new")
    try:
        yield draft
    finally:
        for ending in ("", "-wal", "-shm", "-journal"):
            Path(f"{draft}{ending}").unlink(missing_ok=True)


def _migrate(raw: apsw.Connection, before: int) -> None:
    raw.execute("BEGIN IMMEDIATE")
    _apply(raw, before)
    raw.execute("COMMIT")


def _apply(raw: apsw.Connection, before: int) -> None:
    for number, sql in migrations(PACKAGE).items():
        if number > before:
            raw.execute(sql)
            raw.execute(
                "INSERT INTO equipoise_schema VALUES (?, ?, ?)",
                (number, __version__, time.time_ns() // 1000),
            )
