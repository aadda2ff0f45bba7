"""Names of experiments: ``project/experiment``, or just ``experiment`` in the project "default".

A name ends up in receipts, in addresses of the service and in shells, so it is made of letters and digits of
any script, ``.``, ``_`` and ``-``. The project "default" is left out of the canonical form: what was typed is
what is shown.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple

from equipoise.errors import ExperimentNotFound, InvalidArgument

DEFAULT_PROJECT = "default"
LONGEST = 100
"""Characters of a project, and of an experiment."""

_MARKS = "._-"


class Name(NamedTuple):
    """A name, taken apart; its text is the canonical form."""

    project: str
    experiment: str

    def __str__(self) -> str:
        return self.experiment if self.project == DEFAULT_PROJECT else f"{self.project}/{self.experiment}"


def parse_name(text: str) -> Name:
    """Take a name apart, or say what is wrong with it.

    >>> parse_name("asthma/dose-finding")
    Name(project='asthma', experiment='dose-finding')
    >>> str(parse_name("default/trial-1"))
    'trial-1'
    """
    if not isinstance(text, str):
        raise InvalidArgument(
            f"a name must be text, not {type(text).__name__}", hint='for example "project/trial-1"'
        )
    parts = unicodedata.normalize("NFC", text).split("/")
    if len(parts) > 2:
        raise InvalidArgument(
            f"the name {text!r} has {len(parts) - 1} slashes", hint='names are "project/experiment"'
        )
    if len(parts) == 1:
        parts.insert(0, DEFAULT_PROJECT)
    for part, kind in zip(parts, Name._fields, strict=True):
        _check(part, kind, text)
    return Name(*parts)


def full_name(text: str) -> str:
    """The canonical form of a name, under which stores keep it."""
    return _canonical(text) if type(text) is str else str(parse_name(text))


@lru_cache(4096)
def _canonical(text: str) -> str:
    return str(parse_name(text))


def no_experiment(name: str, url: str, known: Iterable[str]) -> ExperimentNotFound:
    """The error for a name that a store does not have."""
    close = get_close_matches(name, list(known), n=1)
    return ExperimentNotFound(
        f"no experiment {name!r} in {url}",
        hint=f"did you mean {close[0]!r}?" if close else "check the name and the store",
    )


def _check(part: str, kind: str, text: str) -> None:
    if not part:
        raise InvalidArgument(
            f"the {kind} in the name {text!r} is empty", hint='names are "project/experiment"'
        )
    if len(part) > LONGEST:
        raise InvalidArgument(
            f"the {kind} in the name {text[:40] + '…'!r} has {len(part)} characters",
            hint=f"at most {LONGEST} are taken",
        )
    bad = sorted({sign for sign in part if not (sign.isalnum() or sign in _MARKS)})
    if bad or not part[0].isalnum():
        what = f"holds {', '.join(map(repr, bad[:5]))}" if bad else f"begins with {part[0]!r}"
        better = "".join(sign if sign.isalnum() or sign in _MARKS else "-" for sign in part).strip(_MARKS)
        raise InvalidArgument(
            f"the {kind} in the name {text!r} {what}",
            hint="letters, digits, '.', '_' and '-' are taken, a letter or digit first"
            + (f"; for example {better!r}" if better else ""),
        )
