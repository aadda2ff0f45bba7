"""What a caller asks of a table: columns by their roles, and rules for gaps, text and dates."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from equipoise.errors import InvalidArgument, InvalidTable
from equipoise.lab.replay.reading.sources import Source

FILLING = ("mean", "median", "indicator")
MISSING = ("drop", "refuse", *FILLING)


class ReadingOptions(TypedDict, total=False):
    """The arguments of :func:`equipoise.as_table`."""

    contexts: Sequence[str | int] | None
    targets: Sequence[str | int] | None
    exclude: Sequence[str | int]
    group: str | int | None
    order: str | int | None
    missing: str
    one_hot: bool
    separator: str | None
    decimal: str
    na: Sequence[str]
    date_format: str | None
    name: str | None


@dataclass(frozen=True)
class Roles:
    """Which columns are used, and as what."""

    contexts: tuple[str, ...]
    targets: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    group: str | None = None
    order: str | None = None
    chosen: bool = True
    """Whether the contexts were named, not all that was left."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read, once."""
        apart = (column for column in (self.group, self.order) if column is not None)
        return tuple(dict.fromkeys((*self.contexts, *self.targets, *apart)))


def check_missing(missing: str) -> None:
    """Refuse a rule that is not known."""
    if missing not in MISSING:
        raise InvalidArgument(f"missing={missing!r}", hint=f"use {', '.join(map(repr, MISSING))}")


def choose_columns(
    source: Source,
    contexts: Sequence[str | int] | None,
    targets: Sequence[str | int] | None,
    exclude: Sequence[str | int] = (),
    group: str | int | None = None,
    order: str | int | None = None,
) -> Roles:
    """Give every column its role; contexts are all that is left unless they are named."""
    if targets is None:
        raise InvalidTable(
            "it is not said which columns are targets",
            hint=f"each target is one arm to learn; columns: {_some(source)}",
        )
    learned = _named(source, targets, "targets")
    excluded = _named(source, exclude, "exclude", least=0)
    grouped = None if group is None else _named(source, [group], "group")[0]
    ordered = None if order is None else _named(source, [order], "order")[0]
    apart = {*learned, *excluded, grouped, ordered}
    if contexts is None:
        known = [column for column in source.columns if column not in apart]
    else:
        known = _named(source, contexts, "contexts")
    for others, role in ((learned, "a target"), (excluded, "excluded")):
        both = sorted(set(known) & set(others))
        if both:
            raise InvalidTable(f"column {both[0]!r} is a context and {role}", hint="give it one role")
    for column, role in (
        *((e, "excluded") for e in excluded),
        (grouped, "the group"),
        (ordered, "the order"),
    ):
        if column in learned:
            raise InvalidTable(f"column {column!r} is a target and {role}", hint="give it one role")
    if not known:
        raise InvalidTable("no columns are left for contexts", hint="a context needs a column at least")
    return Roles(tuple(known), tuple(learned), tuple(excluded), grouped, ordered, contexts is not None)


def _named(source: Source, asked: Sequence[str | int], role: str, least: int = 1) -> list[str]:
    names = [asked] if isinstance(asked, str) else [str(column) for column in asked]
    for column in names:
        if column not in source.columns:
            raise InvalidTable(f"{source.name} has no column {column!r}", hint=_meant(source, column))
        if names.count(column) > 1:
            raise InvalidTable(f"column {column!r} is given twice among the {role}")
    if len(names) < least:
        raise InvalidTable(f"no {role}", hint="name one column at least")
    return names


def _meant(source: Source, column: str) -> str:
    if len(source.columns) == 1 and column in source.columns[0]:
        return f"its one column is {source.columns[0]!r}: what separates cells? (--separator)"
    close = difflib.get_close_matches(column, source.columns, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"columns: {_some(source)}"


def _some(source: Source) -> str:
    return ", ".join(source.columns[:12]) + (", …" if len(source.columns) > 12 else "")
