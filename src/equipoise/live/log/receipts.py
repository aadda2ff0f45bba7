"""A receipt: what proves later that an acknowledged call is still in the log."""

from __future__ import annotations

import re
from typing import NamedTuple

from equipoise.errors import InvalidArgument

_TEXT = re.compile(
    r"(?P<name>.+)@(?P<epoch>\d{1,18})(?:-(?P<line>[0-9a-f]{8}))?:(?P<sequence>\d{1,18}):"
    r"(?P<hash>[0-9a-f]{64})",
    re.ASCII,
)


def line_of(hash: bytes) -> str:
    """What tells an epoch from others of its number, by the hash of the row that began it.

    A backup may be restored twice, and both restorations begin the same epoch.
    """
    return hash[:4].hex()


class Receipt(NamedTuple):
    """Names one row of one experiment's log; ``str(receipt)`` and ``Receipt.parse`` are inverse.

    >>> receipt = Receipt("trial-1", 1, 17, bytes(32))
    >>> Receipt.parse(str(receipt)) == receipt
    True
    """

    name: str
    """The experiment, with its project."""

    epoch: int
    """1, and one more after every restored backup."""

    sequence: int
    """The row, counted from 1; of a call that wrote several rows the last."""

    hash: bytes
    """Of that row; it covers all rows before."""

    line: str = ""
    """Tells the epoch from that of another restoration; nothing in the first epoch."""

    def __str__(self) -> str:
        epoch = f"{self.epoch}-{self.line}" if self.line else f"{self.epoch}"
        return f"{self.name}@{epoch}:{self.sequence}:{self.hash.hex()}"

    @classmethod
    def of(cls, given: Receipt | str) -> Receipt:
        """The receipt that was given, as one or as its text."""
        return given if isinstance(given, Receipt) else cls.parse(given)

    @classmethod
    def parse(cls, text: str) -> Receipt:
        """The receipt that a text stands for."""
        found = _TEXT.fullmatch(text.strip()) if isinstance(text, str) else None
        if found is None:
            raise InvalidArgument(
                f"{text!r} is not a receipt", hint="a receipt is NAME@EPOCH:SEQUENCE:HASH, as it was printed"
            )
        return cls(
            name=found["name"],
            epoch=int(found["epoch"]),
            sequence=int(found["sequence"]),
            hash=bytes.fromhex(found["hash"]),
            line=found["line"] or "",
        )
