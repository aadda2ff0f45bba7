"""How long it takes to make a vector of a record of ten fields, beside the decision that it is for.

python benchmarks/speed/encoding.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import equipoise as eq
from equipoise.core.text_tables import text_table

FIELDS: dict[str, eq.Number | eq.Category] = {
    **{f"number{j}": eq.Number(0, 1, center=0.5, scale=0.3, missing="indicator") for j in range(6)},
    "dose": eq.Number(0.1, 100, log=True),
    **{f"category{j}": eq.Category("a", "b", "c") for j in range(3)},
}
ROUNDS, REPEATS = 20_000, 7


def microseconds(call: Callable[[], object]) -> float:
    """The fastest of a few rounds: what else runs on the machine only adds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(ROUNDS // REPEATS):
            call()
        times.append((time.perf_counter() - start) / (ROUNDS // REPEATS) * 1e6)
    return min(times)


def main() -> None:
    features = eq.Features(**FIELDS)
    record = {name: "b" if isinstance(field, eq.Category) else 0.7 for name, field in FIELDS.items()}
    context = features.encode(record)
    rng = np.random.default_rng(1)

    def asked(described: eq.Features | None, unit: Any) -> float:
        problem = eq.Problem(7, None if described else features.dim, features=described, budget=100_000)
        experiment = eq.Experiment(problem, seed=1)
        for _ in range(200):
            experiment.tell(experiment.ask(unit).id, float(rng.normal()))
        return microseconds(lambda: experiment.ask(unit))

    rows = [
        ["encode a record", f"{microseconds(lambda: features.encode(record)):.1f}"],
        ["ask with a vector", f"{asked(None, context):.1f}"],
        ["ask with the record", f"{asked(features, record):.1f}"],
    ]
    print(text_table([f"ten fields, {features.dim} columns, seven arms", "µs"], rows))


if __name__ == "__main__":
    main()
