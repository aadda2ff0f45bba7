"""How long a replay of the paper's size takes: 3,811 rows, d = 40, m = 10, n = 800, four policies.

Run: python benchmarks/speed/replay.py
"""

from __future__ import annotations

import argparse
import os
import time
from functools import partial

import numpy as np

import equipoise as eq

ROWS, DIM, ARMS, BUDGET = 3_811, 40, 10, 800
POLICIES = ["uniform", "oracle", "var-ucb", "trace-ucb"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1_000)
    trials = parser.parse_args().trials
    rng = np.random.default_rng(1)
    contexts = rng.normal(size=(ROWS, DIM))
    targets = contexts @ rng.normal(size=(DIM, ARMS)) + rng.normal(size=(ROWS, ARMS))
    table = np.hstack([contexts, targets])
    replay = partial(
        eq.replay,
        table,
        POLICIES,
        targets=range(DIM, DIM + ARMS),
        budget=BUDGET,
        scale="none",
        estimator="ridge",
        saved=False,
    )
    replay(trials=2)  # compiles
    begin = time.perf_counter()
    result = replay(trials=trials)
    seconds = time.perf_counter() - begin
    print(f"{trials:,} trials of {len(POLICIES)} policies, {ROWS:,} rows, d = {DIM} + intercept, m = {ARMS}:")
    print(f"  {seconds:.1f} s on {os.cpu_count()} cores")
    for name, policy in result.policies.items():
        print(f"  {name:10s} {policy.decisions_per_second / 1e3:8.0f} thousand decisions a second and core")


if __name__ == "__main__":
    main()
