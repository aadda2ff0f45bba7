"""One of a few levels, such as sex, site or stage."""

from __future__ import annotations

import difflib
import numbers
from dataclasses import dataclass, field
from typing import Any, ClassVar

from equipoise.core.plain import changed_fields, suggest
from equipoise.core.problem.features.field import (
    INDICATOR,
    Field,
    Read,
    check_words,
    is_missing,
    no_value,
    wrong_value,
)
from equipoise.core.problem.names import is_text
from equipoise.errors import InvalidFeatures

Level = str | int | bool

MISSING = "missing"
"""What the level of missing values is called."""


@dataclass(frozen=True, init=False, repr=False)
class Category(Field):
    """One of a few levels; models see a column a level, but for the reference where a constant stands for it.

    Parameters
    ----------
    levels
        Text or whole numbers, at least two.
    reference
        The level that the others are compared with; the first unless given.
    missing
        None: a record without it is refused. ``"indicator"``: missing is a level of its own. A level: counts
        as that.
    label
        What it is called in forms.

    Examples
    --------
    >>> Category("f", "m")
    Category('f', 'm')
    """

    kind: ClassVar[str] = "category"

    levels: tuple[Level, ...]
    reference: Level | None = None
    missing: Level | None = None
    label: str | None = field(default=None)

    def __init__(
        self,
        *levels: Level,
        reference: Level | None = None,
        missing: Level | None = None,
        label: str | None = None,
    ) -> None:
        if len(levels) == 1 and isinstance(levels[0], list | tuple):
            raise InvalidFeatures(
                "levels are given one by one", hint=f"Category({', '.join(map(repr, levels[0]))})"
            )
        plain = tuple(_level(level) for level in levels)
        if len(plain) < 2:
            raise InvalidFeatures(
                f"a category of {len(plain)} level{'s' * (len(plain) != 1)} tells nothing",
                hint="give at least two, e.g. eq.Category('f', 'm')",
            )
        if len(set(plain)) < len(plain) or len({str(level) for level in plain}) < len(plain):
            raise InvalidFeatures(f"two levels are the same: {', '.join(map(repr, plain))}")
        if reference is not None and reference not in plain:
            raise InvalidFeatures(
                f"reference={reference!r} is no level", hint=suggest(str(reference), _texts(plain))
            )
        if missing is not None and missing != INDICATOR and missing not in plain:
            raise InvalidFeatures(
                f"missing={missing!r} is neither 'indicator' nor a level",
                hint=suggest(str(missing), _texts(plain)),
            )
        if missing == INDICATOR and MISSING in plain:
            raise InvalidFeatures(
                f"a level is called {MISSING!r} already", hint=f"missing={MISSING!r} counts them there"
            )
        check_words(label=label)
        object.__setattr__(self, "levels", plain)
        object.__setattr__(self, "reference", None if reference == plain[0] else reference)
        object.__setattr__(self, "missing", missing)
        object.__setattr__(self, "label", label)

    @property
    def allowed(self) -> str:
        """The levels, in words."""
        return ", ".join(map(repr, self.levels))

    @property
    def coded(self) -> tuple[Level, ...]:
        """All levels that have a slot, the reference first."""
        first = self.levels[0] if self.reference is None else self.reference
        others = tuple(level for level in self.levels if level != first)
        return (first, *others, *([MISSING] if self.missing == INDICATOR else []))

    def slots(self, name: str) -> list[str]:
        """Whether it is each of its levels."""
        return [f"{name}[{level}]" for level in self.coded]

    def read(self, name: str, place: int) -> Read:
        """A function that writes a value's slots."""
        places: dict[Any, int] = {level: place + j for j, level in enumerate(self.coded)}
        if self.missing == INDICATOR:
            del places[MISSING]

        def read(value: Any, slots: list[float]) -> None:
            try:
                slots[places[value]] = 1.0
            except (KeyError, TypeError):
                slots[self._other(name, value, places, place)] = 1.0

        return read

    def __repr__(self) -> str:
        options = [f"{name}={value!r}" for name, value in changed_fields(self) if name != "levels"]
        return f"Category({', '.join([*map(repr, self.levels), *options])})"

    def _other(self, name: str, value: Any, places: dict[Any, int], place: int) -> int:
        """The slot of a value that is no level: a missing one, or none."""
        if not is_missing(value):
            raise wrong_value(name, value, "not one of its levels", self._meant(str(value)))
        if self.missing is None:
            raise no_value(name, f"give one of {self.allowed}")
        return place + len(self.coded) - 1 if self.missing == INDICATOR else places[self.missing]

    def _meant(self, text: str) -> str:
        """What somebody may have meant, and what there is."""
        alike = [level for level in self.levels if str(level).casefold() == text.strip().casefold()]
        # Levels are often short: half of the letters in common would suggest one town for another.
        near = alike or difflib.get_close_matches(text, _texts(self.levels), n=1, cutoff=0.6)
        return f"{f'did you mean {near[0]!r}? ' if near else ''}the levels are {self.allowed}"


def _level(level: Any) -> Level:
    if isinstance(level, str) and level and is_text(level):
        return str(level)
    if isinstance(level, bool):
        return level
    if isinstance(level, numbers.Integral):
        return int(level)
    raise InvalidFeatures(
        f"level {level!r} is neither text nor a whole number",
        hint="for measurements use eq.Number(…)",
    )


def _texts(levels: tuple[Level, ...]) -> list[str]:
    return [str(level) for level in levels]
