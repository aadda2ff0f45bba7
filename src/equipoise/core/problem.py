"""The problem: which arms, which contexts, how many units, and what counts as accurate."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.layout import Matrix, Vector
from equipoise.core.objective import Objective, norm_order
from equipoise.errors import (
    BudgetTooSmall,
    DuplicateArm,
    InvalidArgument,
    InvalidMoment,
    InvalidProblem,
    UnknownArm,
)

# Entries of Σ may differ from their mirror image by rounding, no more.
_SYMMETRY_TOLERANCE = 1e-10
# Smallest pivot of the correlation-scaled Σ that is told apart from rounding, per dimension.
_PIVOT_TOLERANCE = 4 * np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class Problem:
    """Several linear models to be estimated from one budget of units.

    Parameters
    ----------
    arms
        Names of the arms, or their number (then they are called ``arm-1``, ``arm-2``, …).
    dim
        Length d of a context. Include a constant 1 in the context for an intercept.
    budget
        Number of units n, at least m(d+1).
    moment
        Σ = E[xxᵀ] of the population the models must serve, symmetric positive definite. Nothing
        assumes mean zero. ``None``: learned from every context seen.
    objective
        ``"max"``, ``"mean"``, or a number p ≥ 1 for the p-norm of the arms' errors.
    weights
        Importance w of some arms, ``{name: w}``; errors are multiplied by it. Others weigh 1.
    allow_small_budget
        Accept a budget below m(d+1), where only static allocations make sense.

    Examples
    --------
    >>> problem = Problem(arms=["placebo", "drug"], dim=2, budget=50, moment=[[1, 0], [0, 4]])
    >>> problem
    Problem(arms=['placebo', 'drug'], dim=2, budget=50, moment=given, objective='max')
    """

    arms: tuple[str, ...]
    dim: int
    budget: int
    moment: Matrix | None
    objective: Objective
    weights: Vector

    def __init__(
        self,
        arms: Sequence[str] | int,
        dim: int,
        budget: int,
        moment: npt.ArrayLike | None = None,
        objective: Objective = "max",
        weights: Mapping[str, float] | None = None,
        *,
        allow_small_budget: bool = False,
    ) -> None:
        names = _arm_names(arms)
        dim = _positive_integer("dim", dim)
        budget = _positive_integer("budget", budget)
        norm_order(objective)
        least = len(names) * (dim + 1)
        if budget < least and not allow_small_budget:
            raise BudgetTooSmall(
                f"a budget of {budget} cannot estimate {len(names)} arms in {dim} dimensions: "
                f"every arm needs at least d + 1 = {dim + 1} units",
                hint=f"give budget={least} or more, or fewer arms or features",
            )
        values = {
            "arms": names,
            "dim": dim,
            "budget": budget,
            "moment": None if moment is None else _valid_moment(moment, dim),
            "objective": objective,
            "weights": _weight_vector(names, weights),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def index(self, arm: str) -> int:
        """Position of the arm called ``arm``."""
        try:
            return self.arms.index(arm)
        except ValueError:
            raise UnknownArm(f"no arm {arm!r}", hint=f"the arms are {', '.join(self.arms)}") from None

    def whitener(self) -> Matrix | None:
        """L with Σ = LLᵀ, or None where contexts can be used as they are."""
        if self.moment is None or np.array_equal(self.moment, np.eye(self.dim)):
            return None
        return np.asarray(np.linalg.cholesky(self.moment), dtype=np.float64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        moment = None if self.moment is None else self.moment.tobytes()
        return (self.arms, self.dim, self.budget, moment, self.objective, self.weights.tobytes())

    def __repr__(self) -> str:
        parts = [f"arms={list(self.arms)!r}", f"dim={self.dim}", f"budget={self.budget}"]
        parts.append(f"moment={'learned' if self.moment is None else 'given'}")
        parts.append(f"objective={self.objective!r}")
        if np.any(self.weights != 1.0):
            listed = {a: float(w) for a, w in zip(self.arms, self.weights, strict=True) if w != 1.0}
            parts.append(f"weights={listed!r}")
        return f"Problem({', '.join(parts)})"


def _arm_names(arms: Sequence[str] | int) -> tuple[str, ...]:
    if isinstance(arms, str):
        raise InvalidProblem(f"arms={arms!r} is one string", hint=f"for one arm write [{arms!r}]")
    if not isinstance(arms, Sequence) and not isinstance(arms, np.ndarray):
        return tuple(f"arm-{i + 1}" for i in range(_positive_integer("arms", arms)))
    names = tuple(arms)
    if not names:
        raise InvalidProblem("no arms", hint="name at least one, e.g. arms=['placebo', 'drug']")
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidProblem(
                f"arm name {name!r} is not a non-empty string",
                hint="give names, or just the number of arms, e.g. arms=3",
            )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DuplicateArm(
            f"arm name used twice: {', '.join(map(repr, twice))}", hint="every arm needs its own name"
        )
    return tuple(str(name) for name in names)


def _positive_integer(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise InvalidProblem(f"{name}={value!r} is not a positive whole number")
    return number


def _weight_vector(names: tuple[str, ...], weights: Mapping[str, float] | None) -> Vector:
    if weights is not None and not isinstance(weights, Mapping):
        raise InvalidArgument(f"weights={weights!r} does not name arms", hint=f"e.g. {{{names[0]!r}: 2.0}}")
    vector = np.ones(len(names))
    for name, weight in (weights or {}).items():
        if name not in names:
            raise UnknownArm(f"weight for unknown arm {name!r}", hint=f"the arms are {', '.join(names)}")
        if not (np.isreal(weight) and 0.0 < float(weight) < np.inf):
            raise InvalidArgument(f"weight {weight!r} of arm {name!r} is not a positive number")
        vector[names.index(name)] = float(weight)
    vector.setflags(write=False)
    return vector


def _valid_moment(moment: npt.ArrayLike, dim: int) -> Matrix:
    try:
        matrix = np.array(moment, dtype=float)
    except (TypeError, ValueError):
        raise InvalidMoment("moment is not a matrix of numbers") from None
    if matrix.shape != (dim, dim):
        raise InvalidMoment(
            f"moment has shape {matrix.shape}, expected {(dim, dim)}",
            hint="moment is E[x xᵀ], one row and column per feature",
        )
    if not np.all(np.isfinite(matrix)):
        raise InvalidMoment("moment has entries that are not finite numbers")
    scale = np.sqrt(np.abs(np.diag(matrix)))
    if not np.all(np.diag(matrix) > 0):
        raise InvalidMoment(
            "moment is not positive definite: a diagonal entry is not positive",
            hint="a feature that is always zero must be left out",
        )
    with np.errstate(over="ignore"):
        correlation = matrix / scale / scale[:, None]
    if not np.all(np.abs(correlation) <= 1.0 + _SYMMETRY_TOLERANCE):
        raise InvalidMoment("moment is not positive definite: an entry exceeds its diagonal's geometric mean")
    if np.max(np.abs(correlation - correlation.T)) > _SYMMETRY_TOLERANCE:
        raise InvalidMoment("moment is not symmetric", hint="pass (moment + moment.T) / 2 if that is meant")
    if np.min(np.linalg.eigvalsh(correlation)) < dim * _PIVOT_TOLERANCE:
        raise InvalidMoment(
            "moment is not positive definite: some combination of features never varies",
            hint="drop redundant features, or pass moment=None to learn it",
        )
    symmetric: Matrix = np.ascontiguousarray(matrix / 2 + matrix.T / 2)
    symmetric.setflags(write=False)
    return symmetric
