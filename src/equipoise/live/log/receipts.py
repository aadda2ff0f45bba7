"""A receipt: what proves later that an acknowledged call is still in the log."""

from __future__ import annotations

import re
from dataclasses import dataclass

from equipoise.errors import InvalidArgument

_TEXT = re.compile(r"(?P<name>.+)@(?P<epoch>\d+):(?P<sequence>\d+):(?P<hash>[0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Receipt:
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

    def __str__(self) -> str:
        return f"{self.name}@{self.epoch}:{self.sequence}:{self.hash.hex()}"

    @classmethod
    def parse(cls, text: str) -> Receipt:
        """The receipt that a text stands for."""
        found = _TEXT.fullmatch(text.strip())
        if found is None:
            raise InvalidArgument(
                f"{text!r} is not a receipt", hint="a receipt is NAME@EPOCH:SEQUENCE:HASH, as it was printed"
            )
        return cls(found["name"], int(found["epoch"]), int(found["sequence"]), bytes.fromhex(found["hash"]))
