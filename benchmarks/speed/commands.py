"""What a command costs: ``equipoise ask`` and others from a shell, each in a process of its own.

Beside them what no Python program of this kind can be quicker than: an empty process, and one that imports
NumPy and Numba. Warm means that bytecode and machine code are on disk; cold that neither is, as after an
upgrade. Both use folders of their own, so that nothing of the real ones is touched. The least of several runs
counts: whatever else the machine does only adds to it. Beside the clock stands the time of a processor, which
other programs do not make much longer.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from equipoise.core.text_tables import text_table

RUNS = 7
NUMBERS = range(100, 100 + RUNS)
FIELDS = """
formula = "1 + age + sex + age:sex"
fields.age = {kind = "number", low = 18, high = 90, center = 50, scale = 10}
fields.sex = {kind = "category", levels = ["f", "m"]}
"""
NEW = ("new", "trial", "--arms", "placebo,low,high", "--features", "fields.toml", "--budget", "10000")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "fields.toml").write_text(FIELDS)
        equipoise(place, *NEW)
        cold = cost(place, *asking(0), cache=place / "empty")
        fill(place, 50)
        told = [("-m", "equipoise", "tell", "trial", f"P-{number}", "1.5") for number in NUMBERS]
        rows = [
            ["python -c pass", *least(place, [("-c", "pass")] * RUNS)],
            ["import NumPy and Numba", *least(place, [("-c", "import numpy, numba")] * RUNS)],
            ["import equipoise", *least(place, [("-c", "import equipoise")] * RUNS)],
            ["equipoise --help", *least(place, [("-m", "equipoise", "--help")] * RUNS)],
            ["equipoise ask, warm", *least(place, [asking(number) for number in NUMBERS])],
            ["equipoise tell, warm", *least(place, told)],
            ["equipoise status, warm", *least(place, [("-m", "equipoise", "status", "trial")] * RUNS)],
            ["equipoise ask, cold: nothing compiled yet", *shown(cold)],
        ]
    print(f"seconds of a process from start to end, least of {RUNS} runs; the cold one ran once")
    print(text_table(["command", "on the clock", "of a processor"], rows))


def asking(number: int) -> tuple[str, ...]:
    """The arguments of Python that ask for a unit."""
    return ("-m", "equipoise", "ask", "trial", f"P-{number}", f"age={20 + number % 60}", "sex=f")


def fill(place: Path, units: int) -> None:
    """Give the experiment some history, and the caches what commands need."""
    lines = [f"F-{i},{20 + i % 60},{'fm'[i % 2]}" for i in range(units)]
    (place / "units.csv").write_text("\n".join(["unit,age,sex", *lines]))
    outcomes = [f"F-{i},{(7 * i % 11) / 3}" for i in range(units)]
    (place / "outcomes.csv").write_text("\n".join(["unit,outcome", *outcomes]))
    equipoise(place, "ask", "trial", "--file", "units.csv")
    equipoise(place, "tell", "trial", "--file", "outcomes.csv")
    equipoise(place, "status", "trial")


def equipoise(place: Path, *arguments: str) -> None:
    """Run a command."""
    cost(place, "-m", "equipoise", *arguments)


def least(place: Path, lines: Sequence[tuple[str, ...]]) -> tuple[str, str]:
    """The shortest of several runs, by either measure."""
    runs = [cost(place, *line) for line in lines]
    return shown((min(clock for clock, _ in runs), min(processor for _, processor in runs)))


def shown(found: tuple[float, float]) -> tuple[str, str]:
    """Seconds for people."""
    return f"{found[0]:.2f}", f"{found[1]:.2f}"


def cost(place: Path, *arguments: str, cache: Path | None = None) -> tuple[float, float]:
    """How long Python took with caches of its own: on the clock, and of a processor."""
    cache = place / "cache" if cache is None else cache
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["EQUIPOISE_KERNELS"] = str(cache / "kernels")
    environment["PYTHONPYCACHEPREFIX"] = str(cache / "bytecode")
    environment["EQUIPOISE_STORE"] = "sqlite:///trial.db"
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=place, check=True, stdout=subprocess.DEVNULL
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begin, used


if __name__ == "__main__":
    main()
