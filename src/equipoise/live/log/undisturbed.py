"""Reading a whole log while others write to it.

Rows that are appended meanwhile do no harm: what is read ends with the row that was the last one. But who
redacts a unit erases rows before it, and says so in a row after it; then what was read is neither the log
before nor the log after.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from equipoise.errors import EquipoiseError, StoreBusy
from equipoise.live.stores.store import Head, Row, Store

TRIES = 10
_REDACTED = b'"kind":"redacted"'
"""In the header of a row that tells of a redaction; nobody can write it there, as quotes are escaped."""

R = TypeVar("R")


def undisturbed(store: Store, name: str, act: Callable[[Head], R]) -> R:
    """What a function makes of the log up to its head; anew if it fails and units were redacted meanwhile."""
    for _ in range(TRIES - 1):
        head = store.head(name)
        try:
            return act(head)
        except EquipoiseError:
            if not is_redacted_after(store, name, head.sequence):
                raise
    return act(store.head(name))


def undisturbed_rows(store: Store, name: str, upto: int, rows: Iterable[Row] | None = None) -> Iterator[Row]:
    """The rows up to a number, or those given; StoreBusy at their end if units were redacted meanwhile."""
    yield from store.read(name, upto=upto) if rows is None else rows
    if is_redacted_after(store, name, upto):
        raise StoreBusy(
            f"units of {name!r} were redacted while its log was read", hint="try again when nobody redacts"
        )


def is_redacted_after(store: Store, name: str, sequence: int) -> bool:
    """Whether a row after a number tells of a redaction."""
    return any(_REDACTED in row.header for row in store.read(name, sequence))
