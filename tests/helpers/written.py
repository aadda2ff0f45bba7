"""Finds arithmetic whose bits are left to a C library, a BLAS or the build of NumPy."""

from __future__ import annotations

import ast

# Of numpy and math: comparisons, copies and roots may stay, these may not.
FUNCTIONS = {
    *("log", "log1p", "log2", "log10", "exp", "expm1", "exp2", "pow", "power", "float_power", "cbrt"),
    *("hypot", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arctan", "arctan2", "atan", "atan2"),
    *("lgamma", "gamma", "erf", "erfc", "logaddexp", "i0", "sinc"),
    *("sum", "nansum", "mean", "nanmean", "median", "var", "std", "average", "prod", "fsum", "sumprod"),
    *("cumsum", "cumprod", "dot", "vdot", "inner", "matmul", "einsum", "tensordot", "trace", "convolve"),
    *("linalg", "fft", "random", "polyfit", "polyval", "interp", "corrcoef", "cov", "trapezoid"),
    *("geomspace", "logspace", "linspace", "dist", "norm"),
}
METHODS = {"sum", "mean", "dot", "prod", "var", "std", "cumsum", "cumprod", "trace", "reduce", "reduceat"}
BUILTINS = {"sum", "pow"}
LIBRARIES = {"np", "numpy", "math", "scipy"}


def offences(source):
    """(function, what) for everything whose bits are not written down, in the order of the lines."""
    tree = ast.parse(source)
    found = [
        (node.lineno, _function(tree, node), what) for node in ast.walk(tree) if (what := _offence(node))
    ]
    return [(where, what) for _, where, what in sorted(found)]


def _offence(node):
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in LIBRARIES:
        return node.attr if node.attr in FUNCTIONS else None
    # A field of a record may have the name of a method, so only calls count.
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        library = isinstance(node.func.value, ast.Name) and node.func.value.id in LIBRARIES
        return None if library else node.func.attr
    if isinstance(node, ast.Name) and node.id in BUILTINS:
        return node.id
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("math", "scipy", "numpy"):
        forbidden = node.module.split(".")[0] == "scipy" or {alias.name for alias in node.names} & FUNCTIONS
        return f"from {node.module}" if forbidden else None
    if isinstance(node, ast.BinOp | ast.AugAssign):
        if isinstance(node.op, ast.MatMult):
            return "@"
        # 2.0**-52 is a constant.
        if isinstance(node.op, ast.Pow) and not (
            isinstance(node, ast.BinOp) and _is_constant(node.left) and _is_constant(node.right)
        ):
            return "**"
    return None


def _is_constant(node):
    if isinstance(node, ast.UnaryOp):
        return _is_constant(node.operand)
    return isinstance(node, ast.Constant)


def _function(tree, node):
    """The function that a node is in, the innermost one."""
    names = [
        (outer.lineno, outer.name)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef) and outer.lineno <= node.lineno <= outer.end_lineno
    ]
    return max(names)[1] if names else ""
