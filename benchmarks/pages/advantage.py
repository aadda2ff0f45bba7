"""How the advantage of adaptive allocation shrinks as the budget grows, and where there are no features.

python benchmarks/pages/advantage.py --write docs/tables/worlds/advantage.md
"""

from __future__ import annotations

from collections.abc import Iterator

import equipoise as eq
from equipoise.studies.losses import summarise
from equipoise.studies.noise import EQUAL, UNEQUAL
from scenarios import LIBRARY, arguments, markdown, show

SPECS = ["uniform", "oracle", "best-allocation", "trace-ucb", "trace-gain"]
PAIRS = (
    *(("trace-ucb", "oracle"), ("trace-ucb", "best-allocation")),
    *(("trace-gain", "oracle"), ("trace-gain", "best-allocation"), ("trace-gain", "trace-ucb")),
    ("uniform", "best-allocation"),
)
BUDGETS = (115, 200, 350, 1000, 2000, 5000)
MOST_UNITS = 6_000_000  # of a row: fewer trials for large budgets, whose losses vary less


def worlds() -> Iterator[tuple[str, eq.Scenario]]:
    for name, noise in (("unequal", UNEQUAL), ("equal", EQUAL)):
        for budget in BUDGETS:
            yield f"{name}, d = 10", eq.GaussianScenario(noise, 10, budget, estimator="ridge")
    for budget in (50, 115, 350, 1000):
        yield (
            "unequal, no features",
            eq.GaussianScenario(UNEQUAL, 1, budget, intercept=True, estimator="ridge"),
        )


def main() -> None:
    options = arguments(__doc__, trials=12_000)
    rows = []
    for name, scenario in worlds():
        trials = max(200, min(options.trials, MOST_UNITS // scenario.units))
        result = eq.simulate(scenario, SPECS, trials=trials, seed=options.seed)
        losses = summarise(result).losses["expected_max"]
        cells = ["{:.3f} ± {:.3f}".format(*losses.ratio(*pair)) for pair in PAIRS]
        rows.append([name, f"{scenario.units}", f"{trials:,}", *cells])
    caption = (
        "Largest mean error over the reference's, ± one standard error; "
        f"m = {len(EQUAL)}, ridge λ = 1/n, seed {options.seed}, {LIBRARY}. "
        "Printed by `python benchmarks/pages/advantage.py`."
    )
    header = ["world", "n", "trials", *(f"`{policy}` / `{reference}`" for policy, reference in PAIRS)]
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
