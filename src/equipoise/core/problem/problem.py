"""The problem: which arms, which contexts, how many units, and what counts as accurate."""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.linear import scaled_cholesky
from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.plain import check_table, from_plain, frozen, to_plain
from equipoise.core.problem.costs import (
    check_limits,
    check_money,
    covers,
    most_units,
    positive_number,
    positive_numbers,
    whole_number,
    whole_numbers,
)
from equipoise.core.problem.features.contexts import (
    Contexts,
    contexts_of,
    features_from_plain,
    outcome_field,
    outcome_from_plain,
)
from equipoise.core.problem.features.number import Number
from equipoise.core.problem.features.vectors import Vectors
from equipoise.core.problem.moment import redundant, valid_moment
from equipoise.core.problem.names import arm_names, positive_integer
from equipoise.core.problem.objective import Objective, norm_order
from equipoise.errors import BudgetTooSmall, InvalidProblem, UnknownArm

ByArm = Mapping[str, float] | Vector | None
"""One number for some arms by name; or, as a problem holds them, for all arms in their order."""

# What arms that are not named have.
_USUAL = {"weights": 1.0, "costs": 1.0, "floors": 0.0, "caps": np.inf}


@dataclass(frozen=True, eq=False)
class Problem:
    """Several linear models to be estimated from one budget of units.

    ``dataclasses.replace`` changes parts of it, ``to_dict`` and ``from_dict`` make plain data of it and back.

    Parameters
    ----------
    arms
        Names of the arms, or their number (then they are called ``arm-1``, ``arm-2``, …).
    dim
        Length d of a context. Include a constant 1 in the context for an intercept. Not needed where
        ``features`` tell it.
    budget
        Number of units n, at least m(d+1). With ``costs`` it is money, any positive number.
    features
        What contexts look like: :class:`~equipoise.Features`, fields and a formula, so that units are asked
        for as records; a list of names for the entries of plain vectors; or
        :class:`~equipoise.Transformed`. None: vectors without names.
    outcome
        Range and unit of outcomes, a :class:`~equipoise.Number`; None: any number.
    moment
        Σ = E[xxᵀ] of the population the models must serve, symmetric positive definite. Nothing
        assumes mean zero. ``None``: learned from every context seen.
    objective
        ``"max"``, ``"mean"``, or a number p ≥ 1 for the p-norm of the arms' errors.
    weights
        Importance w of some arms, ``{name: w}``; errors are multiplied by it. Others weigh 1.
    costs
        What a unit of some arms takes from the budget, ``{name: c}``. Others cost 1.
    floors, caps
        Units that some arms must, and may at most, get, ``{name: k}``.
    allow_small_budget
        Accept a budget below m(d+1), where only static allocations and policies that choose features,
        such as :class:`~equipoise.SparseTraceUCB`, make sense.

    Examples
    --------
    >>> problem = Problem(arms=["placebo", "drug"], dim=2, budget=50, moment=[[1, 0], [0, 4]])
    >>> problem
    Problem(arms=['placebo', 'drug'], dim=2, budget=50, moment=given, objective='max')
    """

    arms: tuple[str, ...]
    dim: int
    features: Contexts
    outcome: Number | None
    budget: float
    moment: Matrix | None
    objective: Objective
    weights: Vector
    costs: Vector
    floors: Vector
    caps: Vector
    """Infinite where there is none."""
    allow_small_budget: bool
    units: int = field(init=False)
    """n: the largest number of units that the budget buys; without costs the budget itself."""

    def __init__(
        self,
        arms: Sequence[str] | int,
        dim: int | None = None,
        *,
        budget: float,
        features: Contexts | Sequence[str] | None = None,
        outcome: Number | None = None,
        moment: npt.ArrayLike | None = None,
        objective: Objective = "max",
        weights: ByArm = None,
        costs: ByArm = None,
        floors: ByArm = None,
        caps: ByArm = None,
        allow_small_budget: bool = False,
    ) -> None:
        names = arm_names(arms)
        contexts = contexts_of(features, dim)
        dim = contexts.dim
        budget = _countable(positive_integer("budget", budget) if costs is None else _money(budget))
        if not isinstance(allow_small_budget, bool | np.bool_):
            raise InvalidProblem(f"allow_small_budget={allow_small_budget!r} is neither True nor False")
        norm_order(objective)
        prices = positive_numbers("cost", names, costs)
        least = whole_numbers("floor", names, floors, unless_given=0.0)
        most = whole_numbers("cap", names, caps, unless_given=np.inf)
        check_limits(names, least, most, least=1 if allow_small_budget else dim + 1)
        check_money(budget, prices, least, most)
        values = {
            "arms": names,
            "dim": dim,
            "features": contexts,
            "outcome": outcome_field(outcome),
            "budget": budget,
            "moment": None if moment is None else valid_moment(moment, dim),
            "objective": frozen(objective),
            "weights": positive_numbers("weight", names, weights),
            "costs": prices,
            "floors": least,
            "caps": most,
            "allow_small_budget": bool(allow_small_budget),
            "units": most_units(budget, prices, most),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if not self.pays_for_start and not allow_small_budget:
            needed = "" if not least.any() else ", and some have higher floors"
            few = "; if few features matter, allow_small_budget=True and sparse-trace-ucb"
            raise BudgetTooSmall(
                f"a budget of {budget:.10g} cannot estimate {len(names)} arms in {dim} dimensions: "
                f"every arm needs at least d + 1 = {dim + 1} units{needed}",
                hint=f"give budget={self.least_budget:.10g} or more, or fewer arms or features"
                + (few if not least.any() else ""),
            )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """What the d entries of a context are called; ``x[0]``, ``x[1]``, … where nobody named them."""
        return self.features.names

    @property
    def least_budget(self) -> float:
        """What d + 1 units of every arm cost, or its floor where that is higher."""
        return exact_sum(self.costs * np.maximum(self.floors, self.dim + 1))

    @property
    def pays_for_start(self) -> bool:
        """Whether every arm can be estimated: the budget is not below ``least_budget``."""
        return covers(self.budget, self.least_budget)

    def with_arm(
        self,
        arm: str,
        *,
        weight: float = 1.0,
        cost: float = 1.0,
        floor: int = 0,
        cap: int | None = None,
        start: int | None = None,
    ) -> Problem:
        """The same problem with one more arm, listed last; the budget stays as it is.

        ``start`` is what estimating the arm takes, d + 1 units unless given.
        """
        names = arm_names([*self.arms, arm])
        added = {
            "weights": positive_number("weight", arm, weight),
            "costs": positive_number("cost", arm, cost),
            "floors": whole_number("floor", arm, floor),
            "caps": np.inf if cap is None else whole_number("cap", arm, cap),
        }
        limits = {name: np.array([added[name]]) for name in ("floors", "caps")}
        check_limits((arm,), **limits, least=self.dim + 1 if start is None else start)
        larger = copy(self)
        object.__setattr__(larger, "arms", names)
        for name, value in added.items():
            vector = np.append(getattr(self, name), value)
            vector.setflags(write=False)
            object.__setattr__(larger, name, vector)
        object.__setattr__(larger, "units", most_units(self.budget, larger.costs, larger.caps))
        if not larger.pays_for_start or added["caps"] <= self.dim:
            object.__setattr__(larger, "allow_small_budget", True)  # or it could not be built again
        return larger

    def with_budget(self, budget: float) -> Problem:
        """The same problem with another budget: a number of units, or money where arms have costs."""
        whole = isinstance(self.budget, int) and bool(np.all(self.costs == 1.0))
        other = copy(self)
        budget = _countable(positive_integer("budget", budget) if whole else _money(budget))
        check_money(budget, self.costs, self.floors, self.caps)
        object.__setattr__(other, "budget", budget)
        object.__setattr__(other, "units", most_units(budget, self.costs, self.caps))
        if not other.pays_for_start:
            object.__setattr__(other, "allow_small_budget", True)  # or it could not be built again
        return other

    def on_columns(self, columns: npt.NDArray[np.int64]) -> Problem:
        """The same problem with some features only, even none."""
        part = copy(self)
        object.__setattr__(part, "dim", len(columns))
        object.__setattr__(part, "features", Vectors(self.dim, self.feature_names).only(columns.tolist()))
        if self.moment is not None:
            moment = np.ascontiguousarray(self.moment[np.ix_(columns, columns)])
            moment.setflags(write=False)
            object.__setattr__(part, "moment", moment)
        return part

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
        lower = scaled_cholesky(self.moment)
        if lower is None:  # validated, so only of some columns where rounding is all that is left
            raise redundant()
        return lower

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON, TOML and logs; what is at its default is left out.

        >>> Problem(arms=2, dim=1, budget=3, caps={"arm-2": 2}, allow_small_budget=True).to_dict()
        {'arms': ['arm-1', 'arm-2'], 'dim': 1, 'budget': 3, 'caps': {'arm-2': 2}, 'allow_small_budget': True}
        """
        described = self.features.to_dict()
        shape = {"dim": self.dim} if described is None else {"features": described}
        values: dict[str, Any] = {"arms": list(self.arms), **shape, "budget": self.budget}
        if self.outcome is not None:
            values["outcome"] = self.outcome.to_dict()
        if self.moment is not None:
            values["moment"] = self.moment.tolist()
        if self.objective != "max":
            values["objective"] = to_plain(self.objective)
        values |= self._listed()
        if isinstance(self.budget, float):
            values.setdefault("costs", {})  # says that the budget is money
        if self.allow_small_budget:
            values["allow_small_budget"] = True
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Problem:
        """The problem that plain values describe, as :meth:`to_dict` writes them."""
        needed, known = ("arms", "budget"), [part.name for part in fields(cls) if part.init]
        given = check_table(values, what="a problem", known=known, needed=needed, error=InvalidProblem)
        if "objective" in given:
            given["objective"] = from_plain(given["objective"])
        for name, read in (("features", features_from_plain), ("outcome", outcome_from_plain)):
            if name in given:
                given[name] = read(given[name])
        return cls(**given)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        moment = None if self.moment is None else self.moment.tobytes()
        numbers = (self.weights, self.costs, self.floors, self.caps)
        vectors = tuple(vector.tobytes() for vector in numbers)
        shape = (self.arms, self.features, self.outcome)
        return (*shape, self.budget, moment, self.objective, *vectors)

    def __repr__(self) -> str:
        parts = [f"arms={list(self.arms)!r}", f"dim={self.dim}"]
        if self.features.to_dict() is not None:
            parts.append(f"features={list(self.feature_names)!r}")
        if self.outcome is not None:
            parts.append(f"outcome={self.outcome!r}")
        parts.append(f"budget={self.budget}")
        parts.append(f"moment={'learned' if self.moment is None else 'given'}")
        parts.append(f"objective={self.objective!r}")
        parts.extend(f"{name}={listed!r}" for name, listed in self._listed().items())
        if self.allow_small_budget:
            parts.append("allow_small_budget=True")
        return f"Problem({', '.join(parts)})"

    def _listed(self) -> dict[str, dict[str, float]]:
        """Weights, costs, floors and caps that are not the usual ones, by arm."""
        found = {}
        for name, usual in _USUAL.items():
            kind = int if name in ("floors", "caps") else float
            values = zip(self.arms, getattr(self, name), strict=True)
            found[name] = {arm: kind(value) for arm, value in values if value != usual}
        return {name: listed for name, listed in found.items() if listed}


def _money(budget: Any) -> float:
    """The budget as it was given, if it is a positive number."""
    if isinstance(budget, bool | str) or not isinstance(budget, int | float | np.number):
        raise InvalidProblem(f"budget={budget!r} is not a positive number")
    number = operator.index(budget) if isinstance(budget, int | np.integer) else float(budget)
    if not 0.0 < number < np.inf:
        raise InvalidProblem(f"budget={budget!r} is not a positive number")
    return number


def _countable(budget: float) -> float:
    """The budget, unless it is a whole number beyond all floating-point numbers."""
    if budget > sys.float_info.max:
        raise InvalidProblem("the budget is more than can be counted", hint="give a number below 1e308")
    return budget
