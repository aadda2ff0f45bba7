"""From a URL to a store.

=============================  ===============================================================
``memory:``                    in this process, gone with it
``sqlite:///trial.db``         a file in the current folder
``sqlite:////data/trial.db``   a file by its whole path
``postgresql://…``             a server; what follows is as PostgreSQL's own programs take it
=============================  ===============================================================
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from equipoise.errors import InvalidStore
from equipoise.extras import need
from equipoise.live.stores.store import Store

WAIT = 30.0
"""Seconds that one waits for another writer."""
_LONGEST_NAME = 230
"""Bytes of a file's name: file systems take 255, and names of files beside it are longer."""
_FORMS = (
    'for example "sqlite:///trial.db", "sqlite:////data/trial.db", "postgresql://host/database" or "memory:"'
)


def open_store(url: str, *, wait: float = WAIT) -> Store:
    """Open the store that a URL names; ``wait`` is how many seconds to wait for other writers.

    >>> with open_store("memory:") as store:
    ...     store.names()
    []
    """
    kind, place = parse_url(url)
    if not 0 <= wait < 1e6:
        raise InvalidStore(f"waiting {wait!r} seconds is not possible", hint="give a number from 0 on")
    if kind == "memory":
        from equipoise.live.stores.memory import MemoryStore

        return MemoryStore(wait=wait)
    if kind == "sqlite":
        need("apsw")
        from equipoise.live.stores.sqlite.store import SqliteStore

        return SqliteStore(place, url=url, wait=wait)
    need("psycopg")
    from equipoise.live.stores.postgresql.store import PostgresStore

    return PostgresStore(url, wait=wait)


def migrate(url: str, *, wait: float = WAIT, dry_run: bool = False) -> tuple[int, int]:
    """Bring a database to the schema of this version, or make its tables.

    Gives the schema's version before and after. A dry run does all of it, and takes it back.

    Waits until nobody writes. Other programs of the old version go on reading, and refuse to write.
    """
    kind, place = parse_url(url)
    if kind == "memory":
        raise InvalidStore("a store in memory has no schema", hint=_FORMS)
    if kind == "sqlite":
        need("apsw")
        from equipoise.live.stores.sqlite.making import migrate_file

        if not Path(place).is_file():
            raise InvalidStore(f"there is no file {place}", hint="the first experiment makes it")
        return migrate_file(Path(place).absolute(), url, wait, dry_run=dry_run)
    need("psycopg")
    from equipoise.live.stores.postgresql.making import migrate_database

    return migrate_database(url, wait, dry_run=dry_run)


def parse_url(url: str) -> tuple[str, str]:
    """The kind of a store and what the URL says about its place; or what is wrong with it."""
    if not isinstance(url, str):
        raise InvalidStore(f"a store is named by a text, not by {type(url).__name__}", hint=_FORMS)
    scheme, colon, rest = url.partition(":")
    if not colon or "/" in scheme or (len(scheme) == 1 and scheme.isalpha()):
        raise InvalidStore(f"{url!r} is not a URL of a store", hint=f'for a file: "sqlite:///{url}"')
    if scheme == "memory":
        if rest:
            raise InvalidStore(f"{url!r} says more than a store in memory needs", hint='type "memory:"')
        return "memory", ""
    if scheme == "sqlite":
        return "sqlite", _file_of(url, rest)
    if scheme == "postgresql":
        if not rest.startswith("//"):
            raise InvalidStore(f"{scheme}: must go on with two slashes", hint=_FORMS)
        return "postgresql", rest
    if re.match(r"postgres(ql)?(\+|$)", scheme):
        raise InvalidStore(
            f"no store is called {scheme!r}", hint='a server is "postgresql://user@host/database"'
        )
    raise InvalidStore(f"no store is called {scheme!r}", hint=_FORMS)


def _file_of(url: str, rest: str) -> str:
    path = rest.removeprefix("///")
    if path == rest:
        name = rest.lstrip("/") or "trial.db"
        raise InvalidStore(
            f"{url!r} must have three slashes before the path",
            hint=f'"sqlite:///{name}" in the current folder, "sqlite:////{name}" from the root',
        )
    if path == ":memory:":
        raise InvalidStore(f"{url!r} would be gone with its connection", hint='type "memory:"')
    if not path or path.endswith("/"):
        raise InvalidStore(f"{url!r} names no file", hint=_FORMS)
    if "\0" in path:
        raise InvalidStore(f"{url!r} holds a zero byte", hint=_FORMS)
    if len(os.fsencode(Path(path).name)) > _LONGEST_NAME:
        raise InvalidStore(
            f"the name of the file in {url[:40] + '…'!r} is too long", hint="choose a shorter one"
        )
    return path
