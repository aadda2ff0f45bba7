"""Fields of a scenario that cannot be said together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from equipoise.errors import InvalidScenario
from equipoise.lab.pieces import GaussianContexts, GaussianNoise, OneHotContexts, Outcomes
from equipoise.lab.pieces.piece import Delays, Leaving

# Of a million units not one is left.
_FEWEST_LEFT = 1e-6

if TYPE_CHECKING:
    from equipoise.lab.scenario import Scenario


def check_together(scenario: Scenario) -> None:
    """Refuse fields that are right one by one and make no world together."""
    _check_ages(scenario)
    _check_calendar(scenario)
    _check_curvature(scenario)
    if scenario.outcomes is not None:
        _check_outcomes(scenario, scenario.outcomes)


def _check_ages(scenario: Scenario) -> None:
    ages = scenario.coef_drift or scenario.noise_drift or not scenario.contexts.steady
    if len(set(scenario.costs or ())) > 1 and ages:
        # n, and with it the age t/n of a unit, would depend on what the policy buys.
        raise InvalidScenario(
            "coef_drift, noise_drift and contexts that change during the trial need arms that cost the same: "
            "otherwise it is not known beforehand when the trial ends",
            hint="leave the change out, or give all arms one cost",
        )


def _check_calendar(scenario: Scenario) -> None:
    if scenario.accrual is None:
        if scenario.delay is not None:
            scenario.delay.check_units()
        if any(closure.by == "time" for closure in scenario.closures):
            raise InvalidScenario(
                "closures by time need to know when units arrive", hint="give accrual=eq.Accrual(rate=4)"
            )
    if scenario.drop_out is not None and scenario.delay is None:
        raise InvalidScenario(
            "nobody can leave before an outcome that arrives at once",
            hint="give delay=eq.Delay(mean=12), or say lost=0.1 for outcomes that never arrive",
        )
    if scenario.drop_out is not None and scenario.delay is not None:
        _check_drop_out(scenario.drop_out, scenario.delay, in_time=scenario.accrual is not None)


def _check_drop_out(drop_out: Leaving, delay: Delays, *, in_time: bool) -> None:
    rates = np.atleast_1d(np.asarray(drop_out.rate, float)).tolist()
    for rate in rates:
        if delay.discount(rate, in_time=in_time) < _FEWEST_LEFT:
            raise InvalidScenario(
                f"drop_out with rate={rate!r} leaves nobody to the end: all outcomes would be lost",
                hint="give a smaller rate, or a shorter delay",
            )


def _check_curvature(scenario: Scenario) -> None:
    if not isinstance(scenario.curved, str) or scenario.curved not in ("first", "all"):
        raise InvalidScenario(f"curved={scenario.curved!r} is unknown", hint="use 'first' or 'all'")
    if scenario.curvature and isinstance(scenario.contexts, OneHotContexts):
        raise InvalidScenario(
            "curvature says nothing on one-hot contexts, where every truth is linear",
            hint="leave curvature out",
        )
    for name in ("curvature", "heteroscedasticity"):
        if getattr(scenario, name) and scenario.dim == scenario.intercept:
            raise InvalidScenario(f"{name} needs a feature that varies", hint="give a larger dim")


def _check_outcomes(scenario: Scenario, outcomes: Outcomes) -> None:
    others = ("truth", "heteroscedasticity", "curvature", "coef_drift", "noise_drift")
    wrong = [name for name in others if getattr(scenario, name)]
    if not isinstance(scenario.noise_shape, GaussianNoise):
        wrong.append("noise_shape")
    if wrong:
        raise InvalidScenario(
            f"outcomes of kind {outcomes.kind!r} leave no room for {' and '.join(wrong)}",
            hint=f"leave outcomes or {' and '.join(wrong)} out",
        )
    if not scenario.intercept or not isinstance(scenario.contexts, GaussianContexts):
        raise InvalidScenario(
            f"outcomes of kind {outcomes.kind!r} need an intercept and Gaussian contexts, for which the best "
            "linear fit is known",
            hint="say intercept=True, and leave contexts out or give GaussianContexts",
        )
    if scenario.coef is not None:
        lacking = scenario.dim > 1 and not all(any(row[1:]) for row in scenario.coef)
        if lacking or any(row[0] for row in scenario.coef):
            raise InvalidScenario(
                f"coef is the direction of {outcomes.kind} outcomes: it is 0 for the intercept, because "
                "levels go with the noise, and not 0 everywhere else"
            )
    outcomes.curves(scenario.noise)
