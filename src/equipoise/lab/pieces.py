"""What a scenario is made of: contexts, noise, delays, each a small piece of plain data.

Every piece has a ``code`` that compiled trials branch on and a ``number`` that goes with it.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.linear import scaled_cholesky
from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Matrix
from equipoise.core.problem.problem import PIVOT_TOLERANCE
from equipoise.core.problem.real import NotReal, real_array, real_number
from equipoise.errors import InvalidScenario

GAUSSIAN_CONTEXTS, STUDENT_CONTEXTS, DISCRETE_CONTEXTS, ONE_HOT_CONTEXTS = range(4)
GAUSSIAN_NOISE, STUDENT_NOISE, SKEWED_NOISE = range(3)
NO_DELAY, FIXED_DELAY, GEOMETRIC_DELAY, UNIFORM_DELAY = range(4)

# Long past any budget; beyond it a geometric delay is no longer told apart from one that never ends.
_LONGEST_DELAY = 1e9

Rows = tuple[tuple[float, ...], ...]
Covariance = str | Rows


@dataclass(frozen=True, kw_only=True)
class GaussianContexts:
    """Normal features with mean zero.

    ``covariance`` is ``"identity"``, ``"ar1:RHO"`` (entries RHO^|i−j|) or rows of numbers.
    """

    covariance: Covariance = "identity"
    kind: ClassVar[str] = "gaussian"
    code: ClassVar[int] = GAUSSIAN_CONTEXTS
    symmetric: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.covariance, str):
            object.__setattr__(self, "covariance", as_rows("covariance", self.covariance))

    @property
    def number(self) -> float:
        """No further number."""
        return 0.0

    def covariance_matrix(self, dim: int) -> Matrix:
        """The covariance of ``dim`` features."""
        return covariance_matrix(self.covariance, dim)


@dataclass(frozen=True, kw_only=True)
class StudentContexts(GaussianContexts):
    """Heavy tails: a multivariate t with ``dof`` degrees of freedom, scaled to the covariance."""

    dof: float = 5.0
    kind: ClassVar[str] = "student"
    code: ClassVar[int] = STUDENT_CONTEXTS

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "dof", as_number("dof", self.dof))
        if not 2.0 < self.dof < math.inf:
            raise InvalidScenario(f"contexts with dof={self.dof!r} have no variance", hint="give dof above 2")

    @property
    def number(self) -> float:
        """Degrees of freedom."""
        return float(self.dof)


@dataclass(frozen=True, kw_only=True)
class DiscreteContexts(GaussianContexts):
    """Ratings: independent features on ``levels`` equally spaced values, then mixed by the covariance."""

    levels: int = 5
    kind: ClassVar[str] = "discrete"
    code: ClassVar[int] = DISCRETE_CONTEXTS

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "levels", as_count("levels", self.levels, least=2))

    @property
    def number(self) -> float:
        """How many values a feature can take."""
        return float(self.levels)


@dataclass(frozen=True, kw_only=True)
class OneHotContexts:
    """Categories: exactly one feature is 1. Equally likely unless ``probabilities`` are given."""

    probabilities: tuple[float, ...] | None = None
    kind: ClassVar[str] = "one-hot"
    code: ClassVar[int] = ONE_HOT_CONTEXTS
    symmetric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.probabilities is not None:
            values = as_numbers("probabilities", self.probabilities)
            if not all(value > 0 for value in values) or abs(exact_sum(values) - 1.0) > 1e-9:
                raise InvalidScenario("probabilities of categories must be positive and sum to 1")
            object.__setattr__(self, "probabilities", values)

    @property
    def number(self) -> float:
        """No further number."""
        return 0.0

    def shares(self, dim: int) -> npt.NDArray[np.float64]:
        """Probability of every category."""
        if self.probabilities is None:
            return np.full(dim, 1.0 / dim)
        if len(self.probabilities) != dim:
            raise InvalidScenario(f"{len(self.probabilities)} probabilities for {dim} categories")
        return np.array(self.probabilities)

    def covariance_matrix(self, dim: int) -> Matrix:
        """E[xxᵀ], a diagonal of probabilities."""
        return np.diag(self.shares(dim))


@dataclass(frozen=True, kw_only=True)
class GaussianNoise:
    """Normal noise."""

    kind: ClassVar[str] = "gaussian"
    code: ClassVar[int] = GAUSSIAN_NOISE

    @property
    def number(self) -> float:
        """No further number."""
        return 0.0


@dataclass(frozen=True, kw_only=True)
class StudentNoise:
    """Heavy-tailed noise: Student t with ``dof`` degrees of freedom, scaled to the arm's variance."""

    dof: float = 4.0
    kind: ClassVar[str] = "student"
    code: ClassVar[int] = STUDENT_NOISE

    def __post_init__(self) -> None:
        object.__setattr__(self, "dof", as_number("dof", self.dof))
        if not 2.0 < self.dof < math.inf:
            raise InvalidScenario(f"noise with dof={self.dof!r} has no variance", hint="give dof above 2")

    @property
    def number(self) -> float:
        """Degrees of freedom."""
        return float(self.dof)


