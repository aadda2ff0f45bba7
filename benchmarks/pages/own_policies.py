"""The README's policy beside uniform and Trace-UCB, and coverage of intervals under scores without a width.

python benchmarks/pages/own_policies.py --write docs/tables/own-policies.md
"""

from __future__ import annotations

import equipoise as eq
from equipoise.studies.noise import EQUAL, UNEQUAL
from scenarios import LIBRARY, arguments, losses, markdown, show


@eq.register("least-certain")
class LeastCertain(eq.BoundedPolicy):
    """The arm whose prediction for this context is the least certain, by an upper bound of its noise."""

    looks = True

    @staticmethod
    def score(arm, trial, settings):
        return arm.weight * eq.noise_bound(arm, trial, settings) * arm.leverage


@eq.register("most-uncertain")
def most_uncertain(arm, trial, settings):
    """The estimated error itself, with no bound on top."""
    return arm.noise_variance * arm.trace


WORLDS = (
    ("unequal, m = 7, d = 10, n = 115", UNEQUAL, 10, 115),
    ("unequal, m = 7, d = 10, n = 350", UNEQUAL, 10, 350),
    ("equal, m = 7, d = 10, n = 350", EQUAL, 10, 350),
    ("noise 0.5, 1, 4, m = 3, d = 3, n = 60", (0.5, 1.0, 4.0), 3, 60),
    ("noise 0.5, 1, 4, m = 3, d = 3, n = 300", (0.5, 1.0, 4.0), 3, 300),
)
SPECS = ("uniform", "trace-ucb", "least-certain", "most-uncertain", "gafs-max", "gfsp-max")


def main() -> None:
    options = arguments(__doc__, trials=4_000)
    rows = []
    for title, noise, dim, budget in WORLDS:
        scenario = eq.GaussianScenario(noise=noise, dim=dim, budget=budget)
        result = eq.simulate(scenario, SPECS, trials=options.trials, seed=options.seed)
        for spec, policy in result.policies.items():
            covered = policy.coverage()
            by_arm = 100 * policy.ledger.coverage.mean(axis=0)
            cells = [f"{100 * covered.value:.2f} ± {100 * covered.stderr:.2f}"]
            cells.append(f"{by_arm.min():.1f} – {by_arm.max():.1f}")
            rows.append([title, f"`{spec}`", *losses(policy), *cells])
    caption = (
        "Errors, and percent of coefficients inside their 95 % interval, on average and of the worst and the best "
        f"arm; ± one standard error, {options.trials:,} trials, seed {options.seed}, {LIBRARY}. Printed by "
        "`python benchmarks/pages/own_policies.py`."
    )
    header = ["scenario", "policy", "largest mean error", "median worst error", "coverage", "by arm"]
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
