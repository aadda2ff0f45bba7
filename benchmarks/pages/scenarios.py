"""The paper's two synthetic scenarios, shared by the benchmarks."""

from __future__ import annotations

import argparse
from pathlib import Path

import equipoise as eq

DIM, ARMS = 10, 7
SCENARIOS = {"equal": (1.0,) * ARMS, "unequal": (0.01, 0.02, 0.75, 1.0, 2.0, 2.0, 3.0)}


def scenario(name: str, budget: int) -> eq.Scenario:
    return eq.GaussianScenario(noise=SCENARIOS[name], dim=DIM, budget=budget)


def markdown(header: list[str], rows: list[list[str]], caption: str) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + f"\n\n{caption}\n"


def arguments(description: str | None, trials: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--trials", type=int, default=trials)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    return parser.parse_args()


def show(table: str, target: Path | None) -> None:
    print(table)
    if target is not None:
        target.write_text(table)
