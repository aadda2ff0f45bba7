"""Experiments in stores, for tests that do not care what their events mean."""

from __future__ import annotations

from equipoise.live.stores.chain import empty_head, extended
from equipoise.live.stores.contract import rows_after


def begin(store, name="trial", payload=b"created", mode="live"):
    """A new experiment of one row."""
    return store.create(name, lambda now: rows_after(empty_head(name, mode), [payload], now), mode)


def add(store, *payloads, name="trial"):
    """Rows in one commit; gives the head after."""
    with store.writing(name) as writer:
        writer.append(rows_after(writer.head, payloads, writer.now))
        return writer.head


def payloads(store, name="trial"):
    """What is stored, after a look at every hash."""
    rows = list(store.read(name))
    head = store.head(name)
    assert extended(empty_head(name, head.mode), rows).hash == head.hash
    return [row.payload for row in rows]
