"""Experiments that have come part of the way, in a world whose truth is known."""

from __future__ import annotations

import numpy as np

import equipoise as eq

NOISE = np.array([0.1, 1.0, 4.0])


class World:
    """Linear arms with normal noise; contexts are normal, the first feature is the intercept."""

    def __init__(self, seed, *, dim=3, noise=NOISE, size=1.0):
        self.rng = np.random.default_rng(seed)
        self.dim, self.noise = dim, np.asarray(noise)
        self.coefs = size * self.rng.normal(size=(len(self.noise), dim))

    def context(self):
        return np.concatenate([[1.0], self.rng.normal(size=self.dim - 1)])

    def outcome(self, x, arm):
        return float(x @ self.coefs[arm] + np.sqrt(self.noise[arm]) * self.rng.normal())

    def go_on(self, experiment, until, *, awaited=0):
        """Ask until there are so many units; the last few outcomes do not come."""
        while experiment.asked < until:
            x = self.context()
            unit = experiment.ask(x)
            if experiment.asked <= until - awaited:
                experiment.tell(unit.id, self.outcome(x, experiment.problem.index(unit.arm)))
        return experiment


def half_way(*, policy="trace-gain", budget=60, asked=30, awaited=0, seed=1, dim=3, noise=NOISE, **problem):
    """An experiment with that many units asked for, and its world."""
    world = World(seed, dim=dim, noise=noise)
    problem = eq.Problem(arms=["a", "b", "c"][: len(noise)], dim=dim, budget=budget, **problem)
    experiment = eq.Experiment(problem, policy=policy, seed=5)
    return world.go_on(experiment, asked, awaited=awaited), world
