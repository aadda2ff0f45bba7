"""Trials of the lab one at a time, with a look at what they leave behind."""

from __future__ import annotations

import numpy as np

from equipoise.lab.replay.trials import ReplayBench
from equipoise.lab.trial.bench import ScenarioBench
from equipoise.lab.trial.ledger import new_ledger
from equipoise.lab.trial.world import Draws


class SimulatedTrials:
    """Trials of one policy in a scenario."""

    def __init__(self, scenario, policy, seed):
        self.scenario, self.seed = scenario, seed
        self._bench = ScenarioBench(scenario, [policy], seed)

    def run(self, number):
        """Run trial ``number``; its ledger."""
        ledger = new_ledger(1, len(self.scenario.noise))
        self._bench(number, [ledger])
        return ledger

    @property
    def _seat(self):
        return self._bench.seats[0]

    @property
    def stage(self):
        return self._seat.stage

    @property
    def state(self):
        return self.stage.state

    @property
    def policy(self):
        return self._seat.policy

    @property
    def workspace(self):
        return self._seat._ending._workspace

    @property
    def truth(self):
        return self._bench.draws.world.coefs[0]

    @property
    def contexts(self):
        return self._bench.draws.world.contexts[0]

    @property
    def support(self):
        return np.flatnonzero(np.any(self.truth != 0.0, axis=0))

    @property
    def course(self):
        return self._bench.draws.course

    @property
    def due(self):
        """Time at which every unit's outcome arrives, or is given up."""
        delays, places = self._bench.draws.world.delays, np.arange(self.scenario.units)
        if delays.ndim == 1:
            return places
        return places + np.where(delays[0] < 0, -1 - delays[0], delays[0])

    @property
    def lost(self):
        """Whether every unit's outcome never arrives."""
        delays = self._bench.draws.world.delays
        return delays[0] < 0 if delays.ndim == 2 else np.zeros(self.scenario.units, bool)


class ReplayedTrials:
    """Trials of one policy on a table."""

    def __init__(self, arena, policy, seed):
        self._bench = ReplayBench(arena, [policy], seed)

    def run(self, number):
        """Run trial ``number``; its ledger."""
        ledger = new_ledger(1, len(self.rows.origin))
        self._bench(number, [ledger])
        return ledger

    @property
    def rows(self):
        return self._bench.rows

    @property
    def policy(self):
        return self._bench.seats[0]._policy

    @property
    def stage(self):
        return self._bench.seats[0].stage

    @property
    def state(self):
        return self.stage.state

    @property
    def dealt(self):
        return self.rows.dealt[0]

    @property
    def contexts(self):
        return self.rows.features[0]


def drawn(scenario, seed, trial=0):
    """The world of one trial."""
    draws = Draws(scenario, seed)
    draws.draw(trial, 1)
    return draws.world
