"""Files in the genuine forms, small: what the publishers' programs would have written."""

from __future__ import annotations

import gzip
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

_SECTOR = 512
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD

Rating = tuple[int, int, float]  # user, item, rating


def write_xls(path: Path, rows: Sequence[Sequence[float | str]]) -> Path:
    """A workbook of one sheet in the format of Excel 97 (BIFF8 in a compound file)."""
    path.write_bytes(_compound_file(_workbook(rows)))
    return path


def csv_of(rows: Sequence[Sequence[object]]) -> bytes:
    return "".join(",".join(map(str, row)) + "\n" for row in rows).encode()


def ratings_csv(ratings: Sequence[Rating], newline: str = "\n") -> bytes:
    lines = ["userId,movieId,rating,timestamp", *(f"{u},{i},{r},964982703" for u, i, r in ratings)]
    return (newline.join(lines) + newline).encode()


def ratings_dat(ratings: Sequence[Rating]) -> bytes:
    return "".join(f"{u}::{i}::{r:g}::978300760\n" for u, i, r in ratings).encode()


def u_data(ratings: Sequence[Rating]) -> bytes:
    return "".join(f"{u}\t{i}\t{r:g}\t881250949\n" for u, i, r in ratings).encode()


def write_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def write_gzip(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content))
    return path


def _workbook(rows: Sequence[Sequence[float | str]]) -> bytes:
    def record(kind: int, body: bytes = b"") -> bytes:
        return struct.pack("<HH", kind, len(body)) + body

    def start(kind: int) -> bytes:
        return record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0x0DBB, 0x07CC, 0, 6))

    sheet = start(0x0010)
    sheet += record(0x0200, struct.pack("<IIHHH", 0, len(rows), 0, max(map(len, rows), default=0), 0))
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            where = struct.pack("<HHH", row, column, 0)
            if isinstance(cell, str):
                text = cell.encode("latin-1")
                sheet += record(0x0204, where + struct.pack("<HB", len(text), 0) + text)
            else:
                sheet += record(0x0203, where + struct.pack("<d", cell))
    sheet += record(0x000A)
    name = b"jester-data-1-new"
    offset = len(start(0x0005)) + 4 + 8 + len(name) + 4
    bound = record(0x0085, struct.pack("<IBBBB", offset, 0, 0, len(name), 0) + name)
    return start(0x0005) + bound + record(0x000A) + sheet


def _compound_file(stream: bytes) -> bytes:
    """One stream, ``Workbook``, long enough to need no small sectors."""
    stream = stream.ljust(4096, b"\0")
    sectors = -(-len(stream) // _SECTOR)
    tables = 1
    while tables * 128 < tables + 1 + sectors:
        tables += 1
    assert tables <= 109, "too large for a table in the header"
    chain = [_FAT] * tables + [_END]
    chain += [tables + 2 + place for place in range(sectors - 1)] + [_END]
    chain += [_FREE] * (tables * 128 - len(chain))
    header = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16)
    header += struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    header += struct.pack("<IIIIIIIII", 0, tables, tables, 0, 4096, _END, 0, _END, 0)
    header += struct.pack("<109I", *range(tables), *[_FREE] * (109 - tables))
    directory = _entry("Root Entry", 5, child=1, start=_END, size=0)
    directory += _entry("Workbook", 2, child=_FREE, start=tables + 1, size=len(stream))
    directory += 2 * _entry("", 0, child=_FREE, start=0, size=0)
    body = struct.pack(f"<{len(chain)}I", *chain) + directory
    return header + body + stream.ljust(sectors * _SECTOR, b"\0")


def _entry(name: str, kind: int, *, child: int, start: int, size: int) -> bytes:
    text = name.encode("utf-16-le")
    length = len(text) + 2 if name else 0
    entry = text.ljust(64, b"\0") + struct.pack("<HBB", length, kind, 1)
    entry += struct.pack("<III", _FREE, _FREE, child) + bytes(36)
    return entry + struct.pack("<IQ", start, size)
