"""The yardstick: Trace-UCB trials as a C program, built with the machine's compiler and run apart."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from equipoise.core.draws.normal import TABLE

SOURCE = Path(__file__).with_name("trace_ucb.c")


@dataclass(frozen=True)
class Outcome:
    """What one run of the program printed."""

    trials: int
    decisions: int
    seconds: float
    decisions_per_second: float
    pulls: list[float]
    expected_max: float


def has_compiler() -> bool:
    """Whether the program can be built here."""
    return shutil.which("gcc") is not None


def build(folder: Path) -> Path:
    """Compile the program into ``folder``, as fast as the compiler makes it without breaking IEEE rules."""
    return compile_with(["-O3", "-march=native"], folder)


def build_limit(source: Path, folder: Path) -> Path:
    """Compile a program of somebody else's, as fast as the compiler makes it whatever rules that breaks."""
    program = folder / "limit"
    flags = ["-O3", "-march=native", "-ffast-math"]
    subprocess.run(["gcc", *flags, "-o", program, source, "-lm"], check=True)
    return program


def run_limit(program: Path, arms: int, dim: int, budget: int, trials: int) -> float:
    """Decisions a second of that program, which prints the nanoseconds of one first."""
    numbers = map(str, (arms, dim, budget, trials))
    out = subprocess.run([program, *numbers], capture_output=True, text=True, check=True).stdout
    return 1e9 / float(out.split()[0])


def compile_with(flags: Sequence[str], folder: Path) -> Path:
    """Compile the program with some flags, together with the package's table of normals."""
    rows = ",\n".join("{" + ", ".join(value.hex() for value in row) + "}" for row in TABLE.tolist())
    shape = "".join(f"[{length}]" for length in TABLE.shape)
    header = f"static const double normal_table{shape} = {{\n{rows}}};\n"
    (folder / "normal_table.h").write_text(header)
    program = folder / "trace_ucb"
    subprocess.run(["gcc", *flags, "-I", folder, "-o", program, SOURCE, "-lm"], check=True)
    return program


def run(
    program: Path,
    *,
    dim: int,
    budget: int,
    noise: Sequence[float],
    trials: int,
    seed: int,
    keys: Sequence[int] = (),
) -> Outcome:
    """Run trials with one arm for every noise variance; ``keys`` stand for the arms' names."""
    numbers = [len(noise), dim, budget, trials, seed, *noise, *keys]
    out = subprocess.run([program, *map(str, numbers)], capture_output=True, text=True, check=True).stdout
    values = {name: rest.split() for name, _, rest in (line.partition(" ") for line in out.splitlines())}
    return Outcome(
        trials=int(values["trials"][0]),
        decisions=int(values["decisions"][0]),
        seconds=float(values["seconds"][0]),
        decisions_per_second=float(values["decisions_per_second"][0]),
        pulls=[float(value) for value in values["pulls"]],
        expected_max=float(values["expected_max"][0]),
    )