@dataclass(frozen=True, kw_only=True)
class SkewedNoise:
    """Skewed noise: a gamma variable with that ``shape``, centred and scaled; skewness 2/√shape."""

    shape: float = 1.0
    kind: ClassVar[str] = "skewed"
    code: ClassVar[int] = SKEWED_NOISE

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", as_number("shape", self.shape))
        if not 0.0 < self.shape < math.inf:
            raise InvalidScenario(f"shape={self.shape!r} is not a positive number")

    @property
    def number(self) -> float:
        """Shape of the gamma variable."""
        return float(self.shape)


@dataclass(frozen=True, kw_only=True)
class Delay:
    """Outcomes arrive late, counted in units asked for in between.

    ``shape`` is ``"fixed"``, ``"geometric"`` or ``"uniform"`` (0, 1, … up to twice the mean).
    """

    mean: float = 10.0
    shape: str = "geometric"
    kind: ClassVar[str] = "delay"

    _CODES: ClassVar[dict[str, int]] = {
        "fixed": FIXED_DELAY,
        "geometric": GEOMETRIC_DELAY,
        "uniform": UNIFORM_DELAY,
    }

    def __post_init__(self) -> None:
        if not isinstance(self.shape, str) or self.shape not in self._CODES:
            raise InvalidScenario(f"no delay of shape {self.shape!r}", hint=f"use {', '.join(self._CODES)}")
        object.__setattr__(self, "mean", as_number("mean", self.mean))
        if not 0.0 < self.mean < _LONGEST_DELAY:
            raise InvalidScenario(
                f"a delay with mean={self.mean!r} is not between 0 and {_LONGEST_DELAY:g} units",
                hint="leave delay out for outcomes that arrive at once",
            )
        # Other means would need unequal chances, and be met on average only.
        whole = {"fixed": self.mean, "uniform": 2.0 * self.mean}.get(self.shape, 0.0)
        if whole != round(whole):
            raise InvalidScenario(
                f"no {self.shape} delay in whole units has the mean {self.mean!r}",
                hint="round it, or use shape='geometric'",
            )

    @property
    def code(self) -> int:
        """What compiled trials branch on."""
        return self._CODES[self.shape]

    @property
    def number(self) -> float:
        """Mean delay."""
        return float(self.mean)


@dataclass(frozen=True, kw_only=True)
class SparseTruth:
    """Coefficients that are drawn for every trial, and 0 for all but some ``features``.

    Which features, is drawn, too. Each of them matters in a share ``overlap`` of the arms, at least in
    one; there its coefficient is ``scale`` with a random sign (``values="unit"``), or normal with that
    standard deviation (``"normal"``).
    """

    features: int
    overlap: float = 1.0
    values: str = "unit"
    scale: float = 1.0
    kind: ClassVar[str] = "sparse"

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", as_count("features", self.features, least=0))
        for name in ("overlap", "scale"):
            object.__setattr__(self, name, as_number(name, getattr(self, name)))
        if not 0.0 <= self.overlap <= 1.0:
            raise InvalidScenario(
                f"overlap={self.overlap!r} is not between 0 and 1",
                hint="1: every feature matters in all arms",
            )
        if not 0.0 < self.scale < math.inf:
            raise InvalidScenario(f"scale={self.scale!r} is not a positive number", hint="e.g. 0.5")
        if self.values not in ("unit", "normal"):
            raise InvalidScenario(f"values={self.values!r}", hint="use 'unit' or 'normal'")

    def arms_of_feature(self, arms: int) -> int:
        """In how many arms a feature matters."""
        return max(1, round(self.overlap * arms))


