"""What a leaderboard found: losses of every policy on every entry, and how they rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.policies.base.policy import Policy, parse_policy
from equipoise.studies.leaderboard.ranking import Standing, rank
from equipoise.studies.leaderboard.suite import Entry
from equipoise.studies.losses import Losses


@dataclass(frozen=True)
class Row:
    """All policies on one entry."""

    entry: Entry
    seed: int
    losses: Mapping[str, Losses]

    def ratio(self, policy: str, reference: str, kind: int) -> tuple[float, float]:
        """Loss over the reference's with its error; ``kind`` 0 is the expectation, 1 the median."""
        return self.losses[self.entry.losses[kind]].ratio(policy, reference)

    def record(self, policies: tuple[str, ...], reference: str) -> dict[str, Any]:
        """Plain values."""
        found: dict[str, Any] = {}
        for policy in policies:
            found[policy] = {
                loss: {
                    **_plain(self.losses[loss].estimate(policy)),
                    "ratio": _plain(self.ratio(policy, reference, kind)),
                }
                for kind, loss in enumerate(self.entry.losses)
            }
        return {
            "group": self.entry.group,
            "title": self.entry.title,
            "seed": self.seed,
            "scenario": self.entry.scenario.to_dict(),
            "policies": found,
        }


@dataclass(frozen=True)
class Leaderboard:
    """Every policy on every entry."""

    version: str
    seed: int
    trials: int
    policies: tuple[str, ...]
    rows: tuple[Row, ...]
    reference: str = "oracle"

    @property
    def settings(self) -> str:
        """One line that belongs under the picture and every table."""
        return (
            f"equipoise {self.version}, NUMERICS {NUMERICS} · seed {self.seed} · {self.trials:,} trials of "
            "every policy on every scenario · ridge λ = 1/n"
        )

    @property
    def told(self) -> tuple[str, ...]:
        """Policies that are told the noise: what others are measured by, and no rivals."""
        return tuple(
            name for name in self.policies if type(parse_policy(name)).informed is not Policy.informed
        )

    def ranking(self) -> list[Standing]:
        """Policies by the geometric mean of their ratios to the reference, best first."""
        ratios = {
            policy: [
                (row.ratio(policy, self.reference, 0), row.ratio(policy, self.reference, 1))
                for row in self.rows
            ]
            for policy in self.policies
        }
        return rank(ratios, reference=self.reference, told=self.told)

    def record(self) -> dict[str, Any]:
        """The object that ``--json`` prints."""
        return {
            "version": self.version,
            "numerics": NUMERICS,
            "seed": self.seed,
            "trials": self.trials,
            "units": "losses in squared units of the outcome; ratios to the loss of the reference",
            "reference": self.reference,
            "ranking": [standing.record() for standing in self.ranking()],
            "scenarios": {row.entry.name: row.record(self.policies, self.reference) for row in self.rows},
        }


def _plain(estimate: tuple[float, float]) -> dict[str, float]:
    value, stderr = estimate
    return {"value": value, "stderr": stderr}
