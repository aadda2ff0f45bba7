"""The course of trials: when units arrive, when outcomes come or are given up, which arms are closed.

Compiled trials count in units: the outcome of unit t is *due* right after unit u was asked for, before unit
u + 1 is. Calendar time becomes such numbers here, when trials are drawn: an outcome is known to the first
unit that arrives no sooner than it does. What comes after the last arrival is told at once, in the units'
order.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import State
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.draws.streams import LOSS, Stream, new_stream, start, uniform
from equipoise.core.jit.decorators import compiled
from equipoise.lab.pieces import Closure
from equipoise.lab.pieces.piece import Block

if TYPE_CHECKING:
    from equipoise.lab.scenario import Scenario
    from equipoise.lab.trial.world import World

_NEVER = 2**62


def is_late(scenario: Scenario) -> bool:
    """Whether outcomes may come late or never."""
    return scenario.delay is not None or depends_on_arm(scenario) or bool(scenario.lost)


def depends_on_arm(scenario: Scenario) -> bool:
    """Whether the arm of a unit decides on whether its outcome comes."""
    return isinstance(scenario.lost, tuple) or scenario.drop_out is not None


class Course:
    """Writes the delays and closures of a world, and knows its calendar."""

    def __init__(self, scenario: Scenario, seed: int, world: World) -> None:
        self._scenario, self._seed, self._world = scenario, seed, world
        block, units = world.contexts.shape[:2]
        arms = len(scenario.noise) if depends_on_arm(scenario) else 1
        self._late = is_late(scenario)
        self._times = np.zeros((block, units if scenario.accrual is not None else 0))
        self._waits = np.zeros((block, units, arms) if self._late else (block, 0, 1))

    def draw(self, first: int, count: int) -> None:
        """Draw trials ``first``, …."""
        scenario, times = self._scenario, self._times[:count]
        if scenario.accrual is not None:
            scenario.accrual.fill(times, self._seed, first)
        if self._late:
            self._draw_delays(first, count)
        for k, closure in enumerate(scenario.closures):
            for b in range(count):
                self._world.closures[b, k] = self._closed(closure, times[b])

    def ends(self, place: int, state: State) -> tuple[float, float]:
        """When the last unit of a finished trial arrived, and when its last outcome came or was given up."""
        units = int(state.trial["step"][0])
        if self._scenario.accrual is None or units == 0:
            return math.nan, math.nan
        times, ends = self._times[place, :units], self._times[place, :units]
        if self._late:
            own = state.rows["arm"][:units] if self._waits.shape[2] > 1 else 0
            ends = times + self._waits[place, np.arange(units), own]
        return float(times[-1]), float(ends.max())

    def _draw_delays(self, first: int, count: int) -> None:
        scenario, seed, waits = self._scenario, self._seed, self._waits[:count]
        waits[:] = self._drawn_waits(first, count)[:, :, None]
        lost = np.zeros(waits.shape, bool)
        if scenario.lost:
            chances = np.zeros(waits.shape[:2])
            _draw_chances(new_stream(), chances, seed, first)
            lost |= chances[:, :, None] < np.asarray(scenario.lost)
        if scenario.drop_out is not None:
            leaves = np.zeros(waits.shape)
            scenario.drop_out.fill(leaves, seed, first)
            lost |= leaves < waits
            np.minimum(waits, leaves, out=waits)
        delays = self._in_units(waits, count)
        # What never arrives is awaited until then.
        delays[lost] = -1 - delays[lost]
        if depends_on_arm(scenario):
            self._world.fates[:count] = delays
        else:
            self._world.delays[:count] = delays[:, :, 0]

    def _drawn_waits(self, first: int, count: int) -> Matrix:
        """Delays in calendar time, or in whole units."""
        scenario, shape = self._scenario, self._waits.shape[1]
        waits = np.zeros((count, shape))
        if scenario.delay is None:
            return waits
        if scenario.accrual is not None:
            scenario.delay.fill_times(waits, self._seed, first)
            return waits
        delays = np.zeros((count, shape), np.int64)
        scenario.delay.fill(delays, self._seed, first)
        return delays.astype(float)

    def _in_units(self, waits: Block, count: int) -> Counts:
        """Units that are asked for before the outcome is due."""
        if self._scenario.accrual is None:
            return np.asarray(np.floor(waits), np.int64)
        delays = np.zeros(waits.shape, np.int64)
        rows = np.arange(waits.shape[1])[:, None]
        for b in range(count):
            times = self._times[b]
            known_to = np.searchsorted(times, times[:, None] + waits[b], side="left")
            delays[b] = np.maximum(known_to, rows + 1) - 1 - rows
        return delays

    def _closed(self, closure: Closure, times: Vector) -> tuple[int, int, int]:
        """The arm, the first unit that finds it closed, and the first that does not any more."""
        arm = self._scenario.arms.index(closure.arm)
        moments = (closure.after, math.inf if closure.until is None else closure.until)
        if closure.by == "time":
            first, end = np.searchsorted(times, moments, side="left").tolist()
        else:
            first, end = (_NEVER if moment == math.inf else int(moment) for moment in moments)
        return arm, first, end


@compiled
def _draw_chances(stream: Stream, chances: npt.NDArray[np.float64], seed: int, trial: int) -> None:
    for b in range(chances.shape[0]):
        for t in range(chances.shape[1]):
            start(stream, seed, trial + b, LOSS, t, 0)
            chances[b, t] = uniform(stream)
