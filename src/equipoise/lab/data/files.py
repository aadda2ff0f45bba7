"""Opening what a user has: a plain file, one packed by gzip, or one inside a published zip archive.

What a file is, is read from its first bytes: names lie, and downloads are renamed.
"""

from __future__ import annotations

import gzip
import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from equipoise.errors import DataNotFound, InvalidData
from equipoise.unpacking import Damaged, TooLarge, limited, most_unpacked

_GZIP = b"\x1f\x8b"
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")  # the second has nothing in it
# What reading a damaged archive raises, an encrypted or an exotic one included.
_DAMAGED = (
    Damaged,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    RuntimeError,
)


@contextmanager
def open_data(path: Path, wanted: Callable[[str], bool], what: str) -> Iterator[IO[bytes]]:
    """The bytes of the data file at ``path``; in a zip, of the one member whose name is ``wanted``."""
    with explained(path), _open_file(path) as file:
        magic = file.read(4)
        file.seek(0)
        if not magic:
            raise InvalidData(f"{path} is empty", hint=f"{what} is expected there")
        room = most_unpacked(path.stat().st_size)
        if magic.startswith(_GZIP):
            with gzip.open(file) as unpacked:
                yield limited(unpacked, room)
        elif magic.startswith(_ZIP):
            with (
                zipfile.ZipFile(file) as archive,
                archive.open(_member(path, archive, wanted, what)) as member,
            ):
                yield limited(member, room)
        else:
            yield file


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Errors of a damaged or unreadable file, in words."""
    try:
        yield
    except FileNotFoundError as error:
        raise _not_found(path, error) from None
    except OSError as error:
        if isinstance(error, _DAMAGED):
            raise _damaged(path, error) from None
        raise DataNotFound(
            f"{path} cannot be read: {error.strerror or error}", hint="check the path"
        ) from None
    except TooLarge as error:
        raise InvalidData(f"{path}: {error}", hint="if you trust it, unpack it first") from None
    except _DAMAGED as error:
        raise _damaged(path, error) from None


def zip_names(path: Path) -> list[str]:
    """Names inside a zip archive; none for any other file."""
    with explained(path), _open_file(path) as file:
        if file.read(4) not in _ZIP:
            return []
        with zipfile.ZipFile(file) as archive:
            return archive.namelist()


def _open_file(path: Path) -> IO[bytes]:
    if path.is_dir():
        raise DataNotFound(f"{path} is a folder", hint="name the file inside it")
    return path.open("rb")


def _member(path: Path, archive: zipfile.ZipFile, wanted: Callable[[str], bool], what: str) -> str:
    found = [name for name in archive.namelist() if wanted(PurePosixPath(name).name.lower())]
    if len(found) != 1:
        inside = ", ".join(found or archive.namelist()[:5]) or "nothing"
        raise InvalidData(
            f"{path} holds {len(found) or 'no'} files with ratings, not one: {inside}",
            hint=f"unpack it and name {what}",
        )
    return found[0]


def _not_found(path: Path, error: FileNotFoundError) -> DataNotFound:
    if isinstance(error, DataNotFound):
        return error
    return DataNotFound(f"there is no file {path}", hint="check the path; 'equipoise data fetch' downloads")


def _damaged(path: Path, error: Exception) -> InvalidData:
    return InvalidData(f"{path} is damaged or packed in an unknown way: {error}", hint="download it again")
