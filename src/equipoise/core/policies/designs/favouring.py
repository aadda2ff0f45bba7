"""One arm favoured with some probability: the biased coin that Efron's design and minimisation share."""

from __future__ import annotations

from equipoise.core.arms.widths import is_number
from equipoise.core.arrays import Vector
from equipoise.core.jit.decorators import compiled
from equipoise.core.problem.problem import Problem
from equipoise.errors import InvalidPolicy


def check_favour(label: str, p: object, problem: Problem | None = None) -> None:
    """Refuse a p that is no probability, or less than an arm would have without it."""
    if not is_number(p) or not 0.0 < p <= 1.0:  # type: ignore[operator]
        raise InvalidPolicy(f"p={p!r} is not a probability above 0", hint="e.g. p=0.8")
    m = 1 if problem is None else len(problem.arms)
    if m > 1 and p < 1.0 / m:  # type: ignore[operator]
        raise InvalidPolicy(
            f"{label} would favour an arm with p={p!r}, less than 1/{m}", hint=f"choose a p above {1 / m:.3g}"
        )


@compiled
def favour_least(weights: Vector, p: float) -> None:
    """Turn values into weights: the arm with the smallest has p, the others share 1 − p equally.

    Arms that tie share what they have together: it is as if one of them were drawn first. Values below 0
    mark arms that may not be chosen, and stay.
    """
    candidates, tied, least = 0, 0, 0.0
    for i in range(weights.shape[0]):
        if weights[i] >= 0.0:
            if candidates == 0 or weights[i] < least:
                least, tied = weights[i], 0
            tied += weights[i] == least
            candidates += 1
    rest = (1.0 - p) / (candidates - 1) if candidates > 1 else 0.0
    for i in range(weights.shape[0]):
        if weights[i] >= 0.0:
            weights[i] = (p + (tied - 1) * rest) / tied if weights[i] == least else rest
