"""How many instructions warps of a GPU execute a decision: counted without one, and not timed.

An emulated GPU (``tests/helpers/emulation``) runs the very programs in PTX and counts what each of their
blocks does. A driver makes machine instructions of them: divisions and roots become many, many moves none.
``ptxas``, if it is there, says how many registers they take. What warps wait for is not counted:
``counters.py`` asks a GPU.

Usage: python benchmarks/gpu/instructions.py [--output FILE]
"""

from __future__ import annotations

import argparse
import datetime
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from importlib import metadata
from pathlib import Path

import equipoise as eq
from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.text_tables import markdown_table

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "helpers"))

from emulation.assembly import Instruction, parse  # type: ignore[import-not-found]
from emulation.device import emulated_gpu  # type: ignore[import-not-found]
from emulation.programs import Counts, EmulatedProgram  # type: ignore[import-not-found]

ARMS, UNITS = 7, 350
TRIALS = 32
CASES = [("trace-ucb", 10), ("trace-gain", 10), ("trace-ucb", 30)]
KINDS = (
    *("double precision", "divisions and roots", "near memory", "far memory", "constants and stack"),
    *("shuffles", "votes and waits", "whole numbers", "moves", "branches"),
)


def kind_of(instruction: Instruction) -> str:
    """One of :data:`KINDS`."""
    name, *parts = instruction.opcode.split(".")
    if name in ("ld", "st"):
        return {"shared": "near memory", "global": "far memory"}.get(parts[0], "constants and stack")
    if name in ("div", "sqrt", "rcp") and parts[-1] == "f64":
        return "divisions and roots"
    if name in ("mov", "cvta"):
        return "moves"
    if name == "shfl":
        return "shuffles"
    if name in ("vote", "bar"):
        return "votes and waits"
    if name in ("bra", "call", "ret", "exit"):
        return "branches"
    if name == "prefetch":
        return "far memory"
    return "double precision" if "f64" in parts and name != "selp" else "whole numbers"


class Done:
    """What a program did for so many decisions."""

    def __init__(self, program: EmulatedProgram, counts: Counts, decisions: int) -> None:
        blocks = [block for f in parse(program.ptx).functions.values() for block in f.blocks]
        self._counts, self._decisions = counts, decisions
        self.kinds: Counter[str] = Counter()
        threads = 0
        for block, times, by in zip(blocks, counts.times.tolist(), counts.threads.tolist(), strict=True):
            for instruction in block.instructions:
                self.kinds[kind_of(instruction)] += times
            threads += by * len(block.instructions)
        self.threads = threads / max(self.kinds.total(), 1)

    def rows(self) -> dict[str, str]:
        """What the table shows of it, a decision."""
        counts = self._counts
        found = {"warp instructions": self._each(self.kinds.total())}
        found |= {f"… {kind}": self._each(self.kinds[kind]) for kind in KINDS}
        return found | {
            "sectors of far memory (32 bytes)": self._each(counts.sectors),
            "lines of far memory (128 bytes)": self._each(counts.lines),
            "turns of banks, a near access": f"{counts.near_turns / max(counts.near_accesses, 1):.2f}",
            "threads at work, a warp instruction": f"{self.threads:.1f}",
        }

    def _each(self, count: int) -> str:
        return f"{count / self._decisions:.1f}"


def registers(ptx: str) -> dict[str, str]:
    """What ``ptxas`` says of a program."""
    if shutil.which("ptxas") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "program.ptx"
        source.write_text(ptx)
        command = ["ptxas", "-arch=sm_90", "-v", str(source), "-o", f"{folder}/program.cubin"]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    spilled = sum(map(int, re.findall(r"(\d+) bytes spill", said)))
    return {"registers a thread": re.findall(r"Used (\d+) registers", said)[0], "bytes spilled": str(spilled)}


def counted(policy: str, dim: int) -> tuple[list[Done], str]:
    """Draws, forced starts, units after them, elasticities, judgements; and the program of trials."""
    scenario = eq.GaussianScenario(
        noise=tuple(0.3 + 0.4 * i for i in range(ARMS)), dim=dim, budget=UNITS, estimator="ridge"
    )
    forced = ARMS * (dim + 1)
    with emulated_gpu(counted=True) as device:
        found = []
        for units in (forced, UNITS):
            eq.simulate(
                scenario.replace(budget=units), [policy], trials=TRIALS, seed=1, device="cuda", workers=1
            )
            found.append([program.counts() for program in device.programs])
        draws, *opening, trials, measured, judged = device.programs
    first, both = found
    whole = [two - one for one, two in zip(first, both, strict=True)]
    each = (
        Done(draws, whole[0], TRIALS * UNITS),
        Done(opening[0] if opening else trials, first[1], TRIALS * forced),
        Done(trials, whole[-3] if opening else whole[-3] - first[-3], TRIALS * (UNITS - forced)),
        Done(measured, whole[-2], TRIALS * UNITS),
        Done(judged, whole[-1], TRIALS * UNITS),
    )
    return list(each), trials.ptx


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, help="a file for the same text")
    options = parser.parse_args()
    columns, header = [], [""]
    for policy, dim in CASES:
        (draws, start, after, measured, judged), ptx = counted(policy, dim)
        for what, part in (("forced start", start), ("after it", after)):
            header.append(f"{policy}, d = {dim}, {what}")
            columns.append(part.rows() | registers(ptx))
        others = {
            "… to draw a unit": draws,
            "… for elasticities, a unit": measured,
            "… to judge, a unit": judged,
        }
        for what, part in others.items():
            columns[-1][what] = part.rows()["warp instructions"]
    rows = [[what, *(column.get(what, "") for column in columns)] for what in columns[-1]]
    text = markdown_table(header, rows)
    text += (
        "\nWarp instructions of PTX a decision, counted on an emulated GPU and not timed: "
        f"m = {ARMS}, n = {UNITS}, {TRIALS} trials, ridge. Equipoise {eq.__version__}, numerics {NUMERICS}, "
        f"Numba {metadata.version('numba')}, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}. "
        "Printed by `python benchmarks/gpu/instructions.py`.\n"
    )
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
