"""A formula as products of factors: read by formulaic, which also decides what columns are not redundant."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.core.plain import suggest
from equipoise.core.problem.features.expression import categorical_name
from equipoise.errors import InvalidFeatures


@dataclass(frozen=True)
class Factor:
    """A field, or something computed of fields, within a product."""

    text: str
    """The field's name, or the expression."""
    computed: bool
    reduced: bool
    """Whether the reference level of a category is left out."""


def products(formula: str, categories: Mapping[str, int], numbers: Collection[str]) -> list[list[Factor]]:
    """The products whose columns make up the context, the constant being an empty one.

    ``categories`` are the numbers of levels of category fields, ``numbers`` the names of number fields.
    """
    terms = [[_factor(part, categories, numbers) for part in term.factors] for term in _terms(formula)]
    texts: dict[str, Factor] = {}
    for term in terms:
        for factor in term:
            texts.setdefault(factor.text, factor)
    # Stand-ins, so that nothing that somebody typed is ever run.
    aliases = {text: f"f{i}" for i, text in enumerate(texts)}
    found = []
    for scoped in _structure(terms, aliases, categories):
        found.append(
            [
                Factor(text, texts[text].computed, reduced)
                for alias, reduced in scoped
                for text in texts
                if aliases[text] == alias
            ]
        )
    if not found:
        raise InvalidFeatures(f"the formula {formula!r} has no terms", hint="name a field, or write '1'")
    return found


def _terms(formula: str) -> list[Any]:
    from formulaic import Formula, SimpleFormula
    from formulaic.errors import FormulaicError

    try:
        parsed = Formula(formula)
    except FormulaicError as error:
        said = re.sub("\x1b\\[[0-9;]*m|[⧛⧚]", "", str(error)).strip().split("\n")[0]
        raise InvalidFeatures(f"the formula {formula!r} cannot be read: {said}") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidFeatures(f"the formula {formula[:100]!r} cannot be read") from None
    if not isinstance(parsed, SimpleFormula):
        raise InvalidFeatures(
            f"the formula {formula!r} has more than one side",
            hint="write only what outcomes are explained by, e.g. '1 + age + sex'",
        )
    return [term for term in parsed if [str(part.expr) for part in term.factors] != ["0"]]


def _factor(part: Any, categories: Mapping[str, int], numbers: Collection[str]) -> Factor:
    text, method = str(part.expr), part.eval_method.value
    if method == "literal":
        if text != "1":
            raise InvalidFeatures(
                f"{text!r} in the formula is a number", hint="scale a field with eq.Number(scale=…)"
            )
        return Factor("1", False, False)
    named = text if method == "lookup" else categorical_name(text)
    if named is None:
        return Factor(text, True, False)
    if named not in categories and (named not in numbers or named != text):
        known = list(categories) if named in numbers else [*categories, *numbers]
        raise InvalidFeatures(
            f"the formula has {text!r}, which is no field{' of categories' * (named != text)}",
            hint=suggest(named, known),
        )
    return Factor(named, False, False)


def _structure(
    terms: list[list[Factor]], aliases: Mapping[str, str], categories: Mapping[str, int]
) -> list[list[tuple[str, bool]]]:
    """What formulaic makes of stand-ins: factors of every product, and whether they are reduced."""
    import numpy as np
    import pandas as pd
    from formulaic import Formula

    rows = max([2, *categories.values()])
    columns: dict[str, Any] = {}
    for text, alias in aliases.items():
        if text in categories:
            levels = range(categories[text])
            columns[alias] = pd.Categorical(np.arange(rows) % categories[text], categories=levels)
        else:
            columns[alias] = np.arange(rows) + 0.5
    written = [
        ":".join(aliases[factor.text] if factor.text != "1" else "1" for factor in term) for term in terms
    ]
    constant = "1" if "1" in written else "0"
    text = " + ".join([constant, *(term for term in written if term != "1")])
    matrix: Any = Formula(text).get_model_matrix(pd.DataFrame(columns, index=range(rows)))
    return [
        [(str(factor.factor.expr), bool(factor.reduced)) for factor in scoped.factors]
        for part in matrix.model_spec.structure
        for scoped in part.scoped_terms
    ]
