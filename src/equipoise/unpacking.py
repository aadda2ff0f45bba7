"""Packed files of unknown origin: never more than a limit comes out, and what is damaged is said so.

A few megabytes can be made to unpack to terabytes. What a size allows is checked where a file says how much
it holds, and counted while it is read, as files can lie.
"""

from __future__ import annotations

import gzip
import io
import math
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
import numpy.typing as npt

from equipoise.errors import DataNotFound, EquipoiseError, InvalidData

_Read = TypeVar("_Read")

# Ratings shrink to a third, tables that are mostly zero to a thirtieth.
_RATIO = 50
_ALWAYS = 1 << 28  # 256 MB do no harm, whatever they were packed in
# What a header that is not one of ours can raise while it is read.
_WRONG = (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError)


class Damaged(ValueError):
    """A file that is not whole, not what it should be, or too large when unpacked."""


class TooLarge(Damaged):
    """A file that unpacks to more than its size allows."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"it unpacks to more than {limit / 1e6:,.0f} MB, {_RATIO} times its size or more")


def most_unpacked(size: int) -> int:
    """How many bytes a packed file of ``size`` bytes may hold."""
    return max(_ALWAYS, _RATIO * size)


class LimitedReader(io.RawIOBase):
    """The bytes of a stream, or TooLarge once more than ``limit`` of them have come."""

    def __init__(self, stream: IO[bytes] | gzip.GzipFile, limit: int) -> None:
        super().__init__()
        self._stream, self._limit, self._left = stream, limit, limit

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer as far as the stream goes."""
        block = self._stream.read(len(buffer))
        self._left -= len(block)
        if self._left < 0:
            raise TooLarge(self._limit)
        buffer[: len(block)] = block
        return len(block)


def limited(stream: IO[bytes] | gzip.GzipFile, limit: int) -> IO[bytes]:
    """The stream, which ends with TooLarge if it goes on after ``limit`` bytes."""
    return io.BufferedReader(LimitedReader(stream, limit), 1 << 16)


def check_unpacked(path: Path) -> None:
    """Unpack a file of gzip once and throw it away, block by block, or TooLarge.

    For readers that hold all of it before anything could be counted.
    """
    with gzip.open(path) as unpacked:
        stream = limited(unpacked, most_unpacked(path.stat().st_size))
        while stream.read(1 << 20):
            pass


def read_npy(stream: IO[bytes], size: int) -> npt.NDArray[Any]:
    """The array in the ``size`` bytes of a file that ``numpy.save`` wrote, or Damaged."""
    with _explained():
        version = np.lib.format.read_magic(stream)
        header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        if version not in header:
            raise Damaged(f"its format {version} is not known")
        shape, by_columns, dtype = header[version](stream)
        if dtype.hasobject:
            raise Damaged("it holds Python objects")
        count = math.prod(shape)
        if not 0 <= count * dtype.itemsize <= size:
            raise Damaged("it holds less than its first line says")
        flat = np.empty(count, dtype)
        block = memoryview(flat.view(np.uint8).data) if flat.nbytes else memoryview(b"")
        while block:
            read = stream.read(min(len(block), 1 << 24))
            if not read:
                raise Damaged("it ends too early")
            block[: len(read)] = read
            block = block[len(read) :]
        return flat.reshape(shape, order="F" if by_columns else "C")


def read_npz(file: IO[bytes], names: Iterable[str] | None = None) -> dict[str, npt.NDArray[Any]]:
    """The arrays in an archive that ``numpy.savez`` wrote, or Damaged."""
    with _explained():
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        with zipfile.ZipFile(file) as archive:
            wanted = [name.removesuffix(".npy") for name in archive.namelist()] if names is None else names
            members = {name: archive.getinfo(f"{name}.npy") for name in wanted}
            if sum(member.file_size for member in members.values()) > most_unpacked(size):
                raise TooLarge(most_unpacked(size))
            arrays = {}
            for name, member in members.items():
                with archive.open(member) as stream:
                    arrays[name] = read_npy(stream, member.file_size)
                    stream.read(1)  # the checksum is compared at the end
            return arrays


def load_npz(path: str | Path, read: Callable[[dict[str, npt.NDArray[Any]]], _Read], what: str) -> _Read:
    """What ``read`` makes of the arrays in a file of ours, ``what`` it is, or an error that says why not."""
    try:
        with Path(path).open("rb") as file:
            return read(read_npz(file))
    except EquipoiseError:
        raise
    except FileNotFoundError:
        raise DataNotFound(f"there is no file {path}", hint="check the path") from None
    except OSError as error:
        raise DataNotFound(
            f"{path} cannot be read: {error.strerror or error}", hint="check the path"
        ) from None
    except _WRONG as error:
        reason = f": {error}" if isinstance(error, Damaged) else ""
        raise InvalidData(f"{path} is not a whole {what}{reason}", hint="run it again") from None


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except (Damaged, OSError):
        raise
    except Exception as error:
        # Damaged archives and headers, encrypted and exotic ones included, raise all sorts of things.
        raise Damaged(str(error) or type(error).__name__) from None
