"""Writing a file whole or not at all: a full disk or a stopped program leaves the old one as it was."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO

from equipoise.errors import EquipoiseError, OutputExists, OutputFull, OutputNotWritable, OutputReadOnly

Content = str | bytes | Callable[[BinaryIO], object]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_whole(
    path: str | Path, content: Content, *, hint: str = "choose another place", lasting: bool = True
) -> None:
    """Write a text, bytes, or what a function saves into an open file; or OutputNotWritable.

    The new file is written under another name in the same folder, brought to the disk and then renamed. One
    that is not ``lasting`` is left to the system, which brings it to the disk within a minute or so: after a
    power cut it may be there and damaged.
    """
    path = Path(path)
    try:
        # A link stays a link, to a new file.
        target = path.resolve() if path.is_symlink() else path
        if target.exists() and not target.is_file():
            # A pipe or /dev/stdout has nothing that could be kept. A folder refuses.
            with target.open("wb") as file:
                _fill(file, content)
            return
        _replace(target, content, lasting=lasting)
    except EquipoiseError:
        raise  # of what makes the content, such as a store that cannot be reached
    except OSError as error:
        raise not_writable(path, error, hint) from None


def check_file(path: str | Path, *, hint: str = "choose another place") -> None:
    """Refuse a file that could not be written; changes nothing."""
    path = Path(path)
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "that is a folder")
        _check_old(path)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise not_writable(path, error, hint) from None


def check_writable(folder: str | Path, *, hint: str = "choose another folder") -> None:
    """Refuse a folder that could not be made or written to; makes nothing."""
    folder = Path(folder)
    try:
        existing = folder.absolute()
        while not existing.exists():
            existing = existing.parent
        if not existing.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{existing.name} is not a folder")
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise not_writable(folder, error, hint) from None


def check_new(
    paths: Iterable[str | Path], *, hint: str = "choose another place, or replace it with overwrite=True"
) -> None:
    """Refuse to replace files that are there already; pipes and devices have nothing to lose."""
    there = [path for path in map(Path, paths) if path.is_file()]
    if there:
        more = f", and {len(there) - 1} more" if len(there) > 1 else ""
        raise OutputExists(f"{there[0]} is there already{more}", hint=hint)


def make_folder(folder: str | Path, *, hint: str = "choose another folder") -> Path:
    """Make the folder if it is new and try to write there; an error before any work."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_writable(folder, error, hint) from None
    check_writable(folder, hint=hint)
    return folder


def not_writable(path: Path, error: OSError, hint: str) -> OutputNotWritable:
    """What the system said about ``path``, and what to do."""
    if isinstance(error, OutputNotWritable):
        return error
    message = f"cannot write to {path}: {error.strerror or error}"
    if error.errno in _FULL:
        return OutputFull(message, hint=f"free some space, or {hint}; what was there before is as it was")
    kind = OutputReadOnly if error.errno in _READ_ONLY else OutputNotWritable
    return kind(message, hint=hint)


def _replace(path: Path, content: Content, *, lasting: bool) -> None:
    _check_old(path)
    known = path.stat().st_mode if path.exists() else None
    # Short, as the name of the file may be as long as names can be; and of this call alone, as two
    # programs may write the same file at once.
    partial = path.with_name(f".{os.urandom(6).hex()}.partial")
    try:
        with partial.open("xb") as file:
            _fill(file, content)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        if known is not None:
            partial.chmod(known & 0o7777)
        partial.replace(path)
    except BaseException:  # Ctrl-C as well
        partial.unlink(missing_ok=True)
        raise


def _check_old(path: Path) -> None:
    # Renaming would replace a file that was protected from being written.
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, "the file may not be changed")


def _fill(file: BinaryIO, content: Content) -> None:
    if isinstance(content, str):
        # A path with bytes that are no text must not cost a report.
        content = content.encode("utf-8", "backslashreplace")
    if isinstance(content, bytes):
        file.write(content)
    else:
        content(file)
