"""What a forecast found: courses that the experiment may take, with bands of their errors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.problem.objective import Objective, norm_order
from equipoise.core.tables.tidy import TidyTable
from equipoise.errors import InvalidArgument, UnknownArm
from equipoise.files import write_whole
from equipoise.lab.forecast import tables
from equipoise.lab.forecast.bands import Band, band_of
from equipoise.lab.forecast.losses import GIVEN, SEEN
from equipoise.lab.forecast.target import TargetBudget
from equipoise.lab.results.estimate import Estimate, finite, mean_estimate
from equipoise.version import __version__


@dataclass(frozen=True, eq=False)
class Origin:
    """The experiment at the moment of the forecast."""

    arms: tuple[str, ...]
    budget: float
    objective: Objective
    weights: tuple[float, ...]
    policy: str
    """Who allocates now, or the first that was named where that policy is not at hand."""
    seed: int
    asked: int
    awaited: int
    """Outcomes that were still to come."""
    has_mean: tuple[bool, ...]
    """Of every arm: whether so many outcomes are known that its error has a mean over trials."""
    has_error: tuple[bool, ...]
    """Whether that has a standard error."""
    contexts: str
    """``"seen"`` or ``"given"``: what those to come were drawn from."""
    truth: str
    """``"pooled"``, ``"unshrunk"`` or ``"sparse"``: what truths were drawn from."""
    losses: str
    """``"seen"`` or ``"given"``: where the rates of losses to come are from."""
    loss_rates: tuple[float, ...]
    """Of every arm, the share of outcomes to come that is lost, in mean over trials."""
    lost: int
    """Outcomes lost or withdrawn so far."""
    ended: int
    """Outcomes told, lost or withdrawn so far."""
    lag: int | None
    """Further units that are assigned before an outcome comes; None: as long as seen so far."""
    median_wait: float
    """The median of that."""
    late: bool
    """Whether some of them are awaited at all."""

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "arms": list(self.arms),
            "budget": self.budget,
            "objective": self.objective,
            "policy": self.policy,
            "seed": self.seed,
            "asked": self.asked,
            "awaited": self.awaited,
            "contexts": self.contexts,
            "truth": self.truth,
            "losses": {
                "from": self.losses,
                "rates": dict(zip(self.arms, self.loss_rates, strict=True)),
                "lost_so_far": self.lost,
                "ended_so_far": self.ended,
            },
            "waits": {
                "from": SEEN if self.lag is None else GIVEN,
                "lag": self.lag,
                "median": finite(self.median_wait),
            },
        }


@dataclass(frozen=True, eq=False)
class Course:
    """The rest of the experiment under one policy with one budget."""

    policy: str
    budget: float
    units: tuple[int, ...]
    """Units assigned when errors were looked at; the first look is now, awaited outcomes still to come."""
    errors: npt.NDArray[np.float64]
    """[trials, looks, arms] squared errors ‖β̂ − β‖²_Σ, not weighted."""
    counts: Counts
    """[trials, arms] units from now on."""
    weights: Vector
    objective: Objective

    @property
    def trials(self) -> int:
        """How many were run."""
        return len(self.errors)

    @cached_property
    def values(self) -> Matrix:
        """[trials, looks] the objective's value of every trial."""
        weighted = self.errors * self.weights
        order = norm_order(self.objective)
        largest: Matrix = weighted.max(axis=2)
        if np.isinf(order):
            return largest
        scale = np.where(largest > 0.0, largest, 1.0)
        means = ((weighted / scale[:, :, None]) ** order).mean(axis=2)
        return np.asarray(scale * means ** (1.0 / order))

    def units_to_come(self) -> list[Estimate]:
        """Mean units of every arm from now on."""
        return [mean_estimate(column) for column in self.counts.T.astype(float)]


