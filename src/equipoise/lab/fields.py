"""The fields of a scenario one by one: plain values, which compare, hash and are written as they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.core.estimates.estimators import check_estimator
from equipoise.core.estimates.robust import check_intervals
from equipoise.core.problem.features.features import Features
from equipoise.errors import InvalidArgument, InvalidScenario
from equipoise.lab.pieces import KINDS, Closure, OneHotContexts
from equipoise.lab.pieces.numbers import as_count, as_counts, as_number, as_numbers, as_rows

if TYPE_CHECKING:
    from equipoise.lab.scenario import Scenario

BY_ARM: dict[str, Callable[[str, Any], tuple[Any, ...]]] = {
    "weights": as_numbers,
    "costs": as_numbers,
    "floors": as_counts,
    "caps": as_counts,
}
"""Fields with one value an arm, and what makes plain values of them."""

_MAY_LACK = ("accrual", "delay", "drop_out", "outcomes", "stop", "truth")


def plain_fields(scenario: Scenario) -> dict[str, Any]:
    """The fields as plain values, or an error that says which one is wrong."""
    _check_pieces(scenario)
    found = {**_sizes(scenario), **_numbers(scenario)}
    arms, dim = len(found["noise"]), found["dim"]
    found["lost"] = _chances(scenario.lost, arms)
    for name, kind in BY_ARM.items():
        values = getattr(scenario, name)
        if values is not None:
            found[name] = kind(name, values)
            if len(found[name]) != arms:
                raise InvalidScenario(f"{len(found[name])} {name} for {arms} arms")
    if scenario.objective not in ("max", "mean"):
        found["objective"] = as_number("objective", scenario.objective)
    for name in ("coef", "moment"):
        value = getattr(scenario, name)
        if value is not None and not isinstance(value, str):
            found[name] = as_rows(name, value)
    found["arms"] = _names("arms", scenario.arms, arms) or usual_arms(arms)
    found["features"] = _names("features", getattr(scenario.features, "names", scenario.features), dim)
    if found["features"] == usual_features(dim):
        found["features"] = ()
    found["closures"] = _closures(scenario.closures, found["arms"])
    _check_truth(scenario, found.get("coef", scenario.coef), arms, dim)
    if scenario.drop_out is not None:
        scenario.drop_out.check(arms)
    return found


def usual_arms(count: int) -> tuple[str, ...]:
    """Names of arms that nobody named."""
    return tuple(f"arm-{i + 1}" for i in range(count))


def usual_features(dim: int) -> tuple[str, ...]:
    """Names of features that nobody named."""
    return tuple(f"x[{i}]" for i in range(dim))


def _check_pieces(scenario: Scenario) -> None:
    for name, kinds in KINDS.items():
        value = getattr(scenario, name)
        if not (name in _MAY_LACK and value is None) and not isinstance(value, tuple(kinds.values())):
            raise InvalidScenario(
                f"{name}={value!r} is not a piece for it",
                hint="see equipoise.lab.pieces, e.g. contexts=StudentContexts(dof=5)",
            )
    if not isinstance(scenario.intercept, bool | np.bool_):
        raise InvalidScenario(f"intercept={scenario.intercept!r} is neither True nor False")
    if scenario.intercept and isinstance(scenario.contexts, OneHotContexts):
        raise InvalidScenario(
            "the categories of one-hot contexts sum to 1, so an intercept says nothing new",
            hint="leave intercept out",
        )


def _sizes(scenario: Scenario) -> dict[str, Any]:
    noise = as_numbers("noise", scenario.noise)
    if not noise or not all(0.0 <= value < math.inf for value in noise):
        raise InvalidScenario(f"noise={list(noise)} is not a list of variances of at least 0")
    dim = as_count("dim", _counted_features(scenario), least=1)
    budget: float
    # Without costs the budget is a number of units.
    if scenario.costs is None or isinstance(scenario.budget, int | np.integer):
        budget = as_count("budget", scenario.budget, least=1)
    else:
        budget = as_number("budget", scenario.budget)
    # The constant of a formula is 1 for everybody; names alone do not say what they are.
    constant = isinstance(scenario.features, Features) and scenario.features.names[0] == "intercept"
    return {"noise": noise, "dim": dim, "budget": budget, "intercept": bool(scenario.intercept) or constant}


def _counted_features(scenario: Scenario) -> int:
    """The dimension, which named features may say instead."""
    if type(scenario.dim) is not int or scenario.dim != 0:
        return scenario.dim
    named = getattr(scenario.features, "names", scenario.features)
    if not isinstance(named, list | tuple) or not named:
        raise InvalidScenario(
            "dim=0 is not a whole number of at least 1",
            hint="give dim=…, the number of features with an intercept included, or features=[…]",
        )
    return len(named)


def _numbers(scenario: Scenario) -> dict[str, float]:
    try:
        check_estimator(scenario.estimator, scenario.ridge)
        check_intervals(scenario.intervals)
    except InvalidArgument as error:
        raise InvalidScenario(error.message, hint=error.hint) from None
    names = ["heteroscedasticity", "coef_drift", "curvature", "noise_drift"]
    if scenario.ridge is not None:
        names.append("ridge")
    found = {}
    for name in names:
        value = as_number(name, getattr(scenario, name))
        signed = name in ("curvature", "noise_drift")
        if not math.isfinite(value) or (value < 0.0 and not signed):
            raise InvalidScenario(
                f"{name}={value!r} is not a {'finite number' if signed else 'number of at least 0'}"
            )
        found[name] = value
    return found


def _chances(lost: Any, arms: int) -> float | tuple[float, ...]:
    """One chance, or one an arm."""
    several = isinstance(lost, list | tuple | np.ndarray)
    chances = as_numbers("lost", lost) if several else (as_number("lost", lost),)
    for chance in chances:
        if not math.isfinite(chance) or chance < 0.0:
            raise InvalidScenario(f"lost={chance!r} is not a number of at least 0")
        if not chance < 1.0:
            raise InvalidScenario(f"lost={chance!r} is not a probability below 1")
    if several and len(chances) != arms:
        raise InvalidScenario(f"{len(chances)} lost for {arms} arms")
    # Arms that lose alike need not be told apart.
    return chances if len(set(chances)) > 1 else chances[0]


def _names(field: str, given: Any, count: int) -> tuple[str, ...]:
    """Names, each once; none if none were given."""
    names = () if given is None else given
    if isinstance(names, str | bytes | Mapping) or not isinstance(names, Iterable):
        raise InvalidScenario(f"{field}={given!r} is not a list of names", hint="e.g. ['placebo', 'low']")
    names = tuple(names)
    if not names:
        return ()
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise InvalidScenario(f"{name!r} in {field} is not a name", hint="e.g. 'placebo'")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidScenario(f"{twice!r} is in {field} twice", hint="give each a name of its own")
    if len(names) != count:
        what = "noise has that many numbers" if field == "arms" else "dim counts the intercept, too"
        raise InvalidScenario(f"{len(names)} names for {count} {field}", hint=f"give one each; {what}")
    return tuple(str(name) for name in names)


def _closures(given: Any, arms: tuple[str, ...]) -> tuple[Closure, ...]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise InvalidScenario(
            f"closures={given!r} is not a list of closures", hint="e.g. [eq.Closure('high', after=120)]"
        )
    closures = tuple(given)
    for closure in closures:
        if not isinstance(closure, Closure):
            raise InvalidScenario(
                f"{closure!r} in closures is not a closure", hint="e.g. eq.Closure('high', after=120)"
            )
        if closure.arm not in arms:
            raise InvalidScenario(
                f"no arm {closure.arm!r} that could be closed", hint=f"arms: {', '.join(arms)}"
            )
    if {closure.arm for closure in closures if closure.after == 0.0} == set(arms):
        raise InvalidScenario(
            "all arms are closed when the first unit comes", hint="leave one open, or say after=…"
        )
    return closures


def _check_truth(scenario: Scenario, coef: Any, arms: int, dim: int) -> None:
    if coef is not None and np.shape(coef) != (arms, dim):
        raise InvalidScenario(f"coef has shape {np.shape(coef)}, expected {(arms, dim)}")
    if scenario.truth is not None:
        if coef is not None:
            raise InvalidScenario("coefficients are either given or drawn", hint="leave coef or truth out")
        scenario.truth.check(arms, dim)
    known = scenario.moment in ("true", "learned") if isinstance(scenario.moment, str) else True
    if scenario.moment is None or not known:
        raise InvalidScenario(f"moment={scenario.moment!r}", hint="use 'true', 'learned' or a matrix")