Contexts = GaussianContexts | StudentContexts | DiscreteContexts | OneHotContexts
Noise = GaussianNoise | StudentNoise | SkewedNoise


# What can be gone through, but is no list of numbers.
_NO_LIST = (str, bytes, Mapping)


def as_number(name: str, value: Any) -> float:
    """A plain float, which compares, hashes and is written as it is."""
    try:
        if not isinstance(value, bool):
            return real_number(value) + 0.0  # never −0.0, which is equal to 0.0 but written otherwise
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidScenario(f"{name}={value!r} is not a number")


def as_numbers(name: str, values: Any) -> tuple[float, ...]:
    """Plain floats in a tuple."""
    try:
        if not isinstance(values, _NO_LIST):
            return tuple(as_number(name, value) for value in values)
    except (TypeError, InvalidScenario):
        pass
    raise InvalidScenario(f"{name}={values!r} is not a list of numbers")


def as_count(name: str, value: Any, *, least: int) -> int:
    """A plain whole number."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidScenario(f"{name}={value!r} is not a whole number of at least {least}")
    return int(value)


def as_counts(name: str, values: Any) -> tuple[int | None, ...]:
    """Plain whole numbers in a tuple; None where there is no limit."""
    if isinstance(values, _NO_LIST) or not isinstance(values, Iterable):
        raise InvalidScenario(f"{name}={values!r} is not a list of whole numbers")
    return tuple(None if value is None else as_count(name, value, least=0) for value in values)


def as_rows(name: str, matrix: npt.ArrayLike) -> Rows:
    """A matrix as tuples, which compare and hash."""
    try:
        values = real_array(matrix)
    except NotReal as error:
        raise InvalidScenario(f"{name} holds {error}", hint=error.hint) from None
    except (TypeError, ValueError, OverflowError):
        raise InvalidScenario(f"{name}={matrix!r} is not a matrix of numbers") from None
    if values.ndim != 2:
        raise InvalidScenario(f"{name} has shape {values.shape}: expected rows of numbers")
    if not np.all(np.isfinite(values)):
        raise InvalidScenario(f"{name} has entries that are not finite numbers")
    return tuple(tuple(row) for row in (values + 0.0).tolist())


def covariance_matrix(covariance: Covariance, dim: int) -> Matrix:
    """The matrix that ``"identity"``, ``"ar1:RHO"`` or rows of numbers stand for."""
    if isinstance(covariance, str):
        name, _, number = covariance.partition(":")
        if covariance == "identity":
            return np.eye(dim)
        try:
            rho = float(number) if name == "ar1" else math.nan
        except ValueError:
            rho = math.nan
        if not -1.0 < rho < 1.0:
            raise InvalidScenario(
                f"covariance {covariance!r} is unknown",
                hint="use identity, ar1:RHO with RHO between -1 and 1, or a matrix",
            )
        places = np.arange(dim)
        powers = np.array(list(accumulate([1.0, *[rho] * (dim - 1)], operator.mul)))
        return powers[np.abs(places[:, None] - places[None, :])]
    matrix = np.array(covariance)
    if matrix.shape != (dim, dim):
        raise InvalidScenario(f"the covariance has shape {matrix.shape}, expected {(dim, dim)}")
    if np.max(np.abs(matrix - matrix.T)) > 1e-10 * np.max(np.abs(matrix)):
        raise InvalidScenario("the covariance is not symmetric")
    if scaled_cholesky(matrix, dim * PIVOT_TOLERANCE) is None:
        raise InvalidScenario(
            "the covariance is not positive definite", hint="its eigenvalues must be positive"
        )
    return matrix
