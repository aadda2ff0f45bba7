"""The figure of the page on forecasts, and how long 1,000 trials of it take.

python benchmarks/honest/forecast_figure.py docs/figures
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import equipoise as eq
from equipoise.studies.noise import UNEQUAL

DIM, BUDGET, ASKED, SEED = 10, 350, 175, 3


def half_way() -> eq.Experiment:
    """The paper's unequal arms, at half of the budget, with six outcomes awaited."""
    rng = np.random.default_rng(SEED)
    problem = eq.Problem(arms=len(UNEQUAL), dim=DIM, budget=BUDGET, moment=np.eye(DIM))
    experiment = eq.Experiment(problem, policy="trace-gain", seed=SEED)
    coefs = rng.normal(size=(len(UNEQUAL), DIM))
    while experiment.asked < ASKED:
        x = rng.normal(size=DIM)
        unit = experiment.ask(x)
        i = problem.index(unit.arm)
        if experiment.asked <= ASKED - 6:
            experiment.tell(unit.id, float(x @ coefs[i] + np.sqrt(UNEQUAL[i]) * rng.normal()))
    return experiment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    experiment = half_way()
    eq.forecast(experiment, trials=10)  # compiles
    begin, worked = time.perf_counter(), time.process_time()
    eq.forecast(experiment, trials=1_000)
    print(
        f"1,000 trials of the rest: {time.perf_counter() - begin:.2f} s, "
        f"{time.process_time() - worked:.2f} s of processor time"
    )
    found = eq.forecast(
        experiment, policies=["uniform"], budgets=[250, 500], target=0.4, trials=1_000, looks=12
    )
    print(found)
    drawn, picture = eq.draw_forecast(found, options.folder)
    drawn.unlink()  # the page shows the other
    print(picture)


if __name__ == "__main__":
    main()
