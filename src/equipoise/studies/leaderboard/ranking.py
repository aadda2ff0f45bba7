"""Ranking: the geometric mean of a policy's losses over the reference's, and how often it is best."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Ratio = tuple[float, float]  # value and standard error


@dataclass(frozen=True)
class Standing:
    """One policy's place."""

    policy: str
    overall: Ratio
    expected: Ratio
    median: Ratio
    wins: int
    below_reference: int
    contests: int

    def record(self) -> dict[str, Any]:
        """Plain values."""
        means = {"overall": self.overall, "expected": self.expected, "median": self.median}
        return {
            "policy": self.policy,
            **{name: {"value": value, "stderr": stderr} for name, (value, stderr) in means.items()},
            "wins": self.wins,
            "below_reference": self.below_reference,
            "contests": self.contests,
        }


def rank(
    ratios: Mapping[str, Sequence[tuple[Ratio, Ratio]]], *, reference: str, told: Collection[str] = ()
) -> list[Standing]:
    """Standings, best first, from every policy's two ratios on every entry.

    Both ratios of an entry are contests. Wins are counted among the policies that are not told the noise, as
    the reference is, and those in ``told``.

    >>> ratios = {"a": [((0.5, 0.0), (2.0, 0.0))], "b": [((1.0, 0.0), (0.5, 0.0))]}
    >>> first, second = rank(ratios, reference="oracle")
    >>> first.policy, round(first.overall[0], 3), first.wins, second.wins
    ('b', 0.707, 1, 1)
    """
    rivals = [policy for policy in ratios if policy != reference and policy not in told]
    standings = []
    for policy, entries in ratios.items():
        expected = geometric_mean([first for first, _ in entries])
        median = geometric_mean([second for _, second in entries])
        wins = below = 0
        for place, entry in enumerate(entries):
            for kind, (value, _) in enumerate(entry):
                best = min((ratios[rival][place][kind][0] for rival in rivals), default=math.inf)
                wins += policy in rivals and value <= best
                below += value < 1.0
        standings.append(
            Standing(policy, _both(entries), expected, median, wins, below, contests=2 * len(entries))
        )
    return sorted(standings, key=lambda standing: standing.overall[0])


def geometric_mean(ratios: Sequence[Ratio]) -> Ratio:
    """Of independent ratios, with its error by the delta method."""
    mean = math.exp(sum(math.log(value) for value, _ in ratios) / len(ratios))
    relative = math.sqrt(sum((stderr / value) ** 2 for value, stderr in ratios)) / len(ratios)
    return mean, mean * relative


def _both(entries: Sequence[tuple[Ratio, Ratio]]) -> Ratio:
    """Geometric mean of all ratios. An entry's two come from the same trials: their errors add up."""
    pairs = []
    for (first, first_error), (second, second_error) in entries:
        mean = math.sqrt(first * second)
        pairs.append((mean, mean * 0.5 * (first_error / first + second_error / second)))
    return geometric_mean(pairs)
