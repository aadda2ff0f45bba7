"""Arms that share three features of many, and experiments on them."""

from __future__ import annotations

import warnings

import numpy as np

import equipoise as eq
from equipoise.errors import SupportWarning

DIM, FEATURES = 20, (3, 8, 15)
DEVIATIONS = {"a": 0.3, "b": 0.6, "c": 1.2}


class Feed:
    """Contexts and outcomes of arms that share three features; unit t meets the same whoever asks."""

    def __init__(self, seed=0, units=400, scale=1.0, root=None):
        rng = np.random.default_rng(seed)
        self.contexts = rng.normal(size=(units, DIM))
        if root is not None:
            self.contexts = self.contexts @ root.T
        self.coefs = {arm: np.zeros(DIM) for arm in DEVIATIONS}
        for coef in self.coefs.values():
            coef[list(FEATURES)] = scale * rng.choice([-1.0, 1.0], size=3)
        self.shocks = {arm: deviation * rng.normal(size=units) for arm, deviation in DEVIATIONS.items()}

    def outcome(self, unit):
        t = unit.id - 1
        return float(self.contexts[t] @ self.coefs[unit.arm] + self.shocks[unit.arm][t])

    def run(self, experiment, *, late=0, units=None):
        """Ask and tell, outcomes ``late`` units later; the arms in order."""
        path, waiting = [], []
        while experiment.remaining and (units is None or len(path) < units):
            unit = experiment.ask(self.contexts[experiment.asked])
            path.append(unit.arm)
            waiting.append(unit)
            if len(waiting) > late:
                first = waiting.pop(0)
                experiment.tell(first.id, self.outcome(first))
        for unit in waiting:
            experiment.tell(unit.id, self.outcome(unit))
        return path


def problem(budget=240, **changes):
    given = {"moment": np.eye(DIM), **changes}
    return eq.Problem(list(DEVIATIONS), DIM, budget=budget, **given)


def quiet_estimates(experiment, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SupportWarning)
        return experiment.estimates(**options)
