"""What a request has come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from equipoise.live.log.receipts import Receipt
from equipoise.live.stores.store import Row


class Answer(NamedTuple):
    """What a request that was carried out has come to."""

    value: Any
    rows: Sequence[Row]
    """What it has written."""
    receipt: Receipt
    """The last row that it has written; the last row that there was, if it has written none."""
