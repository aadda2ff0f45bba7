"""What a command costs: ``equipoise ask`` and others from a shell, each in a process of its own.

Beside them what no Python program of this kind can be quicker than: an empty process, and one that imports
NumPy and Numba. Warm means that bytecode and machine code are on disk; cold that neither is, as after an
upgrade. Both use folders of their own, so that nothing of the real ones is touched. The least of several runs
counts: whatever else the machine does only adds to it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from equipoise.core.text_tables import text_table

RUNS = 7
FIELDS = """
formula = "1 + age + sex + age:sex"
[fields.age]
kind = "number"
low = 18
high = 90
center = 50
scale = 10
[fields.sex]
kind = "category"
levels = ["f", "m"]
"""
NEW = ("new", "trial", "--arms", "placebo,low,high", "--features", "fields.toml", "--budget", "10000")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "fields.toml").write_text(FIELDS)
        equipoise(place, *NEW)
        cold = seconds(place, *asking(0), cache=place / "empty")
        fill(place, 50)
        rows = [
            ["python -c pass", f"{least(place, '-c', 'pass'):.2f}"],
            ["import NumPy and Numba", f"{least(place, '-c', 'import numpy, numba'):.2f}"],
            ["import equipoise", f"{least(place, '-c', 'import equipoise'):.2f}"],
            ["equipoise --help", f"{least(place, '-m', 'equipoise', '--help'):.2f}"],
        ]
        waits = [seconds(place, *asking(number)) for number in range(100, 100 + RUNS)]
        rows.append(["equipoise ask, warm", f"{min(waits):.2f}"])
        waits = [
            seconds(place, "-m", "equipoise", "tell", "trial", f"P-{number}", "1.5")
            for number in range(100, 100 + RUNS)
        ]
        rows.append(["equipoise tell, warm", f"{min(waits):.2f}"])
        rows.append(["equipoise status, warm", f"{least(place, '-m', 'equipoise', 'status', 'trial'):.2f}"])
        rows.append(["equipoise ask, cold: nothing compiled yet", f"{cold:.2f}"])
    print(f"seconds from start to end of a process, least of {RUNS} runs; the cold one ran once")
    print(text_table(["command", "seconds"], rows))


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
    seconds(place, "-m", "equipoise", *arguments)


def least(place: Path, *arguments: str) -> float:
    """The shortest of several runs."""
    return min(seconds(place, *arguments) for _ in range(RUNS))


def seconds(place: Path, *arguments: str, cache: Path | None = None) -> float:
    """How long Python took, with caches of its own."""
    cache = place / "cache" if cache is None else cache
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {
        "EQUIPOISE_KERNELS": str(cache / "kernels"),
        "PYTHONPYCACHEPREFIX": str(cache / "bytecode"),
    }
    environment["EQUIPOISE_STORE"] = "sqlite:///trial.db"
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=place, check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
