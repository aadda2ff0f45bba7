"""A formula as products of factors: read by formulaic, which also decides what columns are not redundant.

Importing formulaic takes longer than everything else that an ``ask`` in a new process does. So what it said
of a formula is kept on disk beside the machine code, under the same stamp of all sources and its own version.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from equipoise.core.jit import storage
from equipoise.core.plain import suggest
from equipoise.core.problem.features.expression import categorical_name
from equipoise.errors import InvalidFeatures

# Products of more features than this mean nothing to anybody.
_HIGHEST = 6


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
    key = _key(formula, categories, numbers)
    kept = storage.read(key)
    if kept is not None:
        return [[Factor(*factor) for factor in product] for product in json.loads(kept)]
    found = _products(formula, categories, numbers)
    plain = [[(factor.text, factor.computed, factor.reduced) for factor in product] for product in found]
    storage.write(key, json.dumps(plain).encode())
    return found


def _key(formula: str, categories: Mapping[str, int], numbers: Collection[str]) -> str:
    """All that the products depend on, besides the sources of this package."""
    facts = [version("formulaic"), formula, dict(categories), list(numbers)]
    return f"formula {json.dumps(facts)}"


def _products(formula: str, categories: Mapping[str, int], numbers: Collection[str]) -> list[list[Factor]]:
    """The same, by formulaic."""
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

    for power in re.findall(r"\)\s*(?:\*\*|\^)\s*(\d+)", formula):
        if int(power) > _HIGHEST:  # the time to multiply it out has no bound
            raise InvalidFeatures(
                f"the formula {formula!r} has a sum to the power of {power}",
                hint=f"products of at most {_HIGHEST} factors, or write them out",
            )
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
