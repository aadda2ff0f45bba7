"""A measurement: its range and unit, and how it is centred and scaled for the models."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from equipoise.core.arithmetic.logarithm import log
from equipoise.core.plain import changed_fields
from equipoise.core.problem.features.field import (
    INDICATOR,
    Field,
    Read,
    check_words,
    is_missing,
    no_value,
    wrong_value,
)
from equipoise.core.problem.real import NotReal, foreign_kind, real_number
from equipoise.errors import InvalidFeatures, InvalidOutcome

# Whole numbers up to here are floating-point numbers.
_EXACT = 2**53


@dataclass(frozen=True)
class Number(Field):
    """A measurement, encoded as (value − center)/scale; with ``log`` as (log value − log center)/scale.

    Parameters
    ----------
    low, high
        Smallest and largest value that is accepted; None: any.
    center, scale
        What the models see as 0 and as a step of 1. The centre is a value of the field; without one it is 0,
        with ``log`` 1. A scale is in the field's unit, or with ``log`` in logarithms.
    unit
        What it is measured in, for tables and forms.
    log
        True: models see its natural logarithm; a number: the logarithm to that base.
    missing
        None: a record without it is refused. ``"indicator"``: it counts as the centre, and a further column
        is 1 where it is missing. A number: it counts as that value.
    label
        What it is called in forms.

    Examples
    --------
    >>> Number(18, 90, center=50, scale=10, unit="years")
    Number(low=18, high=90, center=50, scale=10, unit='years')
    """

    kind: ClassVar[str] = "number"

    low: float | None = None
    high: float | None = None
    _: KW_ONLY
    center: float | None = None
    scale: float = 1.0
    unit: str | None = None
    log: bool | float = False
    missing: str | float | None = None
    label: str | None = None

    def __post_init__(self) -> None:
        for name in ("low", "high", "center", "scale"):
            value = getattr(self, name)
            if value is None and name != "scale":
                continue
            object.__setattr__(self, name, _plain(f"{name}={value!r}", value))
        if not self.scale > 0.0:
            raise InvalidFeatures(f"scale={self.scale!r} is not positive")
        if not isinstance(self.log, bool):
            base = _plain(f"log={self.log!r}", self.log)
            if not base > 1.0:
                raise InvalidFeatures(f"log={self.log!r} is no base above 1", hint="log=True, log=2, log=10")
            object.__setattr__(self, "log", base)
        check_words(unit=self.unit, label=self.label)
        self._check_range()
        if self.missing is not None and self.missing != INDICATOR:
            value = _plain(f"missing={self.missing!r}", self.missing, hint="use 'indicator' or a number")
            object.__setattr__(self, "missing", value)
            if not self._within(value):
                raise InvalidFeatures(f"missing={value!r} is not within {self.allowed}")

    @property
    def allowed(self) -> str:
        """The values that are accepted, in words."""
        unit = f" {self.unit}" if self.unit else ""
        if self.low is not None and self.high is not None:
            return f"{self.low:.10g} to {self.high:.10g}{unit}"
        if self.low is not None:
            return f"{self.low:.10g}{unit} or more"
        if self.high is not None:
            return f"{self.high:.10g}{unit} or less" + (", above 0" if self.log else "")
        return "numbers above 0" if self.log else "any number"

    @property
    def column_unit(self) -> str | None:
        """The unit of what models see once centre and scale are undone."""
        if not self.log:
            return self.unit
        base = "log" if self.log is True else f"log{self.log:.10g}"
        return base if self.unit is None else f"{base} {self.unit}"

    def encoding(self, name: str) -> str | None:
        """What models see of the field, in words; None where they see the value as it is.

        >>> Number(center=50, scale=10, unit="years").encoding("age")
        'age is (age in years − 50)/10'
        """
        if self.plain:
            return None
        value = f"{name} in {self.unit}" if self.unit else name
        shift = "" if self.center in (None, 0) else f" − {self.center:.10g}"
        if self.log:
            base = "log" if self.log is True else f"log{self.log:.10g}"
            value = f"{base}({value})"
            shift = "" if self.center in (None, 1) else f" − {base} {self.center:.10g}"
        if self.scale == 1:
            return f"{name} is {value}{shift}"
        return f"{name} is {f'({value}{shift})' if shift or not self.log else value}/{self.scale:.10g}"

    def unscaled(self) -> Number:
        """The same field without centre and scale."""
        return dataclasses.replace(self, center=None, scale=1.0)

    @property
    def plain(self) -> bool:
        """Whether models see the value as it is."""
        return self.center in (None, 0) and self.scale == 1 and not self.log

    def slots(self, name: str) -> list[str]:
        """Its value; and whether it is missing, where that is a column."""
        return [name, f"{name}[missing]"] if self.missing == INDICATOR else [name]

    def read(self, name: str, place: int) -> Read:
        """A function that writes a value's slots."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        plain = not self.log
        if plain:
            shift, divisor = float(self.center or 0.0), float(self.scale)
        else:
            shift = 0.0 if self.center is None else log(float(self.center))
            divisor = self.scale * (1.0 if self.log is True else log(float(self.log)))

        def read(value: Any, slots: list[float]) -> None:
            kind = type(value)
            number = (
                float(value)
                if kind is float or (kind is int and -_EXACT < value < _EXACT)
                else self._number(name, value)
            )
            if not low <= number <= high or number - number != 0.0 or not (plain or number > 0.0):
                if number == number:
                    raise wrong_value(name, value, f"not within {self.allowed}", "correct the value")
                if self.missing is None:
                    raise no_value(name, f"give {self.allowed}")
                if self.missing == INDICATOR:
                    slots[place + 1] = 1.0
                    return
                number = float(self.missing)
            slots[place] = ((number if plain else log(number)) - shift) / divisor

        return read

    def check_outcome(self, value: float) -> None:
        """Raise unless an outcome is within the range."""
        if not self._within(value):
            raise InvalidOutcome(
                f"outcome {value!r} is not within {self.allowed}",
                hint="correct the value; if it will never be known, declare the unit lost",
            )

    def __repr__(self) -> str:
        parts = [f"{name}={value!r}" for name, value in changed_fields(self)]
        return f"Number({', '.join(parts)})"

    def _within(self, value: float) -> bool:
        above = self.low is None or self.low <= value
        return above and (self.high is None or value <= self.high) and (not self.log or value > 0.0)

    def _check_range(self) -> None:
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise InvalidFeatures(f"low={self.low!r} is not below high={self.high!r}")
        if self.log:
            for name in ("low", "high", "center"):
                value = getattr(self, name)
                if value is not None and not value > 0.0:
                    raise InvalidFeatures(f"{name}={value!r} has no logarithm", hint="give a number above 0")

    def _number(self, name: str, value: Any) -> float:
        """A number of any other kind; not a number where the value is missing."""
        if is_missing(value):
            return math.nan
        what = foreign_kind(value)
        if what is not None and (what == "true and false" or not hasattr(value, "dtype")):
            raise wrong_value(name, value, f"{what}, not a number", f"give {self.allowed}")
        try:
            return real_number(value)
        except NotReal as error:
            raise wrong_value(name, value, f"{error.what}, not a number", f"give {self.allowed}") from None
        except (TypeError, ValueError, OverflowError):
            raise wrong_value(name, value, "not a number", f"give {self.allowed}") from None


def _plain(what: str, value: Any, hint: str | None = None) -> float:
    """A finite number as it was given, int or float."""
    try:
        number = float(value) if foreign_kind(value) is None else math.nan
    except OverflowError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidFeatures(f"{what} is not a finite number", hint=hint)
    return int(number) if isinstance(value, int) else number