@dataclass(frozen=True, eq=False)
class Forecast:
    """Courses that an experiment may take from where it stands.

    ``print`` shows the main numbers. :meth:`bands`, :meth:`ends`, :meth:`differences` and
    :meth:`target_budgets` are tidy tables; :meth:`record` and :meth:`to_json` are plain data.
    """

    origin: Origin
    courses: tuple[Course, ...]
    """The policy and the budget of the experiment first, if that policy is at hand."""
    target: float | None
    targets: tuple[TargetBudget, ...]
    """Budgets that reach the target."""
    seed: int
    estimator: str
    ridge: float | None
    version: str = __version__
    numerics: int = NUMERICS

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms."""
        return self.origin.arms

    @property
    def trials(self) -> int:
        """Trials of every course."""
        return self.courses[0].trials

    @property
    def policies(self) -> tuple[str, ...]:
        """The experiment's own first."""
        return tuple({course.policy: None for course in self.courses})

    @property
    def metadata(self) -> dict[str, Any]:
        """What the numbers depend on."""
        return {
            "version": self.version,
            "numerics": self.numerics,
            "seed": self.seed,
            "trials": self.trials,
            "estimator": self.estimator,
            "ridge": self.ridge,
            "experiment": self.origin.record(),
            "units": "squared units of the outcome",
        }

    def course(self, policy: str | None = None, budget: float | None = None) -> Course:
        """The course of a policy with a budget, those of the experiment unless given."""
        name = self.origin.policy if policy is None else policy
        total = self.origin.budget if budget is None else budget
        for course in self.courses:
            if course.policy == name and course.budget == total:
                return course
        listed = "; ".join(f"{course.policy}, {course.budget:.10g}" for course in self.courses)
        raise InvalidArgument(f"no forecast of {name} with {total:.10g}", hint=f"forecast: {listed}")

    def band(self, course: Course, look: int = -1, arm: str | None = None) -> Band:
        """Of an arm's error at a look, or of the objective's value unless an arm is given."""
        if arm is None:
            known, sure = all(self.origin.has_mean), all(self.origin.has_error)
            return band_of(course.values[:, look], known, sure)
        i = self._place(arm)
        return band_of(course.errors[:, look, i], self.origin.has_mean[i], self.origin.has_error[i])

    def _place(self, arm: str) -> int:
        if arm not in self.arms:
            raise UnknownArm(f"no arm {arm!r}", hint=f"the arms are {', '.join(self.arms)}")
        return self.arms.index(arm)

    def difference(self, course: Course) -> Estimate:
        """The objective's value at the end less that of the experiment's own course, paired by trial."""
        known, sure = all(self.origin.has_mean), all(self.origin.has_error)
        found = mean_estimate(course.values[:, -1] - self.courses[0].values[:, -1])
        value = found.value if known else np.nan
        return Estimate(value, found.stderr if sure else np.nan, found.trials)

    def better(self, course: Course) -> float:
        """Share of trials in which a course ends below the experiment's own."""
        return float(np.mean(course.values[:, -1] < self.courses[0].values[:, -1]))

    def bands(self) -> TidyTable:
        """Errors along the way: policy, budget, units, arm (None: the objective), mean, bands."""
        return tables.band_table(self)

    def ends(self) -> TidyTable:
        """The same at the end of every course, with the units that every arm gets from now on."""
        return tables.end_table(self)

    def differences(self) -> TidyTable:
        """Every other course less the experiment's own, at the end and paired by trial."""
        return tables.difference_table(self)

    def target_budgets(self) -> TidyTable:
        """Budgets that reach the target: policy, criterion, budget, and where it lies by simulation error."""
        return tables.target_table(self)

    def records(self) -> list[dict[str, Any]]:
        """The rows of :meth:`ends`, as dictionaries."""
        return self.ends().records()

    def record(self) -> dict[str, Any]:
        """Plain values: the object that ``--json`` prints."""
        return tables.record_of(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """:meth:`record` as a JSON document, also written to ``path`` if given."""
        text = json.dumps(self.record(), ensure_ascii=False, indent=2)
        if path is not None:
            write_whole(path, text + "\n", hint="choose another file")
        return text

    def save(self, path: str | Path) -> None:
        """Every trial's numbers and the metadata, as a NumPy archive."""
        from equipoise.lab.forecast.saved import save_forecast

        save_forecast(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Forecast:
        """What :meth:`save` wrote."""
        from equipoise.lab.forecast.saved import load_forecast

        return load_forecast(path)

    def __str__(self) -> str:
        return tables.text_of(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return tables.html_of(self)


def courses_of(forecast: Forecast, policy: str) -> Sequence[Course]:
    """Those of one policy, by budget."""
    return sorted((each for each in forecast.courses if each.policy == policy), key=lambda each: each.budget)
