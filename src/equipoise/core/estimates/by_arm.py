"""One thing an arm, in the order of the problem, found by place or by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar, overload

from equipoise.core.text_tables import Shown
from equipoise.errors import UnknownArm


class OfArm(Protocol):
    """What is known of one arm."""

    @property
    def arm(self) -> str:
        """Name of the arm."""

    def record(self) -> dict[str, Any]:
        """Plain values."""


T = TypeVar("T", bound=OfArm)


class ByArm(Shown, Sequence[T]):
    """A sequence in the order of the problem, also indexed by name."""

    def __init__(self, arms: Sequence[T]) -> None:
        self._arms = tuple(arms)

    @overload
    def __getitem__(self, key: int | str) -> T: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[T, ...]: ...
    def __getitem__(self, key: int | str | slice) -> T | tuple[T, ...]:
        if not isinstance(key, str):
            return self._arms[key]
        for each in self._arms:
            if each.arm == key:
                return each
        raise UnknownArm(f"no arm {key!r}", hint=f"the arms are {', '.join(each.arm for each in self)}")

    def __len__(self) -> int:
        return len(self._arms)

    def __iter__(self) -> Iterator[T]:
        return iter(self._arms)

    def records(self) -> list[dict[str, Any]]:
        """One plain dictionary an arm."""
        return [each.record() for each in self]
