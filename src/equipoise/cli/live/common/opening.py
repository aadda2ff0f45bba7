"""The store and the experiment that were named. Only what is meant to makes a file that was not there."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from equipoise.cli.live.common.hints import in_shell_words
from equipoise.errors import DataNotFound, EquipoiseError

if TYPE_CHECKING:
    from equipoise.live.experiment.experiment import LiveExperiment
    from equipoise.live.stores.store import Store

WAIT = "wait"
"""Under what click keeps the seconds of --wait."""


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


def shown_url(url: str) -> str:
    """The URL as it may be printed: without a password."""
    from equipoise.live.stores.opening import parse_url

    if parse_url(url)[0] != "postgresql":
        return url
    from equipoise.live.stores.postgresql.connecting import without_password

    return without_password(url)


@contextlib.contextmanager
def made_store(url: str) -> Iterator[Store]:
    """The store, made if it is not there, and closed afterwards."""
    from equipoise.live.stores import opening

    context = click.get_current_context(silent=True)
    wait = opening.WAIT if context is None else context.meta.get(WAIT, opening.WAIT)
    with opening.open_store(url, wait=wait) as store:
        yield store


@contextlib.contextmanager
def opened_store(url: str) -> Iterator[Store]:
    """The store, which must be there."""
    with made_store(existing_store(url)) as store:
        yield store


@contextlib.contextmanager
def opened(name: str, store: str, actor: str | None = None) -> Iterator[LiveExperiment]:
    """The experiment in a store that must be there."""
    from equipoise.live.experiment.opening import load_experiment

    with opened_store(store) as at, load_experiment(store=at, name=name, actor=actor) as experiment:
        try:
            yield experiment
        except EquipoiseError as error:
            in_shell_words(error, name)
            raise
