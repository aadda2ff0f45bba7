"""A log as one file of text: the first line says what it is, then one line a row, then the end.

Every line is JSON. Header and payload stand in it as the text that the hashes cover, so whoever has a hash
function can check the chain without this library. A name that ends in ``.gz`` is compressed.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from equipoise.errors import ArchiveDamaged, DataNotFound, InvalidArgument, InvalidData, OutputExists
from equipoise.files import write_whole
from equipoise.live.log.encoding import decode, encode
from equipoise.live.stores.store import Row
from equipoise.words import counted

FORMAT = "equipoise archive 1"
_BEGINNING = b'{"format":"equipoise archive'
"""Of the first line, also where the rest of it is missing."""
_GZIP = b"\x1f\x8b"
_SUFFIXES = (".jsonl", ".gz")


@dataclass(frozen=True, slots=True)
class ArchiveHead:
    """The first line of an archive."""

    name: str
    mode: str
    sequence: int
    hash: bytes


def write_archive(path: str | Path, head: ArchiveHead, rows: Iterable[Row]) -> None:
    """Write a log to a file, whole or not at all; a file of another kind that is there is not replaced."""
    # By its name: to open an SQLite file, and close it, drops the locks that this process has on it.
    if Path(path).is_file() and Path(path).suffix not in _SUFFIXES:
        raise OutputExists(
            f"{path} is there already, and may be something else than an archive",
            hint="choose another place, or a name that ends in .jsonl or .jsonl.gz: such a file is replaced",
        )

    def fill(file: BinaryIO) -> None:
        if Path(path).suffix == ".gz":
            with gzip.GzipFile(fileobj=file, mode="wb", compresslevel=6, mtime=0, filename="") as packed:
                _fill(packed, head, rows)
        else:
            _fill(file, head, rows)

    write_whole(path, fill)


@contextmanager
def reading_archive(path: str | Path) -> Iterator[tuple[ArchiveHead, Iterator[Row]]]:
    """The first line of an archive, and its rows."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidArgument(f"{path!r} does not name a file", hint="give the path of an archive")
    if not Path(path).is_file():
        raise DataNotFound(f"there is no file {path}")
    with Path(path).open("rb") as file:
        packed = file.read(2) == _GZIP
        file.seek(0)
        lines = _lines(path, gzip.GzipFile(fileobj=file) if packed else file)
        yield _head(path, next(lines, None)), _rows(path, lines)


def _fill(file: Any, head: ArchiveHead, rows: Iterable[Row]) -> None:
    first = {
        "format": FORMAT,
        "name": head.name,
        "mode": head.mode,
        "sequence": head.sequence,
        "hash": head.hash.hex(),
    }
    file.write(encode(first) + b"\n")
    count = 0
    for row in rows:
        file.write(encode(_plain(row)) + b"\n")
        count += 1
    file.write(encode({"end": count}) + b"\n")


def _plain(row: Row) -> dict[str, Any]:
    erased = row.payload is None
    return {
        "sequence": row.sequence,
        "time": row.time,
        "header": row.header.decode("ascii"),
        "salt": None if erased else row.salt.hex(),
        "payload": None if row.payload is None else row.payload.decode("ascii"),
        "payload_hash": row.payload_hash.hex(),
        "hash": row.hash.hex(),
    }


def _lines(path: str | Path, file: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        for number, line in enumerate(
            io.BufferedReader(file) if isinstance(file, gzip.GzipFile) else file, 1
        ):
            yield number, _table(path, number, line)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ArchiveDamaged(f"{path} is cut off or damaged: {error}", hint=_ANOTHER) from None


def _table(path: str | Path, number: int, line: bytes) -> dict[str, Any]:
    """What a line says; one that cannot be read is damage, unless the first one is of something else."""
    try:
        value = decode(line)
        if not isinstance(value, dict):
            raise TypeError("not a table")
        return value
    except (ValueError, TypeError, RecursionError) as error:
        if number == 1 and not line.startswith(_BEGINNING):
            raise InvalidData(f"{path} is not an archive of an experiment: {error}", hint=_WRITTEN) from None
        raise _unreadable(path, number, str(error)) from None


def _head(path: str | Path, line: tuple[int, dict[str, Any]] | None) -> ArchiveHead:
    first = {} if line is None else line[1]
    if first.get("format") != FORMAT:
        raise InvalidData(
            f"{path} is not an archive of an experiment",
            hint=_WRITTEN,
        )
    try:
        return ArchiveHead(
            str(first["name"]), str(first["mode"]), int(first["sequence"]), bytes.fromhex(first["hash"])
        )
    except (KeyError, ValueError, TypeError, OverflowError) as error:
        raise ArchiveDamaged(f"the first line of {path} cannot be read: {error!r}", hint=_ANOTHER) from None


def _rows(path: str | Path, lines: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[Row]:
    count = 0
    for number, line in lines:
        if "end" in line:
            if line["end"] != count:
                raise ArchiveDamaged(
                    f"{path} has {counted(count, 'row')}, and should have {line['end']}", hint=_ANOTHER
                )
            if next(lines, None) is not None:
                raise ArchiveDamaged(f"{path} goes on after its end", hint=_ANOTHER)
            return
        try:
            row = _row(line)
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
            raise _unreadable(path, number, repr(error)) from None
        count += 1
        yield row
    raise ArchiveDamaged(f"{path} is cut off after {counted(count, 'row')}", hint=_ANOTHER)


def _row(line: dict[str, Any]) -> Row:
    payload = line["payload"]
    return Row(
        sequence=int(line["sequence"]),
        time=int(line["time"]),
        header=line["header"].encode("ascii"),
        salt=b"" if line["salt"] is None else bytes.fromhex(line["salt"]),
        payload=None if payload is None else payload.encode("ascii"),
        payload_hash=bytes.fromhex(line["payload_hash"]),
        hash=bytes.fromhex(line["hash"]),
    )


def _unreadable(path: str | Path, number: int, why: str) -> ArchiveDamaged:
    return ArchiveDamaged(f"line {number} of {path} cannot be read: {why}", hint=_ANOTHER)


_ANOTHER = "take another copy"
_WRITTEN = "archives are written by experiment.archive(path), or 'equipoise export NAME FILE.jsonl.gz'"
