"""Machine code on disk, one file for every kernel and types of arguments.

A file's name is a digest of all that its content depends on (see sources.py), and a file is written under
another name and then renamed. So processes that compile the same kernel at once write the same file, and
nobody reads half of one. A file whose checksum is wrong counts as not there. Whatever goes wrong here,
a full disk or a folder that cannot be written, costs time and nothing else: the kernel is compiled.

Machine code is trusted like the package itself, so it is kept where only those can write who could change
the package, or in a folder of the user's own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import sys
import time
from functools import cache
from pathlib import Path

from equipoise.core.jit.sources import IMPORTED, read_sources, stamp

ENVIRONMENT = "EQUIPOISE_KERNELS"
"""Names the folder to keep machine code in; empty: nowhere."""

_SUFFIX, _PARTIAL = ".kernel", ".partial"
_CHECKSUM = 16  # bytes
_UNUSED = 30 * 24 * 3600.0  # seconds after which code of other versions is cleared away
_ABANDONED = 3600.0  # seconds after which nobody writes a file any more


def read(key: str) -> bytes | None:
    """What was written under ``key`` by the same sources, versions and settings."""
    for folder in _folders():
        if not _is_trusted(folder):
            continue
        try:
            content = _file(folder, key).read_bytes()
        except OSError:
            continue
        checksum, payload = content[:_CHECKSUM], content[_CHECKSUM:]
        if checksum == _checksum(key, payload):
            return payload
    return None


def write(key: str, payload: bytes) -> None:
    """Keep something under ``key``, if that can be done."""
    folder = writable_folder()
    if folder is None or not _sources_are_as_imported():
        return
    partial = folder / f"{os.getpid()}-{time.monotonic_ns()}{_PARTIAL}"
    try:
        with partial.open("xb") as file:
            file.write(_checksum(key, payload) + payload)
        partial.replace(_file(folder, key))
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


@cache
def writable_folder() -> Path | None:
    """Where this version's machine code is written to; None if that can be done nowhere."""
    for folder in _folders():
        with contextlib.suppress(OSError):
            is_new = not folder.is_dir()
            folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            probe = folder / f"{os.getpid()}-{time.monotonic_ns()}{_PARTIAL}"
            probe.touch(exist_ok=False)
            probe.unlink()
            if not _is_trusted(folder):
                continue
            if is_new:
                with contextlib.suppress(OSError):
                    _clear_unused(folder.parent)
            _clear_abandoned(folder)
            return folder
    return None


def _folders() -> list[Path]:
    """Folders of this version's machine code, there or not, the best one first."""
    name = stamp()
    return [] if name is None else [root / name for root in _roots()]


def _is_trusted(folder: Path) -> bool:
    """Whether nobody but the user and the administrator can have written what is in a folder."""
    if sys.platform == "win32":
        return True
    try:
        facts = folder.stat()
    except OSError:
        return False
    return facts.st_uid in (0, os.geteuid()) and not facts.st_mode & 0o022


@cache
def _roots() -> tuple[Path, ...]:
    """Folders to keep machine code in, the best one first."""
    chosen = os.environ.get(ENVIRONMENT)
    if chosen is not None:
        return (Path(chosen),) if chosen else ()
    numba_folder = os.environ.get("NUMBA_CACHE_DIR")
    if numba_folder:
        return (Path(numba_folder) / "equipoise",)
    beside_the_sources = Path(__file__).parent / "__pycache__" / "kernels"
    return (beside_the_sources, *_home())


def _home() -> tuple[Path, ...]:
    """The user's folder for what can be made again."""
    try:
        home = Path.home()
    except RuntimeError:
        return ()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return (base / "equipoise" / "kernels",)


def _clear_abandoned(folder: Path) -> None:
    """Delete what processes have left that ended while they wrote."""
    oldest = time.time() - _ABANDONED
    for file in folder.glob(f"*{_PARTIAL}"):
        with contextlib.suppress(OSError):
            if file.stat().st_mtime < oldest:
                file.unlink()


def _clear_unused(root: Path) -> None:
    """Delete machine code of other versions that nobody has used for a month, and nothing else."""
    oldest = time.time() - _UNUSED
    for folder in root.iterdir():
        if not re.fullmatch("[0-9a-f]{32}", folder.name):
            continue
        with contextlib.suppress(OSError):
            files = [file for file in folder.rglob("*") if file.is_file()]
            if files and max(max(file.stat().st_atime, file.stat().st_mtime) for file in files) < oldest:
                shutil.rmtree(folder, ignore_errors=True)


@cache
def _sources_are_as_imported() -> bool:
    return read_sources() == IMPORTED


def _file(folder: Path, key: str) -> Path:
    return folder / (hashlib.blake2b(key.encode(), digest_size=16).hexdigest() + _SUFFIX)


def _checksum(key: str, payload: bytes) -> bytes:
    # With the key, so that a file under another one's name is not taken for that one.
    return hashlib.blake2b(key.encode() + payload, digest_size=_CHECKSUM).digest()
