"""Counting things in words: the one place where a number gets its noun."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun, in the plural unless it is 1; ``many`` is for plurals without a plain s.

    >>> counted(1, "trial"), counted(2000, "trial"), counted(0, "row")
    ('1 trial', '2,000 trials', '0 rows')
    >>> counted(1, "arm has", "arms have"), counted(3, "arm has", "arms have")
    ('1 arm has', '3 arms have')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
