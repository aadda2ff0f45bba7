"""CSV and TSV files, by pandas: which character separates, which one starts decimals, what is missing."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.errors import InvalidArgument, InvalidTable
from equipoise.extras import library
from equipoise.unpacking import check_unpacked

SEPARATORS = (",", ";", "\t", "|")
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
_WORDS = {"\t": "a tab", ",": "','", ";": "';'", "|": "'|'", " ": "a space"}
# A first line that is longer is no list of names.
_LONGEST_LINE = 1 << 22


@dataclass(frozen=True)
class TextFormat:
    """How a text file is written.

    Parameters
    ----------
    separator
        What stands between cells; None: the one of comma, semicolon, tab and | that the first line has most
        of.
    decimal
        ``"."`` or ``","``.
    na
        Words that mean that a cell is missing, besides the empty one, NA, NaN, null and the like.
    """

    separator: str | None = None
    decimal: str = "."
    na: tuple[str, ...] = ()

    @property
    def is_default(self) -> bool:
        """Whether nothing was asked for."""
        return self == TextFormat()


def text_format(separator: str | None, decimal: str, na: Sequence[str]) -> TextFormat:
    """The format, checked."""
    if separator is not None:
        separator = _NAMED.get(separator, separator)
        if len(separator) != 1 or separator in '"\n\r' or separator.isalnum():
            raise InvalidArgument(
                f"separator={separator!r} is not one character", hint="e.g. ';', ',', '|' or 'tab'"
            )
    if decimal not in (".", ","):
        raise InvalidArgument(f"decimal={decimal!r}", hint="use '.' or ','")
    if separator == decimal:
        raise InvalidArgument(
            f"{separator!r} cannot both separate cells and start decimals", hint="most such files have ';'"
        )
    if isinstance(na, str):
        na = [na]
    return TextFormat(separator, decimal, tuple(map(str, na)))


class TextFile:
    """A CSV or TSV file: its columns, and its cells when they are asked for."""

    def __init__(self, path: Path, format: TextFormat) -> None:
        self._path, self._format = path, format
        if path.suffix.lower() == ".gz":
            check_unpacked(path)
        first = self._first_line()
        self.separator = format.separator or self._guessed(first)
        names = next(csv.reader([first], delimiter=self.separator), [])
        while len(names) > 1 and not names[-1].strip():  # a separator at the end of the line
            names.pop()
        self.names = [name.strip() or f"column {place + 1}" for place, name in enumerate(names)]
        self.notes = () if self.separator == "," else (f"Cells are separated by {shown(self.separator)}.",)

    def frame(self) -> Any:
        """The cells, typed by pandas: numbers, true and false, or text."""
        pandas = library("pandas")
        try:
            with warnings.catch_warnings():
                # Rows that are all longer than the first line only make it warn.
                warnings.simplefilter("error", pandas.errors.ParserWarning)
                return pandas.read_csv(
                    self._path,
                    sep=self.separator,
                    decimal=self._format.decimal,
                    na_values=list(self._format.na),
                    names=self.names,
                    header=0,
                    index_col=False,
                    skipinitialspace=self.separator != "\t",
                    low_memory=False,  # a column's type is that of all its cells
                    **_exact(pandas.__version__),
                    encoding="utf-8-sig",
                )
        except UnicodeDecodeError:
            raise self._foreign_text() from None
        except (pandas.errors.ParserError, pandas.errors.ParserWarning) as error:
            where = str(error).rpartition("C error: ")[2].strip().rstrip(".")
            raise InvalidTable(
                f"{self._path.name} has rows with more cells than its {len(self.names)} columns: {where}",
                hint=f"cells were taken to be separated by {shown(self.separator)}: is that so, or is it the "
                "decimal comma? (--separator, --decimal)",
            ) from None

    def _first_line(self) -> str:
        packed = self._path.suffix.lower() == ".gz"
        opened: Any = gzip.open if packed else io.open
        try:
            with opened(self._path, "rt", encoding="utf-8-sig", newline="") as file:
                line = ""
                while not line.strip():
                    line = file.readline(_LONGEST_LINE)
                    if not line:
                        raise InvalidTable(
                            f"{self._path.name} is empty", hint="its first line names the columns"
                        )
                return str(line).rstrip("\r\n")
        except UnicodeDecodeError:
            raise self._foreign_text() from None

    def _foreign_text(self) -> InvalidTable:
        return InvalidTable(
            f"{self._path.name} is not text in UTF-8", hint="save it as 'CSV UTF-8', or convert it"
        )

    def _guessed(self, first: str) -> str:
        if ".tsv" in (suffix.lower() for suffix in self._path.suffixes):
            return "\t"
        candidates = [mark for mark in SEPARATORS if mark != self._format.decimal]
        # Quoted names may hold separators.
        counts = [len(next(csv.reader([first], delimiter=mark), [])) for mark in candidates]
        return candidates[counts.index(max(counts))]


def _exact(version: str) -> dict[str, str]:
    """What makes pandas read the nearest number, as all else does; from 3.1 on it does so by itself."""
    release = tuple(int(part) for part in version.split(".")[:2])
    return {} if release >= (3, 1) else {"float_precision": "round_trip"}


def shown(separator: str) -> str:
    """A separator as people read it."""
    return _WORDS.get(separator, repr(separator))
