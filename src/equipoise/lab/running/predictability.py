"""How predictable the next arm is in simulated trials."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equipoise.core.diagnosis.guessing import Predictability, predictability_of
from equipoise.core.policies.base.policy import Policy
from equipoise.errors import InvalidArgument
from equipoise.lab.running.simulate import check_policies, named_policies
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.bench import ScenarioBench


def predictability(
    scenario: Scenario, policies: Sequence[Policy | str], *, trials: int = 100, seed: int = 0
) -> dict[str, Predictability]:
    """How well the next arm can be guessed under every policy: means over simulated trials.

    Examples
    --------
    >>> import equipoise as eq
    >>> scenario = eq.GaussianScenario(noise=[1.0, 1.0], dim=1, budget=40)
    >>> found = eq.predictability(scenario, ["uniform"], trials=5)["uniform"]
    >>> found.best, found.past
    (1.0, 0.75)
    """
    if not isinstance(scenario, Scenario):
        raise InvalidArgument(f"{scenario!r} is not a scenario", hint="e.g. eq.GaussianScenario(...)")
    named = named_policies(policies)
    check_policies(scenario, named, trials, seed, None)
    bench = ScenarioBench(scenario, list(named.values()), int(seed))
    shares = np.zeros((len(named), int(trials), 3))
    units = np.zeros(len(named))
    for first in range(0, int(trials), bench.draws.block):
        count = min(bench.draws.block, int(trials) - first)
        bench.draws.draw(first, count)
        for k, seat in enumerate(bench.seats):
            for place in range(count):
                seat.run_one(place, first + place)
                state = seat.stage.state
                found = predictability_of(state.rows[: int(state.trial["step"][0])], len(scenario.noise))
                shares[k, first + place] = found.best, found.fewest, found.most
                units[k] = found.units
    errors = shares.std(axis=1) / np.sqrt(max(int(trials) - 1, 1))
    return {
        name: Predictability(
            units=int(units[k]),
            best=float(shares[k, :, 0].mean()),
            fewest=float(shares[k, :, 1].mean()),
            most=float(shares[k, :, 2].mean()),
            chance=1.0 / len(scenario.noise),
            trials=int(trials),
            best_stderr=float(errors[k, 0]),
            fewest_stderr=float(errors[k, 1]),
            most_stderr=float(errors[k, 2]),
        )
        for k, name in enumerate(named)
    }
