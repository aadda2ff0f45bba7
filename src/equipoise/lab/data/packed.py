"""Text of ratings, piece by piece, into eight bytes a rating: user, item and half stars in one number.

Sorting these numbers sorts by user and then by item, in place: a check for duplicates of 32 million
ratings needs no memory of its own.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from equipoise.errors import InvalidData, RatingOutOfRange
from equipoise.extras import library

CODE_BITS = 4  # half stars, 1 to 10
_ID_BITS = 30
_PIECE = 1 << 24  # bytes; a million lines at most
_LONGEST_LINE = 1 << 20
_COLUMNS = ("userId", "movieId", "rating")
_HINT = (
    "userId,movieId,rating,timestamp with a header, user::movie::rating::time, or four columns between tabs"
)

Packed = npt.NDArray[np.uint64]


def user_of(ratings: Packed) -> npt.NDArray[np.int64]:
    """Numbers of the users."""
    return (ratings >> np.uint64(CODE_BITS + _ID_BITS)).astype(np.int64)


def item_of(ratings: Packed) -> npt.NDArray[np.int64]:
    """Numbers of the items."""
    return ((ratings >> np.uint64(CODE_BITS)) & np.uint64((1 << _ID_BITS) - 1)).astype(np.int64)


def pack_ratings(
    stream: IO[bytes], path: Path
) -> tuple[Packed, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """All ratings in the order of the file, the numbers of the items, ascending, and their counts."""
    polars = library("polars")
    form, rest = _form(stream, path)
    pieces: list[Packed] = []
    tallies = []
    line = form.lines_before
    for piece in _whole_lines(stream, rest, path):
        frame = _parse(piece, form, path, line)
        pieces.append(_pack(frame, path, line))
        tallies.append(frame.group_by("item").len())
        line += piece.count(b"\n")
    if not pieces:
        raise InvalidData(f"{path} holds no ratings", hint="use the file as it was published")
    tally = polars.concat(tallies).group_by("item").agg(polars.col("len").sum()).sort("item")
    return _join(pieces), tally["item"].to_numpy().astype(np.int64), tally["len"].to_numpy().astype(np.int64)


class _Form(NamedTuple):
    """How a line is to be read."""

    separator: str  # one character, after "::" became a tab
    columns: tuple[str, ...]
    lines_before: int
    colons: bool


def _form(stream: IO[bytes], path: Path) -> tuple[_Form, bytes]:
    """What the first line says, and the bytes read that belong to the ratings."""
    start = stream.readline(1 << 16)
    form = _recognize(start)
    if form is None:
        raise InvalidData(f"{path} is not a MovieLens file; it starts with {start[:60]!r}", hint=_HINT)
    return form, start[len(start) * form.lines_before :]


def is_movielens_start(start: bytes) -> bool:
    """Whether a file that starts like that can be one of MovieLens'."""
    return _recognize(start.partition(b"\n")[0]) is not None


def _recognize(line: bytes) -> _Form | None:
    first = line.decode("utf-8", "replace").lstrip("\ufeff").strip()
    if re.fullmatch(r"[^:]+(::[^:]+){3}", first):
        return _Form("\t", ("user", "item", "rating", "time"), 0, colons=True)
    if re.fullmatch(r"[^\t]+(\t[^\t]+){3}", first):
        return _Form("\t", ("user", "item", "rating", "time"), 0, colons=False)
    names = [name.strip().strip('"') for name in first.split(",")]
    if not set(names) >= set(_COLUMNS) or len(set(names)) < len(names):
        return None
    short = {"userId": "user", "movieId": "item"}
    return _Form(",", tuple(short.get(name, name) for name in names), 1, colons=False)


def _whole_lines(stream: IO[bytes], rest: bytes, path: Path) -> Any:
    """Pieces of the file that end with a line."""
    while read := stream.read(_PIECE):
        lines, newline, tail = read.rpartition(b"\n")
        if newline:
            yield b"".join([rest, lines, newline])
            rest = tail
        else:
            rest += tail
            if len(rest) > _LONGEST_LINE:
                raise InvalidData(f"{path} has a line of {len(rest):,} bytes and more", hint=_HINT)
    if rest.strip():
        yield rest


def _parse(piece: bytes, form: _Form, path: Path, line: int) -> Any:
    polars = library("polars")
    kinds = {"user": polars.UInt32, "item": polars.UInt32, "rating": polars.Float64}
    wanted = tuple(kinds)
    schema = {name: kinds.get(name, polars.String) for name in form.columns}
    text = piece.replace(b"::", b"\t") if form.colons else piece
    try:
        frame = polars.read_csv(
            io.BytesIO(text),
            has_header=False,
            separator=form.separator,
            schema=schema,
            columns=[form.columns.index(name) for name in wanted],
            quote_char=None,
            raise_if_empty=False,
        )
    except polars.exceptions.PolarsError:
        _explain(text, form, path, line)
    # Columns behind those that are wanted are not looked at by the parser.
    separators = text.count(form.separator.encode())
    if frame.null_count().sum_horizontal()[0] or separators != len(frame) * (len(form.columns) - 1):
        _explain(text, form, path, line)
    return frame.select(wanted)


def _explain(text: bytes, form: _Form, path: Path, line: int) -> NoReturn:
    """Find the line that cannot be read."""
    place = {name: column for column, name in enumerate(form.columns)}
    for number, content in enumerate(text.splitlines(), start=line + 1):
        fields = content.decode("utf-8", "replace").split(form.separator)
        if len(fields) != len(form.columns) or not (
            re.fullmatch(r"\d{1,9}", fields[place["user"]])
            and re.fullmatch(r"\d{1,9}", fields[place["item"]])
            and re.fullmatch(r"-?\d*\.?\d+|-?\d+\.", fields[place["rating"]])
        ):
            shown = content[:60].decode("utf-8", "replace")
            raise InvalidData(f"line {number:,} of {path} is not a rating: {shown!r}", hint=_HINT)
    raise InvalidData(f"{path} cannot be read near line {line + 1:,}", hint=_HINT)


def _pack(frame: Any, path: Path, line: int) -> Packed:
    user, item = frame["user"].to_numpy().astype(np.uint64), frame["item"].to_numpy().astype(np.uint64)
    stars = frame["rating"].to_numpy() * 2.0
    wrong = ~((stars >= 1) & (stars <= 10) & (stars == np.floor(stars)))
    if wrong.any():
        at = int(np.argmax(wrong))
        raise RatingOutOfRange(
            f"line {line + at + 1:,} of {path} has the rating {stars[at] / 2:g}",
            hint="MovieLens' ratings are half stars from 0.5 to 5",
        )
    if max(user.max(initial=0), item.max(initial=0)) >= 1 << _ID_BITS:
        raise InvalidData(f"{path} has a user or movie number above a billion", hint=_HINT)
    packed: Packed = (user << np.uint64(_ID_BITS) | item) << np.uint64(CODE_BITS) | stars.astype(np.uint64)
    return packed


def _join(pieces: list[Packed]) -> Packed:
    """One array; pieces are given back as they are copied, so that memory never holds all twice."""
    whole = np.empty(sum(map(len, pieces)), dtype=np.uint64)
    end = len(whole)
    while pieces:
        piece = pieces.pop()
        whole[end - len(piece) : end] = piece
        end -= len(piece)
    return whole
