"""Values as they are typed: text in, numbers out, or an error that says what to type instead."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from equipoise.errors import InvalidArgument

if TYPE_CHECKING:
    from equipoise.core.problem.objective import Objective
    from equipoise.core.theory.planning import Guess

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
# The hyphen of 1e-3 belongs to its number, so 1e-3-1e-2 can only be read in one way.
_GUESS = re.compile(rf"({_NUMBER})(?:\s*[-–]\s*({_NUMBER}))?")


# Between numbers; blanks beside a comma are none, nor are those around the hyphen of a range.
_OTHER_SEPARATORS = re.compile(r"\s*[;|/]\s*|(?<![,\s–-])\s+(?![,\s–-])")


def typed(parse: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    """Callback of an option whose text goes through ``parse``, a function that raises on wrong text.

    A callback, not a type: click swallows the hint of an error that is raised by a type.
    """
    return lambda ctx, option, text: None if text is None else parse(text.strip())


def parse_noise(text: str) -> list[Guess]:
    """Noise variances: numbers, or guesses written low-high.

    >>> parse_noise("0.5, 1, 1e-3-4")
    [0.5, 1.0, (0.001, 4.0)]
    """
    return [_guess(entry, text) for entry in _entries("--noise", text, "0.5,1,1-4")]


def parse_variances(text: str) -> list[float]:
    """Noise variances that are known: numbers of at least 0.

    >>> parse_variances("0.01, 2, 1e-3")
    [0.01, 2.0, 0.001]
    """
    variances = []
    for entry in _entries("--noise", text, "0.5,1,4"):
        variance = _number(entry)
        if not 0.0 <= variance < math.inf:
            raise InvalidArgument(
                f"{entry!r} in --noise {text} is not a variance",
                hint="type one number of at least 0 an arm, e.g. --noise 0.5,1,4",
            )
        variances.append(variance)
    return variances


def _positive_numbers(option: str, example: str) -> Callable[[str], list[float]]:
    """Parser of positive numbers, one an arm."""

    def parse(text: str) -> list[float]:
        numbers = [_number(entry) for entry in _entries(option, text, example)]
        for entry, number in zip(_entries(option, text, example), numbers, strict=True):
            if not 0.0 < number < math.inf:
                raise InvalidArgument(
                    f"{entry!r} in {option} {text} is not a positive number",
                    hint=f"type one number an arm, e.g. {option} {example}",
                )
        return numbers

    return parse


def _counts(option: str, example: str) -> Callable[[str], list[int | None]]:
    """Parser of whole numbers, one an arm; ``none`` where there is no limit."""

    def parse(text: str) -> list[int | None]:
        counts: list[int | None] = []
        for entry in _entries(option, text, example):
            if entry != "none" and not re.fullmatch(r"\d{1,15}", entry):
                raise InvalidArgument(
                    f"{entry!r} in {option} {text} is not a whole number of at least 0",
                    hint=f"type one number an arm, e.g. {option} {example}",
                )
            counts.append(None if entry == "none" else int(entry))
        return counts

    return parse


def parse_objective(text: str) -> Objective:
    """``max``, ``mean`` or the p of a p-norm."""
    if text == "max":
        return "max"
    if text == "mean":
        return "mean"
    order = _number(text)
    if not 1.0 <= order < math.inf:
        raise InvalidArgument(
            f"--objective {text} is neither max, mean nor a number of at least 1",
            hint="type --objective max (the worst arm), mean, or p of a p-norm, e.g. --objective 2",
        )
    return order


def parse_names(option: str) -> Callable[[str], list[str]]:
    """Parser of column names, separated by commas."""

    def parse(text: str) -> list[str]:
        names = [entry.strip() for entry in text.split(",")]
        if not all(names):
            raise InvalidArgument(
                f"{option} {text!r} has an empty entry", hint=f"e.g. {option} age,dose,weight"
            )
        return names

    return parse


def any_number(option: str, example: str) -> Callable[[str], float]:
    """Parser of a finite number of either sign."""

    def parse(text: str) -> float:
        number = _number(text)
        if not math.isfinite(number):
            raise InvalidArgument(f"{option} {text} is not a number", hint=f"e.g. {option} {example}")
        return number

    return parse


def positive_number(option: str, example: str) -> Callable[[str], float]:
    """Parser of a number above zero."""

    def parse(text: str) -> float:
        number = _number(text)
        if not 0.0 < number < math.inf:
            raise InvalidArgument(
                f"{option} {text} is not a positive number", hint=f"e.g. {option} {example}"
            )
        return number

    return parse


def number_between(option: str, example: str, *, least: float, below: float) -> Callable[[str], float]:
    """Parser of a number from ``least`` to, but not including, ``below``."""
    limits = f"of at least {least:g}" + ("" if math.isinf(below) else f" and below {below:g}")

    def parse(text: str) -> float:
        number = _number(text)
        if not least <= number < below:
            raise InvalidArgument(
                f"{option} {text} is not a number {limits}", hint=f"e.g. {option} {example}"
            )
        return number

    return parse


def whole_number(option: str, example: str, *, least: int, most: int | None = None) -> Callable[[str], int]:
    """Parser of a whole number between two limits."""
    limits = f"of at least {least}" if most is None else f"from {least} to {most}"

    def parse(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,40}", text):
            raise InvalidArgument(f"{option} {text} is not a whole number", hint=f"e.g. {option} {example}")
        number = int(text)
        if number < least or (most is not None and number > most):
            raise InvalidArgument(
                f"{option} {text} is not a whole number {limits}", hint=f"e.g. {option} {example}"
            )
        return number

    return parse


def _entries(option: str, text: str, example: str) -> list[str]:
    entries = [entry.strip() for entry in text.split(",")]
    if _OTHER_SEPARATORS.search(text.strip()):
        parts = [part for part in _OTHER_SEPARATORS.split(text.strip()) if part]
        # 0,5;1,2 has commas for points.
        meant = ",".join(part.replace(",", ".") if ";" in text else part.strip(",") for part in parts)
        raise InvalidArgument(
            f"{option} {text!r} is not separated by commas", hint=f"did you mean {option} {meant}?"
        )
    if not all(entries):
        raise InvalidArgument(
            f"{option} {text!r} has an empty entry",
            hint=f"type one value an arm, separated by commas, e.g. {option} {example}",
        )
    return entries


def _guess(entry: str, text: str) -> Guess:
    match = _GUESS.fullmatch(entry)
    if match is None:
        raise InvalidArgument(
            f"{entry!r} in --noise {text} is neither a variance nor a range",
            hint="type numbers of at least 0, or low-high for a guess, e.g. --noise 0.5,1,1-4",
        )
    low = float(match[1])
    high = low if match[2] is None else float(match[2])
    if math.isinf(low) or math.isinf(high):
        raise InvalidArgument(
            f"{entry!r} in --noise {text} is too large a number", hint="type variances below 1e300"
        )
    if low > high:
        raise InvalidArgument(
            f"the range {entry!r} in --noise {text} starts above its end",
            hint=f"type the lower end first: {match[2]}-{match[1]}",
        )
    return low if match[2] is None else (low, high)


def _number(text: str) -> float:
    # float() alone would also take "1_0", "nan" and "infinity".
    return float(text) if re.fullmatch(rf"[+-]?{_NUMBER}", text) else math.nan


def parse_shares(text: str) -> float | list[float]:
    """Shares of outcomes that get lost: one number for all arms, or one an arm.

    >>> parse_shares("0.1"), parse_shares("0,0.2")
    (0.1, [0.0, 0.2])
    """
    parse = number_between("--lost", "0.1", least=0.0, below=1.0)
    shares = [parse(entry) for entry in _entries("--lost", text, "0.1")]
    return shares if len(shares) > 1 else shares[0]


def parse_closure(text: str) -> tuple[str, int]:
    """An arm and the number of units after which it is closed.

    >>> parse_closure("high dose=120")
    ('high dose', 120)
    """
    arm, equals, after = (part.strip() for part in text.rpartition("="))
    if not equals or not arm:
        raise InvalidArgument(
            f"--close {text} is not ARM=UNITS", hint="e.g. --close high=120; a scenario file can say more"
        )
    return arm, whole_number("--close", "high=120", least=0)(after)


parse_weights = _positive_numbers("--weights", "1,2,1")
parse_costs = _positive_numbers("--costs", "1,2.5,1")
parse_floors = _counts("--floors", "0,20,0")
parse_caps = _counts("--caps", "none,30,none")
