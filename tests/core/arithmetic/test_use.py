"""What reaches decisions asks no C library and no BLAS: the names of their functions do not appear."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.core.arithmetic.quantiles import chi_square_quantiles
from equipoise.errors import InvalidMoment

CORE = Path(eq.__file__).parent / "core"
FILES = [
    *(CORE / "arithmetic").glob("*.py"),
    *(CORE / "policies").glob("*.py"),
    *(CORE / "shrinkage").glob("*.py"),
    *(CORE / f"{name}.py" for name in ("limits", "pool", "problem", "screening", "terms", "widths")),
    CORE / "theory" / "static.py",
]
FUNCTIONS = {
    *("log", "log1p", "log2", "log10", "exp", "expm1", "exp2", "pow", "power", "float_power", "cbrt"),
    *("hypot", "sin", "cos", "tan", "tanh", "arctan", "lgamma", "gamma", "var", "std", "average"),
    *("vdot", "inner", "matmul", "einsum", "tensordot", "linalg", "trace"),
}
METHODS = {"sum", "mean", "dot"}


def offences(source):
    """Sums and functions of numpy and math whose bits are not written down, products of matrices, powers."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            library = isinstance(node.value, ast.Name) and node.value.id in ("np", "math")
            if node.attr in METHODS or (library and node.attr in FUNCTIONS):
                yield node.lineno, node.attr
        elif isinstance(node, ast.BinOp):
            # 2.0**-52 is a constant.
            constant = isinstance(node.left, ast.Constant)
            if isinstance(node.op, ast.MatMult) or (isinstance(node.op, ast.Pow) and not constant):
                yield node.lineno, type(node.op).__name__


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_library_decides(path):
    assert list(offences(path.read_text())) == []


def test_offences_are_found():
    assert (
        len(list(offences("x = np.log(2.0)\ny = x ** p\nz = a @ b\nw = math.exp(1) + np.linalg.inv(a)"))) == 5
    )


@pytest.mark.parametrize("delta", [0.05, 0.3, 1e-8])
def test_chi_square_widths(delta):
    problem = eq.Problem(2, 3, 40)
    settings = eq.TraceUCB(width="chi-square", delta=delta).settings(problem)
    assert settings[2] == 40.0
    assert settings[3:].tolist() == (np.arange(1, 41) / chi_square_quantiles(40, delta)).tolist()


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_whitener_of_any_moment(dim, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(dim + 2, dim)) * np.exp(rng.normal(size=dim) * 20.0)
    moment = root.T @ root
    lower = eq.Problem(1, dim, dim + 1, moment).whitener()
    scale = np.sqrt(np.diag(moment))
    np.testing.assert_allclose(
        lower @ lower.T / scale / scale[:, None], moment / scale / scale[:, None], atol=1e-13
    )


def test_moments_that_are_nearly_singular():
    def moment(gap):
        return [[1.0, 1.0 - gap], [1.0 - gap, 1.0]]

    assert eq.Problem(1, 2, 3, moment(1e-12)).whitener() is not None
    with pytest.raises(InvalidMoment, match="never varies"):
        eq.Problem(1, 2, 3, moment(1e-16))
    with pytest.raises(InvalidMoment, match="never varies"):
        eq.Problem(1, 3, 4, np.ones((3, 3)) + np.diag([0.0, 0.0, 1.0]))
