"""How often 95 % intervals cover the truth after adaptive allocation, plain and corrected.

python benchmarks/coverage.py --write docs/tables/coverage.md
"""

from __future__ import annotations

import numpy as np
from scipy import stats

import equipoise as eq
from equipoise.core.intervals import variance_inflation
from equipoise.lab import TrialBatch, run_trials
from scenarios import ARMS, DIM, SCENARIOS, arguments, markdown, problem, show

SPECS = ["uniform", "trace-ucb", "trace-ucb:width=0.25", "var-ucb"]


def coverage(batch: TrialBatch, elasticity: np.ndarray) -> np.ndarray:
    """Share of coefficients inside their interval, by trial and arm."""
    variances = batch.variances * variance_inflation(batch.dof, elasticity)
    deviations = np.sqrt(variances[..., None] * np.sum(batch.factors**2, axis=-1))
    inside = np.abs(batch.coefs) <= stats.t.ppf(0.975, batch.dof)[..., None] * deviations
    return np.asarray(inside.mean(axis=-1))


def main() -> None:
    options = arguments(__doc__, trials=10_000)
    rows = []
    for budget in (115, 350):
        for name, noise in SCENARIOS.items():
            for spec in SPECS:
                policy = eq.parse_policy(spec)
                batch = run_trials(problem(budget), policy, noise, trials=options.trials, seed=options.seed)
                cells = []
                for elasticity in (np.zeros_like(batch.variances), batch.elasticities):
                    covered = 100 * coverage(batch, elasticity)
                    stderr = covered.mean(axis=1).std(ddof=1) / np.sqrt(options.trials)
                    by_arm = covered.mean(axis=0)
                    cells.append(f"{covered.mean():.2f} ± {stderr:.2f}")
                    cells.append(f"{by_arm.min():.1f} – {by_arm.max():.1f}")
                rows.append([name, str(budget), f"`{spec}`", *cells])
    caption = (
        f"Percent of coefficients inside their 95 % interval; m = {ARMS}, d = {DIM}, "
        f"{options.trials:,} trials, seed {options.seed}, equipoise {eq.__version__}. "
        "Printed by `python benchmarks/coverage.py`."
    )
    header = ["scenario", "n", "policy", "plain t", "by arm", "corrected", "by arm"]
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
