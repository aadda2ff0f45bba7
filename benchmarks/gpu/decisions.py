"""How many decisions a second a GPU makes, beside plain CUDA kernels for the same work and one core.

``--limits`` names a folder with ``limit.cu`` and ``limit2.cu``, plain kernels of Trace-UCB, which are built
with ``nvcc`` and run on the same GPU. Kernel time by the GPU's own clock, draws included.

Usage: python benchmarks/gpu/decisions.py [--limits FOLDER] [--output FILE]
"""

from __future__ import annotations

import argparse
import datetime
import re
import subprocess
import tempfile
from importlib import metadata
from pathlib import Path

import equipoise as eq
from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.text_tables import markdown_table
from equipoise.lab.gpu.driver import open_device

ARMS, UNITS = 7, 350
TRIALS = {10: 59_136, 30: 16_896}


def scenario(dim: int) -> eq.Scenario:
    return eq.GaussianScenario(
        noise=tuple(0.3 + 0.4 * i for i in range(ARMS)), dim=dim, budget=UNITS, estimator="ridge"
    )


def rate(policy: str, dim: int, device: str, trials: int) -> float:
    """Decisions a second of the device, once it is compiled."""
    eq.simulate(scenario(dim), [policy], trials=200, seed=1, device=device, workers=1)
    best = 0.0
    for _ in range(3):
        result = eq.simulate(scenario(dim), [policy], trials=trials, seed=1, device=device, workers=1)
        found = next(iter(result.policies.values()))
        best = max(best, trials * UNITS / found.seconds)
    return best


def limits(folder: Path | None) -> dict[tuple[str, int], float]:
    """Decisions a second of the plain kernels, by their file and d."""
    found: dict[tuple[str, int], float] = {}
    if folder is None:
        return found
    with tempfile.TemporaryDirectory() as where:
        for file, dim, options, arguments in (
            ("limit.cu", 10, [], [str(ARMS), "10", str(UNITS), "200000"]),
            ("limit.cu", 30, [], [str(ARMS), "30", str(UNITS), "50000"]),
            ("limit2.cu", 10, ["-DLANES=4", "-DTPB=96"], [str(UNITS), "200000"]),
            ("limit2.cu", 30, ["-DLANES=32", "-DDIM=30", "-DTPB=32"], [str(UNITS), "50000"]),
        ):
            program = f"{where}/limit"
            subprocess.run(
                ["nvcc", "-O3", "-arch=native", *options, str(folder / file), "-o", program], check=True
            )
            text = subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
            match = re.search(r"fp64.*?([0-9.e+]+) decisions/s", text)
            assert match is not None, text
            found[file, dim] = float(match[1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limits", type=Path, help="folder of limit.cu and limit2.cu")
    parser.add_argument("--output", type=Path, help="a file for the same text")
    options = parser.parse_args()
    plain, lines = limits(options.limits), []
    for dim, trials in TRIALS.items():
        for policy in ("uniform", "trace-ucb", "trace-gain"):
            there = rate(policy, dim, "cuda", trials)
            here = rate(policy, dim, "cpu", 1_000)
            beside = [
                f"{there / plain[file, dim]:.2f}" if (file, dim) in plain else "–"
                for file in ("limit.cu", "limit2.cu")
            ]
            lines.append([policy, str(dim), f"{there / 1e9:.3f}", *beside, f"{there / here:.0f}"])
    header = ["policy", "d", "10⁹ decisions/s", "of limit.cu", "of limit2.cu", "of one core"]
    device = open_device()
    text = markdown_table(header, lines)
    text += (
        f"\nm = {ARMS}, n = {UNITS}, ridge; the best of three, by the GPU's clock, draws included. "
        f"{device.name}; equipoise {eq.__version__}, numerics {NUMERICS}, Numba {metadata.version('numba')}, "
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}. "
        "Printed by `python benchmarks/gpu/decisions.py --limits FOLDER`.\n"
    )
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
