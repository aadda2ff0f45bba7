"""What reaches decisions asks no C library and no BLAS: the names of their functions do not appear."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from written import offences

import equipoise as eq
from equipoise.core.arithmetic.quantiles import chi_square_quantiles
from equipoise.errors import InvalidMoment

PACKAGE = Path(eq.__file__).parent
LAB = (
    *("scenario.py", "arena.py", "trial/*.py", "pieces/**/*.py"),
    *(f"forecast/{name}.py" for name in ("future", "losses", "seat", "belief", "start")),
    "forecast/truths/*.py",
    *(f"replay/{name}.py" for name in ("trials", "rows", "split", "fit", "scale", "arena", "scenario")),
)
# Files whose numbers people read and nothing goes on from.
PRINTED = {
    "core/problem/features/proposal.py": "fields that are proposed once, to one digit, and plain data then",
    "core/problem/features/undoing.py": "coefficients of a finished fit in other units",
    "core/estimates/ellipsoid.py": "confidence sets",
    **{
        f"core/diagnosis/{name}.py": "tests and weighted fits of a finished experiment"
        for name in (
            *("balance", "drift", "evidence", "guessing", "lack_of_fit", "randomisation", "terms"),
            *("time_trend", "weighted"),
        )
    },
    "core/estimates/arm_estimate.py": "intervals and predictions of a finished fit",
    "core/estimates/robust.py": "intervals of a finished fit",
    **{
        f"core/estimates/inference/{name}.py": "tables of a finished fit"
        for name in ("combinations", "families", "simultaneous")
    },
    "core/tables/digits.py": "digits",
    "lab/trial/robust.py": "what intervals of a finished trial cover",
    **{
        f"core/theory/{name}.py": "bounds of the theory"
        for name in ("concentration", "conditions", "recovery", "regret", "ridge", "sparse", "support")
    },
}
FILES = [
    *sorted((PACKAGE / "core").rglob("*.py")),
    *(path for pattern in LAB for path in sorted((PACKAGE / "lab").glob(pattern))),
]
WHOLE, QUANTILES = "sums of whole numbers", "quantiles and p values of intervals and tests"
# File, function and what is used there: the reason why it may be.
ALLOWED = {
    ("core/arithmetic/sums.py", "exact_sum", "fsum"): "exact, then rounded once",
    ("core/estimates/intervals.py", "t_quantile", "from scipy.special"): QUANTILES,
    ("core/estimates/intervals.py", "f_quantile", "from scipy.special"): QUANTILES,
    ("core/estimates/omitted.py", "most_omitted", "from scipy.special"): QUANTILES,
    ("core/estimates/intervals.py", "variance_interval", "from scipy.special"): QUANTILES,
    ("core/estimates/intervals.py", "variance_upper_bound", "from scipy.special"): QUANTILES,
    ("core/arithmetic/lanes.py", "aligned_zeros", "prod"): WHOLE,
    ("core/experiment/roster.py", "exhausted", "sum"): WHOLE,
    ("core/experiment/roster.py", "remaining_units", "sum"): WHOLE,
    ("core/sparse/criteria.py", "_by_stability", "random"): "words of PCG64, which NumPy promises for good",
    ("core/sparse/standardised.py", "standardise", "cumsum"): WHOLE,
    ("lab/replay/split.py", "groups_of", "cumsum"): WHOLE,
    ("core/policies/designs/strata.py", "check_strata", "prod"): WHOLE,
    ("core/stages/stage.py", "_grown", "sum"): WHOLE,
    ("core/estimates/support.py", "examine_support", "from scipy.special"): QUANTILES,
    ("core/estimates/support.py", "examine_support", "log"): QUANTILES,
    **{
        ("lab/pieces/delay.py", "discount", used): "what a plan counts on, which no decision sees"
        for used in ("exp", "expm1")
    },
    **{
        ("lab/trial/promises.py", "_given", used): "a yardstick for finished trials, which no estimate sees"
        for used in ("**", "@", "einsum", "sum", "linalg")
    },
}


def offences_in(path):
    name = path.relative_to(PACKAGE).as_posix()
    return [] if name in PRINTED else [(name, *offence) for offence in offences(path.read_text())]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_library_decides(path):
    assert [offence for offence in offences_in(path) if offence not in ALLOWED] == []


def test_nothing_is_allowed_that_is_not_used():
    assert set(ALLOWED) <= {offence for path in FILES for offence in offences_in(path)}
    assert all(offences((PACKAGE / name).read_text()) for name in PRINTED)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("np.log(2.0)", "log"),
        ("math.exp(1.0)", "exp"),
        ("x ** p", "**"),
        ("x ** 2", "**"),
        ("2.0 ** x", "**"),
        ("a @ b", "@"),
        ("np.linalg.inv(a)", "linalg"),
        ("np.sum(a)", "sum"),
        ("a.sum(axis=0)", "sum"),
        ("rows[0].mean()", "mean"),
        ("np.add.reduce(a)", "reduce"),
        ("sum(a)", "sum"),
        ("np.random.default_rng(0)", "random"),
    ],
)
def test_offences_are_found(line, what):
    assert offences(f"def f(a, b, p, x):\n    return {line}") == [("f", what)]


def test_what_is_no_offence():
    assert offences("x = 2.0**-52\ny = np.sqrt(x) + arm.trace + math.floor(x)\nz = np.abs(x).max()") == []
    assert offences("from math import log") == [("", "from math")]
    assert offences("a @= b\nx **= 2") == [("", "@"), ("", "**")]


@pytest.mark.parametrize("delta", [0.05, 0.3, 1e-8])
def test_chi_square_widths(delta):
    problem = eq.Problem(2, 3, budget=40)
    settings = eq.TraceUCB(width="chi-square", delta=delta).settings(problem)
    assert settings[2] == 40.0
    assert settings[3:].tolist() == (np.arange(1, 41) / chi_square_quantiles(40, delta)).tolist()


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_whitener_of_any_moment(dim, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(dim + 2, dim)) * np.exp(rng.normal(size=dim) * 20.0)
    moment = root.T @ root
    lower = eq.Problem(1, dim, budget=dim + 1, moment=moment).whitener()
    scale = np.sqrt(np.diag(moment))
    np.testing.assert_allclose(
        lower @ lower.T / scale / scale[:, None], moment / scale / scale[:, None], atol=1e-13
    )


def test_moments_that_are_nearly_singular():
    def moment(gap):
        return [[1.0, 1.0 - gap], [1.0 - gap, 1.0]]

    assert eq.Problem(1, 2, budget=3, moment=moment(1e-12)).whitener() is not None
    with pytest.raises(InvalidMoment, match="never varies"):
        eq.Problem(1, 2, budget=3, moment=moment(1e-16))
    with pytest.raises(InvalidMoment, match="never varies"):
        eq.Problem(1, 3, budget=4, moment=np.ones((3, 3)) + np.diag([0.0, 0.0, 1.0]))
