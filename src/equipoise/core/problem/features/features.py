"""Features in the user's own words: named fields and a formula, and the vector that models see."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.plain import check_table
from equipoise.core.problem.features.encoder import Encoder
from equipoise.core.problem.features.field import Field, field_from_dict
from equipoise.core.problem.features.number import Number
from equipoise.core.problem.features.proposal import proposed_fields
from equipoise.core.problem.features.records import as_record, as_records
from equipoise.core.problem.features.undoing import combinations
from equipoise.core.problem.features.vectors import encoded_rows
from equipoise.core.problem.names import is_text
from equipoise.errors import InvalidFeatures


class Features:
    """Named, typed fields and a formula of them.

    A formula is written as in R: ``1 + age + sex + age:sex``, ``age * sex``,
    ``(age + sex + site)**2 - age:site``, ``I(age**2)``, ``log(dose)``. It has a constant unless it says
    ``0 +``. Names stand for encoded values, after centre and scale. Encoding does not depend on other units,
    and has the same bits everywhere.

    Parameters
    ----------
    formula
        What the columns of a context are; all fields, one after the other, unless given.
    fields
        :class:`~equipoise.Number` or :class:`~equipoise.Category` by name. Those that the formula does not
        have may be left out of records, and are checked where they are given. A name that is no word goes in
        backticks within the formula.

    Examples
    --------
    >>> import equipoise as eq
    >>> age = eq.Number(18, 90, center=50, scale=10, unit="years")
    >>> features = eq.Features("1 + age + sex + age:sex", age=age, sex=eq.Category("f", "m"))
    >>> features.names
    ('intercept', 'age', 'sex[m]', 'age:sex[m]')
    >>> features.encode({"age": 54, "sex": "m"})
    array([1. , 0.4, 1. , 0.4])
    >>> features.encode({"age": 154, "sex": "m"})
    Traceback (most recent call last):
    ...
    equipoise.errors.InvalidRecord: 'age' is 154, not within 18 to 90 years (correct the value)
    """

    def __init__(self, formula: str | None = None, /, **fields: Field) -> None:
        for name, field in fields.items():
            if not isinstance(field, Field):
                raise InvalidFeatures(
                    f"{name}={field!r} is not a field", hint="use eq.Number(…) or eq.Category(…)"
                )
            # Formulas have 0 and 1 for the constant.
            if name in ("", "0", "1") or "`" in name or not is_text(name):
                raise InvalidFeatures(f"a field cannot be called {name!r}", hint="rename it")
        if formula is None:
            formula = " + ".join(["1", *(name if name.isidentifier() else f"`{name}`" for name in fields)])
        if not isinstance(formula, str):
            raise InvalidFeatures(
                f"{formula!r} is not a formula", hint="write e.g. eq.Features('1 + age', age=eq.Number())"
            )
        self.formula = formula
        self.fields: Mapping[str, Field] = MappingProxyType(dict(fields))
        self._encoder = Encoder(formula, self.fields)

    @classmethod
    def from_table(cls, table: Any, *, exclude: Collection[str] = ()) -> Features:
        """Features that a table suggests: its columns one after the other, to be looked over.

        Numbers are centred and scaled by round numbers near their mean and deviation, text becomes categories
        with the most frequent level as reference, and fields with gaps get an indicator. No range is
        proposed, as a table cannot tell what is allowed.

        Parameters
        ----------
        table
            A data frame of pandas or Polars, a list of records, or columns by name.
        exclude
            Columns that are no features: outcomes, names of units, dates.
        """
        return cls(**proposed_fields(table, exclude))

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns of a context are called."""
        return self._encoder.names

    @property
    def dim(self) -> int:
        """Number of columns, the constant included."""
        return len(self._encoder.names)

    @property
    def used(self) -> tuple[str, ...]:
        """Fields that the formula has, in their order."""
        return tuple(name for name in self.fields if name in self._encoder.used)

    @property
    def encodings(self) -> tuple[str, ...]:
        """What the columns have of measurements that are centred, scaled or logarithms, in words."""
        numbers = ((name, self.fields[name]) for name in self.used)
        words = (field.encoding(name) for name, field in numbers if isinstance(field, Number))
        return tuple(word for word in words if word is not None)

    def encode(self, record: Any) -> Vector:
        """The vector that models see of one unit, or InvalidRecord that names the field."""
        return self._encoder.encode(record if type(record) is dict else as_record(record))

    def encode_many(self, table: Any) -> Matrix:
        """The same of a data frame, or of a list of records; one row a unit."""
        return np.array(encoded_rows(self.encode, as_records(table))).reshape(-1, self.dim)

    def moment(self, table: Any) -> Matrix:
        """Σ = E[xxᵀ] of the units in a table, for ``Problem(moment=…)``: those whom the models must serve."""
        contexts = self.encode_many(table)
        if not len(contexts):
            raise InvalidFeatures("the table has no rows")
        return np.array(
            [[exact_sum(one * other) / len(contexts) for one in contexts.T] for other in contexts.T]
        )

    def unscaled(self) -> tuple[tuple[str, ...], tuple[str | None, ...], Matrix]:
        """Names and units of the columns without centre and scale, and A with encoded = A·raw.

        A model with coefficients β of encoded columns has Aᵀβ in the fields' units. InvalidFeatures where the
        formula lacks lower terms that this needs.
        """
        matrix = combinations(self.formula, self._encoder, self.fields)
        return self.names, tuple(map(self._unit, self.names)), matrix

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON, TOML and logs.

        >>> Features(dose=Number(0, 80, unit="mg")).to_dict()
        {'formula': '1 + dose', 'fields': {'dose': {'kind': 'number', 'low': 0, 'high': 80, 'unit': 'mg'}}}
        """
        return {
            "formula": self.formula,
            "fields": {name: field.to_dict() for name, field in self.fields.items()},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Features:
        """The features that plain values describe, as :meth:`to_dict` writes them."""
        known = ("formula", "fields")
        given = check_table(values, what="features", known=known, error=InvalidFeatures)
        fields = given.get("fields", {})
        if not isinstance(fields, Mapping) or not all(isinstance(name, str) for name in fields):
            raise InvalidFeatures("fields are not a table of fields by name")
        named = {name: field_from_dict(f"the field {name!r}", field) for name, field in fields.items()}
        return cls(given.get("formula"), **named)

    def to_toml(self) -> str:
        """The same as a TOML file."""
        import tomli_w

        return tomli_w.dumps(self.to_dict())

    @classmethod
    def from_toml(cls, text: str) -> Features:
        """The features that a TOML file describes."""
        import tomllib

        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidFeatures(f"this is not TOML: {error}") from None
        return cls.from_dict(values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Features) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        named = {name: field for name, field in self.fields.items() if name.isidentifier()}
        parts = [repr(self.formula), *(f"{name}={field!r}" for name, field in named.items())]
        others = {name: field for name, field in self.fields.items() if name not in named}
        return f"Features({', '.join(parts + ([f'**{others!r}'] if others else []))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restored, (self.to_dict(),))

    def _key(self) -> str:
        return json.dumps(self.to_dict())

    def _unit(self, column: str) -> str | None:
        """The unit of a column without centre and scale: of the numbers that are multiplied in it."""
        units = []
        for factor in column.split(":"):
            field = self.fields.get(factor)
            if isinstance(field, Number) and field.column_unit is not None:
                units.append(field.column_unit)
        return "·".join(units) or None


def _restored(values: dict[str, Any]) -> Features:
    return Features.from_dict(values)
