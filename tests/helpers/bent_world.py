"""Experiments on contexts and outcomes that a test makes itself."""

from __future__ import annotations

import numpy as np

import equipoise as eq


def run(policy, *, units=300, dim=3, noise=(0.3, 1.0), curve=0.0, effect=0.0, seed=0, late=0):
    """An experiment with an intercept and a curve that all arms share; arm i has ``effect``·i on top."""
    rng = np.random.default_rng([seed, 17])
    contexts = np.column_stack([np.ones(units), rng.normal(size=(units, dim - 1))])
    mean = contexts.sum(axis=1) + curve * np.sum(contexts[:, 1:] ** 2 - 1.0, axis=1) / np.sqrt(dim - 1)
    shocks = rng.normal(size=units)
    names = [f"arm {i}" for i in range(len(noise))]
    experiment = eq.Experiment(eq.Problem(names, dim, budget=units), policy, seed=seed)
    places = []
    for t in range(units):
        places.append(names.index(experiment.ask(contexts[t]).arm))
        s = t - late
        if s >= 0:
            i = places[s]
            experiment.tell(s + 1, float(mean[s] + effect * i + np.sqrt(noise[i]) * shocks[s]))
    return experiment


class Sorting(eq.Policy):
    """The first arm likes short contexts."""

    name = "sorting-for-a-test"
    looks = True

    @staticmethod
    def score(arm, trial, settings):
        return (1.0 + arm.position) * arm.leverage + (1.0 - arm.position) * arm.trace
