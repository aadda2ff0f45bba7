"""Walking the chain from its first row: every row must be what its hash says, and none may be missing.

What a walk cannot see: rows cut off at the end together with what the store says about the end. A receipt
of one of those rows shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from equipoise.errors import ChainBroken
from equipoise.live.log.encoding import decode
from equipoise.live.log.receipts import Receipt, line_of
from equipoise.live.stores.chain import first_link, hash_payload, link
from equipoise.live.stores.store import FIRST_EPOCH, Row
from equipoise.words import counted

_HEADER = {"actor", "epoch", "kind", "mode", "numerics", "reason", "sequence", "time", "version"}


class Walk:
    """A walk along the rows of one experiment, and what it has met so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.sequence = 0
        self.hash = first_link(name)
        self.time = 0
        self.epoch = FIRST_EPOCH
        self.mode = ""
        self.writers: dict[tuple[str, int], int] = {}
        """(version, numerics) of the libraries that wrote rows, and the first row of each."""
        self.restored: list[Receipt] = []
        """Of the rows that began an epoch."""
        self.erased: list[int] = []
        """Rows without payload."""
        self.redacted: dict[int, int] = {}
        """Rows that a redaction names, and the row of the first one that does."""

    @property
    def end(self) -> Receipt:
        """Of the row that it has come to."""
        line = self.restored[-1].line if self.restored else ""
        return Receipt(self.name, self.epoch, self.sequence, self.hash, line)

    def over(self, rows: Iterable[Row]) -> Iterator[tuple[Row, dict[str, Any], dict[str, Any] | None]]:
        """Check rows one by one, and give each with its header and its event; or ChainBroken."""
        for row in rows:
            if row.sequence != self.sequence + 1:
                raise self._broken(self.sequence + 1, f"it is missing: row {row.sequence} comes next")
            check_link(self.name, self.hash, row)
            header, event = self._read(row)
            self._check(row, header)
            self.sequence, self.hash, self.time = row.sequence, row.hash, row.time
            yield row, header, event

    def finish(self, sequence: int, hash: bytes) -> None:
        """Compare the end with what the store, or the archive, says about it."""
        if self.sequence < sequence:
            raise self._broken(
                self.sequence + 1,
                f"it is missing: the log ends here, and should have {counted(sequence, 'row')}",
            )
        if self.sequence > sequence or self.hash != hash:
            raise self._broken(
                sequence + 1 if self.sequence > sequence else sequence,
                f"the end should be row {sequence} with hash {hash.hex()[:12]}…, and is row "
                f"{self.sequence} with hash {self.hash.hex()[:12]}…",
            )
        unexplained = [number for number in self.erased if number not in self.redacted]
        if unexplained:
            raise self._broken(unexplained[0], "its payload is gone, and no redaction names it")

    def _read(self, row: Row) -> tuple[dict[str, Any], dict[str, Any] | None]:
        try:
            header = decode(row.header)
            event = None if row.payload is None else decode(row.payload)
        except ValueError as error:
            raise self._broken(row.sequence, f"it cannot be read: {error}") from None
        if not isinstance(header, dict) or set(header) != _HEADER:
            raise self._broken(row.sequence, "its header has other fields than it should")
        if event is not None and event.get("kind") != header["kind"]:
            raise self._broken(row.sequence, "header and payload are of different kinds")
        if event is None:
            self.erased.append(row.sequence)
        elif header["kind"] == "redacted":
            for erased in event.get("live", {}).get("rows", ()):
                self.redacted.setdefault(erased, row.sequence)
        return header, event

    def _check(self, row: Row, header: dict[str, Any]) -> None:
        if (header["sequence"], header["time"]) != (row.sequence, row.time):
            raise self._broken(row.sequence, "its number or time is not what its header says")
        if row.time < self.time:
            raise self._broken(row.sequence, "it is older than the row before")
        if self.sequence == 0:
            self.mode = header["mode"]
            if header["kind"] != "created":
                raise self._broken(row.sequence, f"a log begins with 'created', not {header['kind']!r}")
        if header["mode"] != self.mode:
            raise self._broken(row.sequence, f"it is of mode {header['mode']!r} in a log of {self.mode!r}")
        self.writers.setdefault((header["version"], header["numerics"]), row.sequence)
        follows = self.epoch + 1 if header["kind"] == "restored" else self.epoch
        if header["epoch"] != follows:
            raise self._broken(row.sequence, f"it is of epoch {header['epoch']}, and should be of {follows}")
        if header["kind"] == "restored":
            self.epoch = follows
            self.restored.append(Receipt(self.name, follows, row.sequence, row.hash, line_of(row.hash)))

    def _broken(self, sequence: int, what: str) -> ChainBroken:
        return broken(self.name, sequence, what)


def check_link(name: str, previous: bytes, row: Row) -> None:
    """Whether a row is what its hash says, after a row of hash ``previous``; or ChainBroken."""
    if link(previous, row.payload_hash, row.header) != row.hash:
        raise broken(
            name, row.sequence, "its header or its hash was changed, or the row before was exchanged"
        )
    if row.payload is None:
        return
    if hash_payload(row.salt, row.payload) != row.payload_hash:
        raise broken(name, row.sequence, "its payload was changed")


def broken(name: str, sequence: int, what: str) -> ChainBroken:
    """The error for a row that is not what it should be."""
    error = ChainBroken(
        f"the log of {name!r} is broken at row {sequence}: {what}",
        hint="rows before it are sound; restore from a backup, and keep the broken log for inspection",
    )
    error.sequence = sequence
    return error
