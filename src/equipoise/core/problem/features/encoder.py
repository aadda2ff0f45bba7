"""A record as a vector: fields fill slots, computed factors fill more, columns are products of slots.

All of it is prepared once; a record of ten fields takes a few microseconds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.core.plain import suggest
from equipoise.core.problem.features.category import Category
from equipoise.core.problem.features.expression import Compute, beyond_polynomials, compute_of
from equipoise.core.problem.features.field import ABSENT, INDICATOR, Field, Read
from equipoise.core.problem.features.formula import Factor, products
from equipoise.core.problem.features.number import Number
from equipoise.core.problem.inputs import LARGEST, is_within
from equipoise.errors import InvalidContext, InvalidFeatures, InvalidRecord


class Encoder:
    """Fields and a formula, compiled."""

    def __init__(self, formula: str, fields: Mapping[str, Field]) -> None:
        self._fields = fields
        self._names = ["1"]
        """Of the slots; the first is always 1."""
        self._places: dict[str, int] = {}
        self._reads: list[tuple[str, Read]] = []
        for name, field in fields.items():
            self._places[name] = len(self._names)
            self._reads.append((name, field.read(name, len(self._names))))
            self._names += field.slots(name)
        self._computed: list[tuple[int, Compute, list[int], str]] = []
        categories = {name: len(field.coded) for name, field in fields.items() if isinstance(field, Category)}
        numbers = [name for name in fields if name not in categories]
        columns = []
        for factors in products(formula, categories, numbers):
            columns += [[*choice] for choice in product(*(self._slots(factor) for factor in factors))]
        if not columns:
            raise InvalidFeatures(f"the formula {formula!r} has no columns")
        self.columns: list[list[int]] = [choice or [0] for choice in columns]
        self.names = tuple(
            "intercept" if choice == [0] else ":".join(self._names[slot] for slot in choice)
            for choice in self.columns
        )
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise InvalidFeatures(f"two columns would be called {twice[0]!r}", hint="rename a field")
        self.used = self._used_fields()
        """Fields that columns depend on; others may be left out."""
        self._needed = [(name, read, name in self.used) for name, read in self._reads]
        self._blank = [1.0] + [0.0] * (len(self._names) - 1)
        self._first = [choice[0] for choice in self.columns]
        self._rest = [(j, choice[1:]) for j, choice in enumerate(self.columns) if len(choice) > 1]

    def encode(self, record: Mapping[str, Any]) -> Vector:
        """The vector, or InvalidRecord."""
        slots = self._blank.copy()
        found = 0
        for name, read, needed in self._needed:
            value = record.get(name, ABSENT)
            if value is not ABSENT:
                found += 1
                read(value, slots)
            elif needed:
                try:
                    read(value, slots)
                except InvalidRecord:
                    if found != len(record) and not self._fields.keys() >= record.keys():
                        self._refuse_unknown(record)  # a misspelt name is why it is missing
                    raise
        if found != len(record):
            self._refuse_unknown(record)
        for place, compute, missing, text in self._computed:
            slots[place] = self._value(compute, missing, text, slots)
        row = [slots[place] for place in self._first]
        for j, further in self._rest:
            for place in further:
                row[j] *= slots[place]
        context = np.array(row)
        if not is_within(context, LARGEST):
            j = int(np.flatnonzero(~(np.abs(context) < LARGEST))[0])
            raise InvalidRecord(f"{self.names[j]!r} is {context[j]}, too large to square", hint="scale it")
        return context

    def _slots(self, factor: Factor) -> list[int]:
        """The slots that a factor chooses from within a product."""
        if factor.computed:
            return [self._computed_slot(factor.text)]
        place, field = self._places[factor.text], self._fields[factor.text]
        count = len(field.slots(factor.text))
        return list(range(place + factor.reduced, place + count))

    def _computed_slot(self, text: str) -> int:
        if text in self._places:
            return self._places[text]
        numbers = {
            name: self._places[name]
            for name, field in self._fields.items()
            if not isinstance(field, Category)
        }
        compute, names = compute_of(text, numbers)
        if not names:
            raise InvalidFeatures(f"{text!r} in the formula has no field in it")
        for name in names:
            field = self._fields[name]
            if beyond_polynomials(text) and isinstance(field, Number) and not field.plain:
                raise InvalidFeatures(
                    f"{text!r} in the formula would be computed of {name!r} after its centre, scale or log",
                    hint="use log=True of the field, or leave its centre and scale out",
                )
        missing = [numbers[name] + 1 for name in names if self._fields[name].missing == INDICATOR]
        self._places[text] = len(self._names)
        self._computed.append((len(self._names), compute, missing, text))
        self._names.append(text)
        return self._places[text]

    def _used_fields(self) -> frozenset[str]:
        used = {slot for choice in self.columns for slot in choice}
        names = set()
        for name, field in self._fields.items():
            place = self._places[name]
            if used & set(range(place, place + len(field.slots(name)))):
                names.add(name)
        numbers = {name: 0 for name, field in self._fields.items() if not isinstance(field, Category)}
        for _, _, _, text in self._computed:
            names |= set(compute_of(text, numbers)[1])
        return frozenset(names)

    def _value(self, compute: Compute, missing: list[int], text: str, slots: list[float]) -> float:
        """A computed factor; 0, as what is missing is, where one of its fields is missing."""
        for place in missing:
            if slots[place] == 1.0:
                return 0.0
        try:
            value = compute(slots)
        except (OverflowError, ZeroDivisionError):
            value = math.nan
        if value - value != 0.0:
            raise InvalidRecord(
                f"{text!r} of the formula is not a number for this record",
                hint="correct the record, or give its fields a range where it is one",
            )
        return value

    def _refuse_unknown(self, record: Mapping[str, Any]) -> None:
        for name in record:
            if name not in self._fields:
                error = InvalidRecord(f"no field {name!r}", hint=f"{suggest(str(name), list(self._fields))}")
                error.field = str(name)
                raise error
        raise InvalidContext("the record names a field twice")
