"""From events to rows that continue a chain; how rows hang together is in :mod:`equipoise.live.stores.chain`.

The chain does not hold the payload itself, but a hash of it under 16 random bytes. Payload and salt can be
erased together; then nobody can find the payload by trying, and every hash is still what it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.live.log.encoding import encode
from equipoise.live.stores.chain import SALT_BYTES, Chained, chained
from equipoise.version import __version__


def make_rows(
    events: Sequence[Mapping[str, Any]],
    actor: str,
    reason: str | None = None,
    *,
    previous: bytes,
    sequence: int,
    time: int,
    epoch: int,
    mode: str,
    salt: bytes | None = None,
) -> Chained:
    """Rows that follow on row ``sequence``, whose hash is ``previous``; all of one person's doing.

    ``salt`` is that of the first row, a new one unless given. InvalidArgument if an event cannot be written
    down.
    """
    salts = os.urandom(SALT_BYTES * len(events))
    if salt is not None:
        salts = salt + salts[SALT_BYTES:]
    parts, number, place = [], sequence, 0
    for event in events:
        number += 1
        header = make_header(event["kind"], actor, reason, number, time, epoch, mode)
        parts.append((header, salts[place : place + SALT_BYTES], encode(event)))
        place += SALT_BYTES
    return chained(previous, sequence, time, parts)


def make_header(
    kind: str, actor: str, reason: str | None, sequence: int, time: int, epoch: int, mode: str
) -> bytes:
    """The header of a row: canonical JSON. Every row needs one, so what it shares with others is kept."""
    beginning, end = _shared(kind, actor, reason, epoch, mode, __version__)
    return b'%b%d,"time":%d%b' % (beginning, sequence, time, end)


@lru_cache(maxsize=4096)
def _shared(
    kind: str, actor: str, reason: str | None, epoch: int, mode: str, version: str
) -> tuple[bytes, bytes]:
    """What stands before the sequence number, and after the time."""
    beginning = (
        f'{{"actor":{json.dumps(actor)},"epoch":{epoch},"kind":{json.dumps(kind)},'
        f'"mode":{json.dumps(mode)},"numerics":{NUMERICS},"reason":{json.dumps(reason)},"sequence":'
    )
    return beginning.encode("ascii"), f',"version":{json.dumps(version)}}}'.encode("ascii")
