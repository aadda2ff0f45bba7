"""The suite: the scenarios that every policy is judged on, fixed, named and plain data.

A new entry is one line in one of the groups; a new group is one more tuple in ``SUITE``.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.errors import InvalidArgument
from equipoise.lab.pieces import (
    BinaryContexts,
    CountOutcomes,
    Delay,
    DiscreteContexts,
    DriftingContexts,
    OneHotContexts,
    SiteContexts,
    SkewedContexts,
    StudentContexts,
    StudentNoise,
    YesNoOutcomes,
)
from equipoise.lab.scenario import GaussianScenario, Scenario
from equipoise.studies.noise import EQUAL, UNEQUAL

PAPER, ROBUSTNESS = "paper", "robustness"
INTERCEPT_ONLY = "intercept-only"
"""Contexts say nothing there."""

_DIM, _BUDGET = 10, 350
# (d, n): features at the paper's budget, then budgets at its number of features.
_PAPER_SETTINGS = (
    *((dim, _BUDGET) for dim in (5, 10, 20, 30, 40)),
    *((_DIM, budget) for budget in (115, 150, 200, 360)),
)


@dataclass(frozen=True)
class Entry:
    """One scenario of the suite."""

    name: str
    group: str
    title: str
    scenario: Scenario

    @property
    def losses(self) -> tuple[str, str]:
        """What is judged: the objective in expectation, and its median over trials."""
        return (
            ("mean", "median_mean") if self.scenario.objective == "mean" else ("expected_max", "median_max")
        )


def _paper(noise_name: str, noise: Sequence[float], dim: int, budget: int) -> Entry:
    return Entry(
        f"{noise_name}-d{dim}-n{budget}",
        PAPER,
        f"{noise_name} noise, d = {dim}, n = {budget}",
        GaussianScenario(noise, dim, budget, estimator="ridge"),
    )


def _robust(name: str, title: str, noise: Sequence[float] = UNEQUAL, **fields: Any) -> Entry:
    """The paper's unequal noise at d = 10, n = 350, with something changed."""
    settings = {"dim": _DIM, "budget": _BUDGET, **fields}
    return Entry(name, ROBUSTNESS, title, GaussianScenario(noise, estimator="ridge", **settings))


def _with_contexts(name: str, title: str, contexts: Any, *, dim: int = _DIM, **fields: Any) -> Entry:
    scenario = Scenario(
        noise=UNEQUAL, dim=dim, budget=_BUDGET, contexts=contexts, estimator="ridge", **fields
    )
    return Entry(name, ROBUSTNESS, title, scenario)


def _with_outcomes(name: str, title: str, outcomes: Any, rates: Sequence[float]) -> Entry:
    noise = outcomes.noise(rates)
    return _robust(name, title, noise, outcomes=outcomes, dim=5, budget=700, intercept=True)


SUITE: tuple[Entry, ...] = (
    *(_paper("equal", EQUAL, dim, budget) for dim, budget in _PAPER_SETTINGS),
    *(_paper("unequal", UNEQUAL, dim, budget) for dim, budget in _PAPER_SETTINGS),
    _robust("correlated", "correlated contexts, ρ = 0.9", covariance="ar1:0.9"),
    _with_contexts("heavy-contexts", "heavy-tailed contexts, Student t5", StudentContexts(dof=5)),
    _with_contexts("ratings", "contexts on 5 levels", DiscreteContexts(levels=5)),
    _with_contexts("one-hot", "one-hot contexts, 5 categories", OneHotContexts(), dim=5),
    _robust("student-noise", "Student t4 noise", noise_shape=StudentNoise(dof=4)),
    _robust("heteroscedastic", "noise grows with a feature", heteroscedasticity=2.0),
    _robust("many-arms", "30 arms, d = 5, n = 600", [0.1 * (i + 1) for i in range(30)], dim=5, budget=600),
    _robust("wild-arm", "one wild arm among 20, d = 5, n = 400", [20.0] + [1.0] * 19, dim=5, budget=400),
    _robust("learned", "Σ not known, learned", moment="learned"),
    _robust("wrong-moment", "wrong Σ: white, truly ρ = 0.9", covariance="ar1:0.9", moment=np.eye(_DIM)),
    _robust("delayed", "outcomes 20 units late", delay=Delay(mean=20)),
    _robust("lost", "20 % of outcomes lost", lost=0.2),
    _robust("mean-objective", "objective: mean error", objective="mean"),
    _robust("large-budget", "large budget: d = 5, n = 2000", dim=5, budget=2000),
    _robust(
        "curved",
        "all features bend the truth in all arms",
        intercept=True,
        curvature=0.3,
        curved="all",
    ),
    _robust(INTERCEPT_ONLY, "no features, only means", intercept=True, dim=1),
    _with_contexts("skewed-contexts", "exponential contexts", SkewedContexts(), intercept=True),
    _with_contexts(
        "rare-features",
        "features of 1 unit in 10, d = 5",
        BinaryContexts(share=0.1),
        dim=5,
        intercept=True,
    ),
    _with_contexts("sites", "five sites, one after the other", SiteContexts(sites=5), intercept=True),
    _with_contexts(
        "drifting-contexts", "means of contexts move by 2", DriftingContexts(shift=2), intercept=True
    ),
    _with_outcomes(
        "yes-no",
        "yes/no, rates 5 to 50 %, d = 5, n = 700",
        YesNoOutcomes(),
        (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5),
    ),
    _with_outcomes(
        "counts", "counts, means 0.2 to 8, d = 5, n = 700", CountOutcomes(), (0.2, 0.5, 1, 2, 4, 4, 8)
    ),
)


def known_entries() -> list[str]:
    """Names that can be typed: of groups, and of entries."""
    return [*dict.fromkeys(entry.group for entry in SUITE), *(entry.name for entry in SUITE)]


def chosen_entries(names: Sequence[str]) -> list[Entry]:
    """Entries by name or by group, in the order of the suite; all if there are no names."""
    known = known_entries()
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            meant = f"did you mean {close[0]!r}? " if close else ""
            raise InvalidArgument(
                f"no scenario {name!r} in the suite", hint=f"{meant}known: {', '.join(known)}"
            )
    return [entry for entry in SUITE if not names or entry.name in names or entry.group in names]
