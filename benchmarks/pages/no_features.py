"""Trace-Gain beside Trace-UCB where there is nothing to look at: arms with a mean only, and one feature.

python benchmarks/pages/no_features.py --write docs/tables/worlds/no-features.md

Without features an arm of k units has expected error σ²/k whatever its outcomes were: k follows from the
residuals, which are independent of the mean where noise is Gaussian. So σ²·E[1/k] replaces the average of
squared errors, and its standard error is a tenth of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import equipoise as eq
from equipoise.lab import PolicyResult
from equipoise.studies.noise import UNEQUAL
from scenarios import LIBRARY, arguments, markdown, show

REFERENCE, POLICY = "trace-ucb", "trace-gain"
NOISE = {
    "unequal": UNEQUAL,
    "two arms, 0.1 and 2": (0.1, 2.0),
    "five arms, 0.2 to 5": (0.2, 0.5, 1.0, 1.5, 5.0),
    "nineteen arms of 1, one of 20": (1.0,) * 19 + (20.0,),
}
UNITS_AN_ARM = (4, 6, 10, 20, 50, 150)


def worst_mean(noise: np.ndarray, result: PolicyResult) -> tuple[float, float]:
    """The largest σ²·E[1/k] of an arm, and its standard error."""
    errors = noise / result.ledger.counts
    means = errors.mean(axis=0)
    worst = int(np.argmax(means))
    return float(means[worst]), float(errors[:, worst].std() / len(errors) ** 0.5)


def cells(noise: tuple[float, ...], budget: int, trials: int, seed: int) -> Iterator[str]:
    """Trace-Gain's error over Trace-UCB's: of means, by the closed form, and of slopes, as they came out."""
    for intercept in (True, False):
        scenario = eq.GaussianScenario(noise, 1, budget, intercept=intercept, estimator="ridge")
        results = eq.simulate(scenario, [REFERENCE, POLICY], trials=trials, seed=seed)
        if intercept:
            pairs = [worst_mean(np.array(noise), results[name]) for name in (POLICY, REFERENCE)]
        else:
            losses = [results[name].expected_max() for name in (POLICY, REFERENCE)]
            pairs = [(loss.value, loss.stderr) for loss in losses]
        (ours, our_error), (theirs, their_error) = pairs
        ratio = ours / theirs
        yield f"{ratio:.3f} ± {ratio * np.hypot(our_error / ours, their_error / theirs):.3f}"


def main() -> None:
    options = arguments(__doc__, trials=20_000)
    rows = []
    for name, noise in NOISE.items():
        for share in UNITS_AN_ARM:
            budget = share * len(noise)
            row = [name, f"{share}", f"{budget}", *cells(noise, budget, options.trials, options.seed)]
            rows.append(row)
            print(*row, sep=" | ", flush=True)
    caption = (
        "Largest mean error of an arm under `trace-gain` over that under `trace-ucb`, ± one standard error; "
        f"{options.trials:,} trials, seed {options.seed}, {LIBRARY}. "
        "No features: σ²·E[1/k], exact given the units. Printed by `python benchmarks/pages/no_features.py`."
    )
    header = ["noise", "units an arm", "n", "no features", "one feature, d = 1"]
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
