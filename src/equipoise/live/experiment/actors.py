"""Who acts, and why: every row of a log says both."""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from equipoise.core.problem.inputs import checked_text
from equipoise.errors import InvalidArgument, ReasonMissing

LONGEST = 200
"""Characters of a name."""

_none: Mapping[int, str] = {}
_acting: ContextVar[Mapping[int, str]] = ContextVar("equipoise_acting", default=_none)


class Actor:
    """Who acts on one experiment, unless somebody else is named for a while."""

    def __init__(self, name: str | None) -> None:
        self._usual = login_name() if name is None else checked_actor(name)

    @property
    def name(self) -> str:
        """Who acts now, in this thread."""
        return _acting.get().get(id(self), self._usual)

    @contextmanager
    def acting(self, name: str) -> Iterator[None]:
        """Let somebody else act within this thread, or task, until the end of the block."""
        token = _acting.set({**_acting.get(), id(self): checked_actor(name)})
        try:
            yield
        finally:
            _acting.reset(token)


def checked_actor(name: str) -> str:
    """The name, if it is one."""
    if not isinstance(name, str) or not name.strip():
        raise InvalidArgument(f"{name!r} does not name who acts", hint='for example actor="dr-who"')
    return checked_text(name, "the name of who acts", longest=LONGEST, one_line=True)


def login_name() -> str:
    """Who runs this program, as far as the system knows."""
    try:
        return checked_actor(getpass.getuser())
    except (OSError, KeyError, ImportError, InvalidArgument):
        return "unknown"


def demanded(reason: str | None, what: str) -> str:
    """The reason of something that must have one."""
    given = optional(reason)
    if given is None:
        raise ReasonMissing(f"to {what} needs a reason", hint='give one in words: reason="…"')
    return given


def optional(reason: str | None) -> str | None:
    """The reason, if one was given."""
    if reason is None or (isinstance(reason, str) and not reason.strip()):
        return None
    return checked_text(reason, "a reason").strip()
