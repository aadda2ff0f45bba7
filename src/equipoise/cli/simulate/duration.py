"""How long a simulation will take, said before it starts if it is long.

A unit costs about d² operations, m·d² more if the policy looks at contexts; final estimates about d³ an arm.
The constants are those of one core of 2024; another machine is off by a factor of two or three, which is
enough to tell a coffee from a night.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from equipoise.cli.terminal import say
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.lab.scenario import Scenario

_LONG = 60.0  # seconds
# Seconds an operation: a unit, looking at its context, estimates by ridge and by all others.
_UNIT, _LOOK, _RIDGE, _OTHERS = 2.5e-9, 1.2e-9, 2e-9, 1.5e-8
_EACH = 1e-7  # seconds that a decision takes anyway


def announce(scenario: Scenario, policies: Sequence[str], *, trials: int, workers: int | None) -> None:
    """Say on standard error how long it will take, if that is more than a minute."""
    threads = min(workers or os.cpu_count() or 1, max(trials, 1))
    seconds = sum(trial_seconds(scenario, policy) for policy in policies) * trials / threads
    if seconds > _LONG:
        say(
            f"This will take about {in_words(seconds)}: {counted(trials, 'trial')} of "
            f"{len(policies)} {'policy' if len(policies) == 1 else 'policies'} with "
            f"{counted(scenario.dim, 'feature')} on {counted(threads, 'thread')}, by a rule of thumb.",
            err=True,
        )


def trial_seconds(scenario: Scenario, policy: str) -> float:
    """A guess at the time of one trial."""
    from equipoise.core.policies.base.policy import parse_policy

    units, dim, arms = scenario.units, scenario.dim, len(scenario.noise)
    looks = type(parse_policy(policy)).looks
    steps = units * (_EACH + dim * dim * (_UNIT + (_LOOK * arms if looks else 0.0)))
    return steps + arms * float(dim) ** 3 * (_RIDGE if scenario.estimator == "ridge" else _OTHERS)


def in_words(seconds: float) -> str:
    """A time, as roughly as it is known.

    >>> in_words(80), in_words(900), in_words(9000), in_words(4e5)
    ('1 minute', '15 minutes', '2 hours', '5 days')
    """
    for size, unit in ((86_400.0, "day"), (3_600.0, "hour")):
        if seconds >= 1.5 * size:
            return counted(round(seconds / size), unit)
    return counted(max(round(seconds / 60.0), 1), "minute")
