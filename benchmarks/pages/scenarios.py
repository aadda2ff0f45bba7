"""The paper's two synthetic scenarios and how tables are written, shared by the benchmarks."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import equipoise as eq
from equipoise.core.text_tables import markdown_table
from equipoise.lab import PolicyResult
from equipoise.lab.results.words import loss_words
from equipoise.studies.noise import EQUAL, UNEQUAL

LIBRARY = f"equipoise {eq.__version__}, NUMERICS {eq.NUMERICS}"
"""What a table was computed with."""

DIM, ARMS = 10, len(EQUAL)
SCENARIOS = {"equal": EQUAL, "unequal": UNEQUAL}
BUDGETS = (115, 350)
WORST = (loss_words("expected_max"), loss_words("median_max"))
"""Headings of both losses of the worst arm."""


def simulate_all(
    specs: Sequence[str], options: argparse.Namespace
) -> Iterator[tuple[list[str], PolicyResult]]:
    """Policies on both scenarios at both budgets, each with the cells that name it."""
    for budget in BUDGETS:
        for name, noise in SCENARIOS.items():
            scenario = eq.GaussianScenario(noise=noise, dim=DIM, budget=budget, estimator="ridge")
            result = eq.simulate(scenario, specs, trials=options.trials, seed=options.seed)
            for spec, policy in result.policies.items():
                yield [name, str(budget), f"`{spec}`"], policy


def losses(policy: PolicyResult) -> list[str]:
    """Cells of the two losses of the worst arm, with their errors."""
    both = (policy.expected_max(), policy.median_max())
    return [f"{loss.value:.3f} ± {loss.stderr:.3f}" for loss in both]


def markdown(header: list[str], rows: list[list[str]], caption: str) -> str:
    return f"{markdown_table(header, rows)}\n{caption}\n"


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
