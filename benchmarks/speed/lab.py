"""How fast simulated trials are on one core, beside a plain C program that does the same.

The C program (yardstick/trace_ucb.c) draws the same random numbers, makes the same decisions and judges
the same estimates, but serves this one policy only, keeps fewer digits and has no intervals to judge.
Runs of both alternate, because a busy machine slows whole stretches of time.

    python benchmarks/speed/lab.py [--limit FILE.c]

``--limit`` measures another C program beside them, built with ``-O3 -march=native -ffast-math``: one that
takes arms, features, budget and trials, and prints the nanoseconds of a decision first.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yardstick
from equipoise.core.text_tables import text_table
from equipoise.lab.running.timing import decisions_per_second
from equipoise.studies.noise import UNEQUAL

NOISE = list(UNEQUAL)  # the paper's unequal arms, repeated where more are needed
REPEATS, MORE_REPEATS, SECONDS_A_RUN, SEED = 5, 25, 0.25, 1


@dataclass(frozen=True)
class Size:
    """How large a trial is."""

    arms: int
    dim: int
    budget: int

    @property
    def noise(self) -> list[float]:
        """Variances of the arms."""
        return [NOISE[i % len(NOISE)] for i in range(self.arms)]


@dataclass(frozen=True)
class Speed:
    """Decisions a second in every repeat; of programs that are not there, none."""

    package: list[float]
    plain: list[float]
    limit: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--limit", type=Path, metavar="FILE.c", help="a C program to compare with")
    source = parser.parse_args().limit
    with tempfile.TemporaryDirectory() as folder:
        program = yardstick.build(Path(folder)) if yardstick.has_compiler() else None
        if program is None:
            print("no gcc here: the package is measured alone\n")
        limit = yardstick.build_limit(source, Path(folder)) if program is not None and source else None
        print_speed(Size(7, 10, 350), program, limit)
        print_scaling("more arms", [Size(arms, 10, 33 * arms) for arms in (7, 70, 700)], program)
        print_scaling("more features", [Size(7, dim, 21 * (dim + 1)) for dim in (5, 10, 20, 40, 80)], program)
        print_looking([Size(7, 10, 350), Size(70, 10, 2310), Size(7, 40, 861)])


def print_speed(size: Size, program: Path | None, limit: Path | None) -> None:
    """Decisions a second at one size, best and median."""
    speed = measure(size, program, limit)
    rows = [["equipoise", *_best_and_median(speed.package, ",.0f")]]
    for name, others in (("plain C", speed.plain), ("limit", speed.limit)):
        if others:
            rows.append([name, *_best_and_median(others, ",.0f")])
            ratios = [ours / theirs for ours, theirs in zip(speed.package, others, strict=True)]
            best = max(speed.package) / max(others)
            rows.append([f"equipoise / {name}", f"{best:.2f}", f"{statistics.median(ratios):.2f}"])
    print(f"trace-ucb, m = {size.arms}, d = {size.dim}, n = {size.budget}, one core")
    print(text_table(["decisions a second", "best", "median"], rows), end="\n\n")


def print_scaling(title: str, sizes: Sequence[Size], program: Path | None) -> None:
    """Nanoseconds a decision over sizes, at best."""
    rows = []
    for size in sizes:
        speed = measure(size, program)
        row = [f"{size.arms}", f"{size.dim}", f"{size.budget}", f"{1e9 / max(speed.package):,.0f}"]
        if speed.plain:
            row += [f"{1e9 / max(speed.plain):,.0f}", f"{max(speed.package) / max(speed.plain):.2f}"]
        rows.append(row)
    header = ["m", "d", "n", "equipoise", *(["plain C", "equipoise / plain C"] if program else [])]
    print(f"{title}: nanoseconds a decision, and the ratio of speeds")
    print(text_table(header, rows), end="\n\n")


def print_looking(sizes: Sequence[Size]) -> None:
    """What it costs to look at the context, beside a policy that does not."""
    rows = []
    for size in sizes:
        trials = max(1, round(SECONDS_A_RUN * package_rate(size, 1, "trace-gain") / size.budget))
        blind, looking = (
            max(package_rate(size, trials, policy) for _ in range(REPEATS))
            for policy in ("trace-ucb", "trace-gain")
        )
        nanoseconds = [f"{1e9 / rate:,.0f}" for rate in (blind, looking)]
        rows.append([f"{size.arms}", f"{size.dim}", f"{size.budget}", *nanoseconds, f"{blind / looking:.1f}"])
    print("looking at the context: nanoseconds a decision, and the ratio of times")
    print(text_table(["m", "d", "n", "trace-ucb", "trace-gain", "trace-gain / trace-ucb"], rows), end="\n\n")


def measure(size: Size, program: Path | None, limit: Path | None = None) -> Speed:
    """Run package and programs in turns, each run about as long."""
    package_rate(size, 1)
    trials = max(1, round(SECONDS_A_RUN * package_rate(size, 1) / size.budget))
    speed = Speed([], [], [])
    for _ in range(REPEATS if limit is None else MORE_REPEATS):
        speed.package.append(package_rate(size, trials))
        if program is not None:
            speed.plain.append(plain_rate(size, trials, program))
        if limit is not None:
            speed.limit.append(yardstick.run_limit(limit, size.arms, size.dim, size.budget, trials))
    return speed


def package_rate(size: Size, trials: int, policy: str = "trace-ucb") -> float:
    return decisions_per_second(
        arms=size.arms,
        dim=size.dim,
        budget=size.budget,
        noise=size.noise,
        trials=trials,
        seed=SEED,
        policy=policy,
    )


def plain_rate(size: Size, trials: int, program: Path) -> float:
    return yardstick.run(
        program, dim=size.dim, budget=size.budget, noise=size.noise, trials=trials, seed=SEED
    ).decisions_per_second


def _best_and_median(rates: Sequence[float], form: str) -> list[str]:
    return [format(max(rates), form), format(statistics.median(rates), form)]


if __name__ == "__main__":
    main()
