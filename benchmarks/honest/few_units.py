"""Why a nearly noiseless arm finds false effects: its few units, whoever chose them; and what floors do.

python benchmarks/honest/few_units.py --write docs/tables/worlds/few-units.md

The worlds are those of misspecification.py in which rare features interact.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small

import numpy as np

import equipoise as eq
from misspecification import WORLDS
from quick_trials import Task, answers, false_effects, findings, show

BY_LOT = "the same numbers, by lot"
RULES = ["uniform", "trace-gain", BY_LOT, "floor 50", "floor 100", "floor 200", "trace-gain:chance=0.3"]


def experiment_of(world: str, rule: str, trial: int) -> eq.Experiment:
    """Trace-Gain, unless the rule says otherwise."""
    place = WORLDS[world]
    if rule.startswith("floor"):
        return place.run("trace-gain", trial, floor=int(rule.split()[1]))
    if rule != BY_LOT:
        return place.run(rule, trial)
    chosen = place.run("trace-gain", trial)
    counts = [chosen.counts[arm] for arm in chosen.problem.arms]
    arms = np.repeat(np.arange(len(counts)), counts)
    return place.run("trace-gain", trial, arms=np.random.default_rng([trial, 1]).permutation(arms))


def measure(task: Task) -> list[str]:
    """Units of the quietest arm, and how often its intercept is said to differ from another's."""
    units, effects, singular, errors = [], [], 0, []
    for trial in range(task.first, task.first + task.trials):
        experiment = experiment_of(task.world, task.policy, trial)
        units.append(experiment.counts["0"])
        arms = findings(experiment).arms
        errors.append(max(arm.expected_error for arm in arms))
        if any(arm.least_squares is None for arm in arms):
            singular += 1  # no line, so no effect is claimed
        else:
            effects.append(false_effects(arms))
    share = float(np.mean(effects))
    low, middle, high = np.quantile(units, [0.1, 0.5, 0.9])
    error = 100 * (share * (1 - share) / len(effects)) ** 0.5
    return [
        f"{middle:.0f} ({low:.0f}–{high:.0f})",
        f"{100 * share:.1f} ± {error:.1f}",
        f"{100 * singular / task.trials:.0f}",
        f"{np.median(errors):.3g}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    tasks = [
        Task(world, rule, options.seed * 1_000_000, options.trials)
        for world in ("rare", "quiet")
        for rule in RULES
    ]
    rows = [
        [WORLDS[task.world].words, task.policy, *cells]
        for task, cells in zip(tasks, answers(measure, tasks, options.processes, None), strict=True)
    ]
    header = [
        "world",
        "rule",
        "units of the quiet arm",
        "false effects, %",
        "no line, %",
        "worst expected error",
    ]
    caption = (
        "Units are medians, with the range of the middle 80 % of trials. False effects as in the table "
        "above, with standard errors; trials in which an arm's contexts allow no line claim none, and are "
        "not counted. The worst expected error is the median over trials. Floors are "
        "units that every arm must get. "
        f"{options.trials:,} trials a row, seed {options.seed}, equipoise {eq.__version__}, "
        f"NUMERICS {eq.NUMERICS}. "
        f"Printed by `python benchmarks/honest/few_units.py --trials {options.trials}`."
    )
    show(header, rows, caption, options.write)


if __name__ == "__main__":
    main()
