"""A scenario: the world that simulated trials happen in, as plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix
from equipoise.core.estimates.defaults import CLASSICAL, DEFAULT
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.objective import Objective
from equipoise.core.problem.problem import Problem
from equipoise.errors import EquipoiseError, InvalidScenario
from equipoise.lab.consistency import check_together
from equipoise.lab.fields import BY_ARM, plain_fields, usual_arms
from equipoise.lab.pieces import (
    Accruals,
    Closure,
    Contexts,
    Delays,
    GaussianContexts,
    GaussianNoise,
    Leaving,
    Noise,
    Outcomes,
    Stops,
    Truth,
)
from equipoise.lab.pieces.contexts.correlated import CorrelatedContexts, Covariance
from equipoise.lab.pieces.numbers import Rows

if TYPE_CHECKING:
    from equipoise.lab.arena import Bench


@dataclass(frozen=True, kw_only=True, eq=False)
class Scenario:
    """Arms, units and every way in which they may differ from the textbook.

    Parameters
    ----------
    noise
        Noise variance σ² of every arm (its mean over contexts; under drift, half-way).
    dim, budget
        Features d, an intercept included, and units n; with ``costs`` the budget is money. Where features
        have names, dim is their number and may be left out.
    arms, features
        Names; ``arm-1``, … and ``x[0]``, … unless given. Of :class:`~equipoise.Features` the columns' names,
        and whether there is an intercept; how columns are drawn is still a matter of ``contexts``.
    contexts, noise_shape
        Pieces of :mod:`equipoise.lab.pieces`.
    intercept
        Whether the first feature is the constant 1.
    coef
        True coefficients, one row an arm; None draws them anew for every trial from N(0, I).
    truth
        A piece to draw them from instead, such as :class:`~equipoise.SparseTruth`.
    heteroscedasticity
        h ≥ 0: the noise variance grows with the first varying feature, as 1 + h·x².
    curvature, curved
        Size of a quadratic term in the truth that all arms share: c·(x²/E[x²] − 1) of the first varying
        feature, or with ``curved="all"`` of all of them, summed and divided by their number's root. Errors
        and coverage are against the population's best linear fit: ``coef``, and for skewed contexts what
        the squares add to its slopes.
    coef_drift
        Length by which every arm's coefficients move during the trial; errors are against the end.
    noise_drift
        g: the noise variance changes as exp(g·(t/n − ½)). Both drifts need arms that cost the same.
    moment
        What the policy is told about Σ: ``"true"``, ``"learned"`` (nothing) or rows of numbers.
    outcomes
        :class:`~equipoise.YesNoOutcomes` or :class:`~equipoise.CountOutcomes`; None are real numbers. Arms
        then have the rates that go with their noise, ``coef`` counts as a direction, and the truth is the
        best linear fit. They need Gaussian contexts, an intercept and noise of nobody else's making.
    accrual
        :class:`~equipoise.Accrual`: units arrive in calendar time. Without one, time is counted in units.
    delay
        When outcomes arrive, after how much time; None: at once.
    lost
        Chance that an outcome never arrives, for all or one an arm. It is awaited as long as others.
    drop_out
        :class:`~equipoise.DropOut`: units leave while their outcome is awaited, and that is known at once.
    closures
        :class:`~equipoise.Closure` of arms that take no units for a while, or from some moment on. A trial
        ends when all of them are closed.
    stop
        :class:`~equipoise.StopRule`: no further units once the estimates pass a target.
    estimator, ridge
        How trials are judged: the final estimates, as ``Experiment.estimates`` takes them. The paper's are
        ``estimator="ridge"``.
    intervals
        Whose coverage is judged: ``"classical"`` or ``"robust"``, as ``Experiment.estimates`` takes it.
    weights, costs, floors, caps
        One number an arm, as for :class:`~equipoise.Problem`; None in ``caps`` is no cap.

    Examples
    --------
    >>> scenario = GaussianScenario(noise=[0.5, 2.0], dim=3, budget=60, covariance="ar1:0.5")
    >>> Scenario.from_dict(scenario.to_dict()) == scenario
    True
    """

    noise: tuple[float, ...]
    dim: int = 0  # of named features, their number
    budget: float
    arms: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    contexts: Contexts = field(default_factory=GaussianContexts)
    intercept: bool = False
    noise_shape: Noise = field(default_factory=GaussianNoise)
    coef: Rows | None = None
    truth: Truth | None = None
    heteroscedasticity: float = 0.0
    curvature: float = 0.0
    curved: str = "first"
    coef_drift: float = 0.0
    noise_drift: float = 0.0
    moment: str | Rows = "true"
    outcomes: Outcomes | None = None
    accrual: Accruals | None = None
    delay: Delays | None = None
    lost: float | tuple[float, ...] = 0.0
    drop_out: Leaving | None = None
    closures: tuple[Closure, ...] = ()
    stop: Stops | None = None
    estimator: str = DEFAULT
    ridge: float | None = None
    intervals: str = CLASSICAL
    objective: Objective = "max"
    weights: tuple[float, ...] | None = None
    costs: tuple[float, ...] | None = None
    floors: tuple[int, ...] | None = None
    caps: tuple[int | None, ...] | None = None

    def __post_init__(self) -> None:
        for name, value in plain_fields(self).items():
            object.__setattr__(self, name, value)
        check_together(self)
        try:
            if self._told.moment is None or self.moment != "true":
                self._problem("true")
        except EquipoiseError as error:
            raise InvalidScenario(error.message, hint=error.hint) from None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the d features."""
        return self.problem().feature_names

    def problem(self) -> Problem:
        """The problem as the policy sees it."""
        return self._told

    @cached_property
    def _told(self) -> Problem:
        # Checking a large Σ takes longer than many a trial.
        return self._problem(self.moment)

    def _problem(self, told: str | Rows) -> Problem:
        moment: Matrix | None
        if told == "learned":
            moment = None
        else:
            moment = self.true_moment() if isinstance(told, str) else np.array(told)
        by_arm: dict[str, Any] = {
            name: dict(zip(self.arms, getattr(self, name), strict=True))
            for name in BY_ARM
            if getattr(self, name) is not None
        }
        if self.caps is not None:
            by_arm["caps"] = {arm: cap for arm, cap in by_arm["caps"].items() if cap is not None}
        # simulate() refuses policies that cannot run on a small budget.
        return Problem(
            self.arms,
            self.dim,
            budget=self.budget,
            features=self.features or None,
            moment=moment,
            objective=self.objective,
            **by_arm,
            allow_small_budget=True,
        )

    @property
    def units(self) -> int:
        """n: the largest number of units that the budget buys."""
        return self.problem().units

    def true_moment(self) -> Matrix:
        """Σ = E[xxᵀ] of the contexts."""
        varying = self.dim - self.intercept
        moment = np.eye(self.dim)
        covariance = self.contexts.covariance_matrix(varying)
        moment[self.intercept :, self.intercept :] = covariance
        return moment

    def open(self, policies: Sequence[Policy], seed: int) -> Bench:
        """A bench for trials of ``policies``."""
        from equipoise.lab.trial.bench import ScenarioBench

        return ScenarioBench(self, policies, seed)

    def replace(self, **changes: Any) -> Self:
        """The same scenario with some fields changed; arms that nobody named get names anew."""
        if self.arms == usual_arms(len(self.noise)):
            changes.setdefault("arms", ())
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON, TOML and logs; fields at their defaults are left out."""
        from equipoise.lab.plain import scenario_to_dict

        return scenario_to_dict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The scenario that plain values describe."""
        from equipoise.lab.plain import scenario_from_dict

        return scenario_from_dict(cls, values)

    def to_toml(self) -> str:
        """The scenario as a TOML document."""
        from equipoise.lab.plain import dump_toml

        return dump_toml(self.to_dict())

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """The scenario that a TOML document describes."""
        from equipoise.lab.plain import load_toml

        return cls.from_dict(load_toml(text))

    # However a scenario was built, the same values are the same world.

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, Scenario) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, field.name) for field in dataclasses.fields(self))


_STANDARD = GaussianContexts()


class GaussianScenario(Scenario):
    """Linear arms, Gaussian contexts and noise: the paper's setting, with any piece replaced.

    It is a :class:`Scenario` with a shorter way to be built, and equal to one with the same fields.

    Parameters
    ----------
    noise, dim, budget
        As for :class:`Scenario`.
    covariance
        That of the contexts: ``"identity"``, ``"ar1:RHO"`` or rows of numbers; None leaves it as it is.
    pieces
        Other fields of :class:`Scenario`.
    """

    def __init__(
        self,
        noise: Sequence[float],
        dim: int,
        budget: float,
        *,
        covariance: Covariance | npt.ArrayLike | None = None,
        contexts: Contexts = _STANDARD,
        **pieces: Any,
    ) -> None:
        if covariance is not None:
            if not isinstance(contexts, CorrelatedContexts):
                raise InvalidScenario(
                    f"contexts={contexts!r} take no covariance", hint="leave covariance or contexts out"
                )
            contexts = dataclasses.replace(contexts, covariance=covariance)  # type: ignore[arg-type]
        super().__init__(
            noise=noise,  # type: ignore[arg-type]
            dim=dim,
            budget=budget,
            contexts=contexts,
            **pieces,
        )
