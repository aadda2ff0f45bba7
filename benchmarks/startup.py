"""How long it takes from importing the package to the first decision, cold and warm.

Cold means that no machine code is cached; an empty cache folder is used, the real one is untouched.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from equipoise.core.tables import text_table

FIRST_DECISION = """
import time
start = time.perf_counter()
import numpy as np
import equipoise as eq
imported = time.perf_counter()
experiment = eq.Experiment(eq.Problem(7, 10, 350, np.eye(10)), eq.TraceUCB())
assignment = experiment.ask(np.ones(10))
decided = time.perf_counter()
experiment.tell(assignment.id, 1.0)
print(imported - start, decided - start, time.perf_counter() - start)
"""


def measure(cache: str) -> list[str]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    out = subprocess.run(
        [sys.executable, "-c", FIRST_DECISION], env=environment, capture_output=True, text=True, check=True
    ).stdout
    return [f"{float(value):.2f}" for value in out.split()]


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        cold, warm = measure(cache), measure(cache)
    print("seconds from the start of the import")
    header = ["machine code", "imported", "first decision", "first outcome"]
    print(text_table(header, [["not cached", *cold], ["cached", *warm]]))


if __name__ == "__main__":
    main()
