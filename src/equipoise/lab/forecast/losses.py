"""What becomes of outcomes to come: how many are lost, and how long the others are awaited.

Both are taken from what the experiment has seen. Waits are counted in further units that were assigned before
an outcome came, or was given up. With fₖ(w) the shares of outcomes that ended in way k (told or lost) after w
of them, among Y(w) units that were still awaited until then,

    fₖ(w) = S(w)·nₖ(w)/Y(w),    S(w) = Π over v < w of (1 − n(v)/Y(v)),

so that units which are awaited today count for as long as they have been (Aalen and Johansen 1978). What is
left after the longest wait seen comes, or is given up, at the end.

The chance of a loss is drawn for every trial, arm by arm: pᵢ ~ Beta(κμ, κ(1 − μ)), with μ and κ on a grid. A
large κ means that arms lose alike. Where the data can tell arms apart, it is small.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arithmetic.gamma import log_gamma
from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arms.state import KNOWN, LOST, PENDING, WITHDRAWN
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.draws.streams import LEAVING, Stream, gamma, new_stream, start, uniform
from equipoise.core.experiment.record import Record
from equipoise.core.jit.decorators import compiled
from equipoise.core.problem.problem import Problem
from equipoise.core.problem.real import real_number
from equipoise.errors import InvalidArgument

SEEN, GIVEN = "seen", "given"
AT_THE_END = 2**53
"""A wait that the experiment does not see the end of."""

# Rates on an even grid, with the prior of Jeffreys; how much arms are alike in steps of about √10.
_RATES = 200
_ALIKE = np.array([1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e4])


@dataclass(frozen=True, eq=False)
class Waits:
    """How long outcomes are awaited that end in one way."""

    units: Counts
    """Further units, ascending."""
    shares: Vector
    """Of them that have ended by then; what lacks to 1 is awaited to the end."""

    @property
    def median(self) -> float:
        """Infinite where less than half have ended."""
        ended = self.units[self.shares >= 0.5]
        return float(ended[0]) if len(ended) else np.inf

    @property
    def late(self) -> bool:
        """Whether some are awaited while further units are assigned."""
        return not len(self.units) or self.units[0] > 0 or self.shares[0] < 1.0


@dataclass(frozen=True, eq=False)
class Fates:
    """What becomes of outcomes that are awaited, now or later."""

    rates: Matrix
    """[trials, m] chance that an outcome is lost."""
    told: Waits
    lost: Waits
    beyond: int
    """The wait of those that are awaited for longer than any that was seen."""
    origin: str
    """``"seen"`` or ``"given"``: where the rates are from."""
    seen: tuple[int, int]
    """Outcomes lost or withdrawn so far, and all whose fate is known."""
    lag: int | None
    """The wait of all, where it was given."""


def checked_losses(problem: Problem, losses: Any) -> Vector | None:
    """Rates of the arms as they were given; None: as seen."""
    if isinstance(losses, str) and losses == SEEN:
        return None
    if isinstance(losses, Mapping):
        rates = np.zeros(len(problem.arms))
        for arm, rate in losses.items():
            rates[problem.index(arm)] = _checked_rate(rate)
        return rates
    return np.full(len(problem.arms), _checked_rate(losses))


def _checked_rate(rate: Any) -> float:
    try:
        value = np.nan if isinstance(rate, bool) else real_number(rate)
    except (TypeError, ValueError, OverflowError):
        value = np.nan
    if not 0.0 <= value < 1.0:
        raise InvalidArgument(
            f"losses={rate!r} is not a share from 0 to below 1",
            hint=f"e.g. losses=0.1, losses={{'arm': 0.2}}, 0 for none, or {SEEN!r}",
        )
    return float(value)


def draw_fates(record: Record, given: Vector | None, lag: int | None, *, trials: int, seed: int) -> Fates:
    """Rates of every trial, and how long outcomes are awaited; ``given`` and ``lag`` are None where seen."""
    rows, arms = record.state.rows[: record.step], len(record.problem.arms)
    known, lost = np.isin(rows["status"], KNOWN), np.isin(rows["status"], (LOST, WITHDRAWN))
    told_waits, lost_waits, still = _waits_seen(rows)
    if lag is None:
        told, gone, beyond = told_waits, lost_waits, AT_THE_END
    else:
        told = gone = Waits(np.array([lag]), np.ones(1))
        beyond = lag
    if given is not None:
        rates = np.tile(given, (trials, 1))
    elif not lost.any():
        rates = np.zeros((trials, arms))
    else:
        counts = [np.bincount(rows["arm"][each], minlength=arms).astype(float) for each in (lost, known)]
        awaited = np.bincount(rows["arm"][rows["status"] == PENDING], minlength=arms)
        likely = np.bincount(rows["arm"][rows["status"] == PENDING], still, minlength=arms)
        # What is awaited moves the rate, but makes nobody surer of it.
        ended = counts[0] + counts[1]
        shrink = np.where(ended > 0.0, ended / np.maximum(ended + awaited, 1.0), 0.0)
        rates = np.zeros((trials, arms))
        fallen: Vector = shrink * (counts[0] + likely)
        held: Vector = shrink * (counts[1] + awaited - likely)
        heights = np.zeros((_RATES, len(_ALIKE)))
        _draw_rates(fallen, held, _ALIKE, heights, new_stream(), seed, rates)
    return Fates(
        rates=rates,
        told=told,
        lost=gone,
        beyond=beyond,
        origin=SEEN if given is None else GIVEN,
        seen=(int(np.count_nonzero(lost)), int(np.count_nonzero(lost | known))),
        lag=lag,
    )


def _waits_seen(rows: npt.NDArray[Any]) -> tuple[Waits, Waits, Vector]:
    """Waits of outcomes told and lost, and the chance that each one awaited will be lost."""
    places = np.arange(1, len(rows) + 1)
    told, lost = np.isin(rows["status"], KNOWN), rows["status"] == LOST
    # The unit asked for last may be told before the next one is: it has not been awaited yet.
    ages = (len(rows) - places)[rows["status"] == PENDING]
    ways = [np.sort((rows["closed_at"] - places)[each]) for each in (told, lost)]
    ended = np.sort(np.concatenate(ways))
    points, counts = np.unique(ended, return_counts=True)
    shares = np.zeros((2, len(points)))
    left = 1.0
    survived = np.ones(len(points) + 1)
    for k, (wait, count) in enumerate(zip(points, counts, strict=True)):
        at_risk = np.count_nonzero(ended >= wait) + np.count_nonzero(ages > wait)
        for way, waits in enumerate(ways):
            shares[way, k] = left * np.count_nonzero(waits == wait) / at_risk
        left *= 1.0 - count / at_risk
        survived[k + 1] = left
    sums = _running(shares)
    ends = sums[:, -1] if len(points) else np.array([1.0, 0.0])
    chance = ends[1] / (ends[0] + ends[1]) if ends[0] + ends[1] > 0.0 else 0.0
    # What has not ended yet ends as what has.
    wholes = np.array([ends[0] + left * (1.0 - chance), ends[1] + left * chance])
    if not len(points):
        wholes = np.array([1.0, 0.0])
    found = [
        Waits(points.astype(np.int64), sums[way] / wholes[way] if wholes[way] > 0.0 else sums[0] / wholes[0])
        for way in (0, 1)
    ]
    before = np.searchsorted(points, ages, side="left")
    passed = np.concatenate([[0.0], sums[1]])[before]
    still = (wholes[1] - passed) / survived[before] if len(points) else np.zeros(len(ages))
    return found[0], found[1], still


def _running(shares: Matrix) -> Matrix:
    sums = shares.copy()
    for k in range(1, sums.shape[1]):
        sums[:, k] += sums[:, k - 1]
    return sums


@compiled
def _draw_rates(
    lost: Vector, told: Vector, alike: Vector, heights: Matrix, stream: Stream, seed: int, rates: Matrix
) -> None:
    """Write every trial's rates, a column an arm; ``heights`` is scratch, a row a rate on the grid."""
    highest = -np.inf
    for r in range(_RATES):
        rate = (r + 0.5) / _RATES
        for k in range(alike.shape[0]):
            a, b = alike[k] * rate, alike[k] * (1.0 - rate)
            height = -0.5 * log(rate * (1.0 - rate))
            for i in range(lost.shape[0]):
                height += log_gamma(a + lost[i]) + log_gamma(b + told[i])
                height -= log_gamma(a + b + lost[i] + told[i])
                height -= log_gamma(a) + log_gamma(b) - log_gamma(a + b)
            heights[r, k] = height
            highest = max(highest, height)
    total = 0.0
    for r in range(_RATES):
        for k in range(alike.shape[0]):
            total += exp(heights[r, k] - highest)
            heights[r, k] = total
    for trial in range(rates.shape[0]):
        start(stream, seed, trial, LEAVING, 0, 0)
        wanted = uniform(stream) * total
        r = k = 0
        while heights[r, k] < wanted:
            k += 1
            if k == alike.shape[0]:
                r, k = r + 1, 0
        rate = (r + 0.5) / _RATES
        for i in range(lost.shape[0]):
            gone = gamma(stream, alike[k] * rate + lost[i])
            kept = gamma(stream, alike[k] * (1.0 - rate) + told[i])
            rates[trial, i] = gone / (gone + kept)
