"""Factors that are computed, such as ``I(age**2)`` and ``log(marker)``.

They are read as trees of a few safe kinds of nodes, never run as Python, and evaluated in written arithmetic:
the same record gives the same bits everywhere. Names stand for the encoded values of number fields.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arithmetic.power import power
from equipoise.core.plain import suggest
from equipoise.errors import InvalidFeatures

Compute = Callable[[list[float]], float]

_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "I": float,
    "log": lambda x: log(x),
    "log2": lambda x: log(x) / log(2.0),
    "log10": lambda x: log(x) / log(10.0),
    "exp": lambda x: exp(x),
    "sqrt": lambda x: math.sqrt(x) if x >= 0.0 else math.nan,
    "abs": abs,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
# Beyond it, computing an expression would take more nested calls than Python has.
_DEEPEST = 100
_STATEFUL = ("center", "scale", "standardize", "poly", "bs", "cs", "cc", "lag", "hashed")


def compute_of(text: str, places: Mapping[str, int]) -> tuple[Compute, list[str]]:
    """A function of slots, and the fields that it reads; ``places`` are the slots of number fields."""
    tree = _tree(text)
    return _compiled(tree, text, places), sorted(
        {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in places}
    )


def categorical_name(text: str) -> str | None:
    """The field in ``C(field)``; None for anything else."""
    if text.startswith("C(") and text.endswith(")") and text[2:-1].strip().isidentifier():
        return text[2:-1].strip()
    return None


def beyond_polynomials(text: str) -> bool:
    """Whether it is more than a polynomial or a distance: these shift and stretch with their fields."""
    return any(map(_goes_beyond, ast.walk(_tree(text))))


def _goes_beyond(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return getattr(node.func, "id", "") not in ("I", "abs")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        return not (isinstance(node.right, ast.Constant) and node.right.value in (2, 3))
    return isinstance(node, ast.Compare | ast.Div)


def _tree(text: str) -> ast.expr:
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InvalidFeatures(f"{text[:60]!r} in the formula cannot be read") from None
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise InvalidFeatures(
            f"{text[:60]!r} in the formula is too long to be computed", hint="write it in shorter terms"
        )
    return tree


def _compiled(node: ast.expr, text: str, places: Mapping[str, int]) -> Compute:
    def part(child: ast.expr) -> Compute:
        return _compiled(child, text, places)

    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        try:
            number = float(node.value)  # type: ignore[arg-type]
        except OverflowError:
            raise InvalidFeatures("a number in the formula is too large") from None
        return lambda slots: number
    if isinstance(node, ast.Name):
        if node.id not in places:
            raise InvalidFeatures(
                f"{text!r} in the formula has {node.id!r}, which is no number field",
                hint=suggest(node.id, list(places)),
            )
        return operator.itemgetter(places[node.id])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        inner, sign = part(node.operand), -1.0 if isinstance(node.op, ast.USub) else 1.0
        return lambda slots: sign * inner(slots)
    if isinstance(node, ast.BinOp):
        return _binary(node, text, part)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        left, right, compare = part(node.left), part(node.comparators[0]), _COMPARISONS[type(node.ops[0])]
        return lambda slots: 1.0 if compare(left(slots), right(slots)) else 0.0
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        function, argument = _function(node, text), part(node.args[0])
        return lambda slots: function(argument(slots))
    if isinstance(node, ast.Call):
        _function(node, text)
    raise InvalidFeatures(
        f"{text!r} in the formula is not understood",
        hint=f"use + - * / ** < >, numbers, fields and {', '.join(sorted(_FUNCTIONS))}",
    )


def _binary(node: ast.BinOp, text: str, part: Callable[[ast.expr], Compute]) -> Compute:
    left = part(node.left)
    if isinstance(node.op, ast.Pow):
        exponent = node.right.value if isinstance(node.right, ast.Constant) else None
        if exponent in (2, 3):
            times = int(exponent)  # type: ignore[arg-type]
            return lambda slots: _times(left(slots), times)
        right = part(node.right)
        return lambda slots: power(left(slots), right(slots))
    operators: dict[type[ast.operator], Callable[[float, float], float]] = {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: operator.mul,
        ast.Div: _ratio,
    }
    if type(node.op) not in operators:
        raise InvalidFeatures(f"{text!r} in the formula is not understood", hint="use + - * / **")
    apply, right = operators[type(node.op)], part(node.right)
    return lambda slots: apply(left(slots), right(slots))


def _function(node: ast.Call, text: str) -> Callable[[float], float]:
    name: Any = node.func
    if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name) and name.value.id == "np":
        name = ast.Name(name.attr)
    called = name.id if isinstance(name, ast.Name) else ""
    if called in _STATEFUL:
        raise InvalidFeatures(
            f"{text!r} in the formula learns from the data it sees",
            hint="a unit must look the same whoever came before: use center= and scale= of the field",
        )
    if called not in _FUNCTIONS:
        raise InvalidFeatures(
            f"{text!r} in the formula calls {called or 'something'!r}", hint=suggest(called, _FUNCTIONS)
        )
    return _FUNCTIONS[called]


def _times(x: float, times: int) -> float:
    return x * x if times == 2 else x * x * x


def _ratio(x: float, y: float) -> float:
    return x / y if y != 0.0 else math.nan
