"""What assigning a batch together buys, against one by one: outcomes come back after the batch.

python benchmarks/pages/batches.py --write docs/tables/batches.md
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import equipoise as eq
from scenarios import ARMS, DIM, LIBRARY, SCENARIOS, arguments, markdown, show

BUDGET = 200


def expected_errors(noise: npt.NDArray[np.float64], size: int, together: bool, seed: int) -> list[float]:
    """σ²·Tr(S⁻¹) of every arm at the end of one trial with white contexts."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(BUDGET, DIM))
    shocks = rng.normal(size=(ARMS, BUDGET)) * np.sqrt(noise)[:, None]
    problem = eq.Problem(ARMS, DIM, budget=BUDGET, moment=np.eye(DIM))
    experiment = eq.Experiment(problem, eq.TraceGain(), seed=1)
    pulls = [0] * ARMS
    for first in range(0, BUDGET, size):
        batch = contexts[first : first + size]
        units = experiment.ask_many(batch) if together else [experiment.ask(x) for x in batch]
        for unit in units:
            i = problem.index(unit.arm)
            experiment.tell(unit.id, shocks[i, pulls[i]])
            pulls[i] += 1
    designs = [experiment.data(arm)[0] for arm in problem.arms]
    return [
        float(variance * np.trace(np.linalg.inv(design.T @ design)))
        for variance, design in zip(noise, designs, strict=True)
    ]


def main() -> None:
    options = arguments(__doc__, trials=1_000)
    rows = []
    for name, noise in SCENARIOS.items():
        for size in (1, 5, 20, 50, 100):
            cells, means = [], []
            for together in (False, True):
                errors = np.array(
                    [
                        expected_errors(np.array(noise), size, together, options.seed + trial)
                        for trial in range(options.trials)
                    ]
                )
                worst = int(np.argmax(errors.mean(axis=0)))
                stderr = errors[:, worst].std() / np.sqrt(options.trials)
                cells.append(f"{errors[:, worst].mean():.3f} ± {stderr:.3f}")
                means.append(errors.mean(axis=1))
            gap = np.log(means[0]) - np.log(means[1])
            cells.append(f"{100 * gap.mean():.1f} ± {100 * gap.std() / np.sqrt(options.trials):.1f} %")
            rows.append([name, str(size), *cells])
    caption = (
        f"`trace-gain`, m = {ARMS}, d = {DIM}, n = {BUDGET}, {options.trials:,} trials, first seed "
        f"{options.seed}, {LIBRARY}. Worst arm's mean expected error, and by how much the "
        "mean of the arms' is lower together (paired). Printed by `python benchmarks/pages/batches.py`."
    )
    header = ["scenario", "batch", "one by one", "together", "mean lower by"]
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
