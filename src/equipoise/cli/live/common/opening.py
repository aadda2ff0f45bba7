"""The store and the experiment that were named. Nothing here makes a file that was not there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.errors import DataNotFound

if TYPE_CHECKING:
    from equipoise.live.experiment.experiment import LiveExperiment
    from equipoise.live.stores.store import Store


def existing_store(url: str) -> str:
    """The URL, unless it names a file that is not there: a typing error makes no empty store."""
    from equipoise.live.stores.opening import parse_url

    kind, place = parse_url(url)
    if kind == "sqlite" and not Path(place).exists():
        raise DataNotFound(
            f"there is no store {place}",
            hint="'equipoise new' makes one; --store URL or EQUIPOISE_STORE names another",
        )
    return url


@contextlib.contextmanager
def opened(name: str, store: str, actor: str | None = None) -> Iterator[LiveExperiment]:
    """The experiment, closed afterwards."""
    from equipoise.live.experiment.opening import load_experiment

    with load_experiment(store=existing_store(store), name=name, actor=actor) as experiment:
        yield experiment


@contextlib.contextmanager
def opened_store(url: str) -> Iterator[Store]:
    """The store itself, closed afterwards."""
    from equipoise.live.stores.opening import open_store

    with open_store(existing_store(url)) as store:
        yield store
