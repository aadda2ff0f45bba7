"""Numbered SQL files, and which of them a database has seen.

``migrations/0001_….sql`` beside each store is the first layout; every later file changes the one before. A
database says in a table of its own how far it has come. Programs never migrate by themselves.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from equipoise.errors import SchemaMismatch
from equipoise.version import __version__


@cache
def migrations(package: str) -> dict[int, str]:
    """The SQL of every migration of a store, by number."""
    found = {}
    for file in (files(package) / "migrations").iterdir():
        number = re.match(r"(\d{4})_\w+\.sql$", file.name)
        if number:
            found[int(number[1])] = file.read_text(encoding="utf-8")
    return dict(sorted(found.items()))


def newest(package: str) -> int:
    """The layout that this version of the program writes."""
    return max(migrations(package))


def check_readable(url: str, found: int, ours: int) -> None:
    """Refuse a layout that came before ours; a later one is read as far as it goes."""
    if found < ours:
        raise SchemaMismatch(
            f"{url} has schema {found}, and equipoise {__version__} needs schema {ours}",
            hint=f"make a backup, then type: equipoise migrate --store {url}",
        )


def check_writable(url: str, found: int, ours: int) -> None:
    """Refuse to write any layout but our own."""
    check_readable(url, found, ours)
    if found > ours:
        raise SchemaMismatch(
            f"{url} has schema {found}, and equipoise {__version__} writes schema {ours}",
            hint="here it can only be read; to write, install the version of equipoise that the others use",
        )


def not_understood(url: str, found: int, ours: int, why: object) -> SchemaMismatch:
    """A later layout that reading stumbles over."""
    return SchemaMismatch(
        f"{url} has schema {found}, of which equipoise {__version__} (schema {ours}) cannot read this: {why}",
        hint="install the version of equipoise that the others use",
    )
