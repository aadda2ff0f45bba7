"""How long it takes from importing the package to the first decision and to the first simulated trial.

Cold means that no machine code is cached; an empty cache folder is used, the real one is untouched. Python's
own bytecode is there in every run, as it is after an installation: a run before makes it, in another folder,
even where the environment keeps Python from writing any. Without it every process reads hundreds of files of
Numba and NumPy again, and starts three times as slowly.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from equipoise.core.text_tables import text_table

FIRST_DECISION = """
import time
start = time.perf_counter()
import numpy as np
import equipoise as eq
imported = time.perf_counter()
experiment = eq.Experiment(eq.Problem(7, 10, budget=350, moment=np.eye(10)), eq.TraceUCB())
assignment = experiment.ask(np.ones(10))
decided = time.perf_counter()
experiment.tell(assignment.id, 1.0)
print(imported - start, decided - start, time.perf_counter() - start)
"""

FIRST_TRIAL = """
import time
start = time.perf_counter()
import equipoise as eq
imported = time.perf_counter()
scenario = eq.GaussianScenario(noise=[0.01, 0.02, 0.75, 1, 2, 2, 3], dim=10, budget=350)
eq.simulate(scenario, ["trace-ucb"], trials=1, seed=1, workers=1)
print(imported - start, time.perf_counter() - start)
"""


def main() -> None:
    print_cold_and_warm("an experiment", FIRST_DECISION, ["imported", "first decision", "first outcome"])
    print()
    print_cold_and_warm("the lab", FIRST_TRIAL, ["imported", "first trial"])


def print_cold_and_warm(title: str, program: str, marks: list[str]) -> None:
    """Run a program twice in each mode, each time anew; the second finds what the first compiled."""
    rows = []
    with tempfile.TemporaryDirectory() as bytecode:
        measure(program, "", "fast", bytecode)
        for mode in ("fast", "plain"):
            with tempfile.TemporaryDirectory() as cache:
                rows.append([f"{mode}, compiled", *measure(program, cache, mode, bytecode)])
                rows.append([f"{mode}, found on disk", *measure(program, cache, mode, bytecode)])
    print(f"{title}: seconds from the start of the import")
    print(text_table(["machine code", *marks], rows))


def measure(program: str, cache: str, mode: str, bytecode: str) -> list[str]:
    settings = {"EQUIPOISE_KERNELS": cache, "EQUIPOISE_COMPILE": mode, "PYTHONPYCACHEPREFIX": bytecode}
    environment = {**os.environ, **settings}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    out = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    ).stdout
    return [f"{float(value):.2f}" for value in out.split()]


if __name__ == "__main__":
    main()
