"""What SQLite says, as our errors: each says what was wrong and what to do."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import apsw

from equipoise.errors import (
    CommitUnknown,
    EquipoiseError,
    InvalidStore,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnavailable,
)
from equipoise.live.stores.sql import RESTORE

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_SHORT = (apsw.SQLITE_IOERR_SHORT_READ, apsw.SQLITE_IOERR_CORRUPTFS, apsw.SQLITE_IOERR_DATA)


def translated(
    error: apsw.Error, path: Path, wait: float, *, system: int = 0, committing: bool = False
) -> EquipoiseError:
    """The error to raise in the place of SQLite's; ``system`` is the operating system's number for it."""
    code = getattr(error, "extendedresult", 0)
    said = str(error)
    if isinstance(error, apsw.FullError) or (isinstance(error, apsw.IOError) and system in _FULL):
        return StoreFull(
            f"no space is left for {path}: nothing was stored", hint="free some space, then try again"
        )
    if isinstance(error, apsw.BusyError | apsw.LockedError | apsw.ProtocolError):
        return StoreBusy(f"another program has held {path} for {wait:g} s", hint="try again")
    if isinstance(error, apsw.ReadOnlyError) or (
        isinstance(error, apsw.CantOpenError) and path.exists() and not may_write(path.parent)
    ):
        return read_only(path)
    if isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.FormatError) or code in _SHORT:
        return damaged(path, said)
    if isinstance(error, apsw.CantOpenError | apsw.PermissionsError | apsw.AuthError):
        return StoreUnavailable(f"{path} cannot be opened: {said}", hint="check the path and its permissions")
    if isinstance(error, apsw.ConstraintError):
        return damaged(path, f"what is stored contradicts itself: {said}")
    if isinstance(error, apsw.IOError):
        reason = os.strerror(system) if system else said
        if committing:
            return CommitUnknown(
                f"{path} failed in the moment of storing ({reason}): what was sent may be stored, or not",
                hint="see to the disk, open the experiment anew, and repeat the call with the same unit",
            )
        return StoreUnavailable(
            f"{path} cannot be read or written: {reason}", hint="see to the disk; nothing was stored"
        )
    return StoreUnavailable(f"{path}: {said}", hint="nothing was stored")


def may_write(folder: Path) -> bool:
    """Whether files can be made in a folder."""
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def damaged(path: Path, why: str) -> StoreDamaged:
    """The file's bytes are not what was written."""
    return StoreDamaged(f"{path} is damaged: {why}", hint=RESTORE)


def read_only(path: Path) -> StoreReadOnly:
    """The file, its folder or its disk may not be written."""
    return StoreReadOnly(
        f"{path} or its folder is read-only here",
        hint="change the permissions of the folder, the file and those beside it (-wal, -shm), "
        "or copy the file to a folder of your own",
    )


def refused_by_system(path: Path, error: OSError) -> EquipoiseError:
    """What the operating system says when a file is made."""
    if error.errno in _FULL:
        return StoreFull(f"no space is left for {path}", hint="free some space, then try again")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return read_only(path)
    return InvalidStore(f"{path} cannot be made: {error.strerror}", hint="choose another place")
