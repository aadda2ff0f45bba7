"""Counting things and times in words: the one place where a number gets its noun."""

from __future__ import annotations

from datetime import timedelta

_LENGTHS = (("day", 86_400.0), ("hour", 3600.0), ("minute", 60.0), ("second", 1.0))


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun, in the plural unless it is 1; ``many`` is for plurals without a plain s.

    >>> counted(1, "trial"), counted(2000, "trial"), counted(0, "row")
    ('1 trial', '2,000 trials', '0 rows')
    >>> counted(1, "arm has", "arms have"), counted(3, "arm has", "arms have")
    ('1 arm has', '3 arms have')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def lasting(duration: timedelta) -> str:
    """A length of time in the largest unit that does not make it a fraction below 1.

    >>> lasting(timedelta(days=30)), lasting(timedelta(hours=36)), lasting(timedelta(seconds=1))
    ('30 days', '1.5 days', '1 second')
    >>> lasting(timedelta(days=4000)), lasting(timedelta(milliseconds=20)), lasting(timedelta(0))
    ('4,000 days', '0.02 seconds', '0 seconds')
    """
    seconds = duration.total_seconds()
    word, length = next((pair for pair in _LENGTHS if seconds >= pair[1]), _LENGTHS[-1])
    number = seconds / length
    if number >= 100.0 or number == int(number):
        return counted(round(number), word)
    text = f"{number:.3g}"
    return f"{text} {word}" if text == "1" else f"{text} {word}s"
