"""How fast one ask and one tell are in memory, and whether they stay so.

Prints pairs a second at m = 7, d = 10 around the 100th, 1,000th, … unit, and beside it, as a yardstick
run on the same machine, a plain NumPy implementation of the same steps (Sherman–Morrison).
"""

from __future__ import annotations

import time

import numpy as np

import equipoise as eq
from equipoise.core.text_tables import text_table
from equipoise.studies.noise import UNEQUAL

ARMS, DIM, UNITS = 7, 10, 100_000
NOISE = np.sqrt(UNEQUAL)


def measure_equipoise(contexts: np.ndarray, shocks: np.ndarray) -> list[tuple[int, float]]:
    problem = eq.Problem(ARMS, DIM, budget=UNITS, moment=np.eye(DIM))
    warm = eq.Experiment(problem, eq.TraceUCB())
    for x in contexts[:200]:
        warm.tell(warm.ask(x).id, 0.5)
    experiment = eq.Experiment(problem, eq.TraceUCB())
    rates = []
    mark, start = 0, time.perf_counter()
    for t in range(UNITS):
        assignment = experiment.ask(contexts[t])
        experiment.tell(assignment.id, shocks[t] * NOISE[problem.index(assignment.arm)])
        if t + 1 in (100, 1_000, 10_000, 50_000, 100_000):
            now = time.perf_counter()
            rates.append((t + 1, (t + 1 - mark) / (now - start)))
            mark, start = t + 1, time.perf_counter()
    return rates


def measure_numpy(contexts: np.ndarray, shocks: np.ndarray, units: int) -> float:
    inverse = np.zeros((ARMS, DIM, DIM))
    coef, rss, count = np.zeros((ARMS, DIM)), np.zeros(ARMS), np.zeros(ARMS, int)
    trace = np.zeros(ARMS)
    rows: list[list[tuple[np.ndarray, float]]] = [[] for _ in range(ARMS)]
    start = time.perf_counter()
    for t in range(units):
        x = contexts[t]
        if t < ARMS * (DIM + 1):
            i = t % ARMS
            y = shocks[t] * NOISE[i]
            rows[i].append((x, y))
            count[i] += 1
            if count[i] == DIM + 1:
                design = np.array([row[0] for row in rows[i]])
                outcomes = np.array([row[1] for row in rows[i]])
                inverse[i] = np.linalg.inv(design.T @ design)
                coef[i] = inverse[i] @ design.T @ outcomes
                rss[i] = np.sum((outcomes - design @ coef[i]) ** 2)
                trace[i] = np.trace(inverse[i])
            continue
        variance = rss / (count - DIM)
        i = int(np.argmax((variance + variance.mean() / np.sqrt(count - DIM)) * trace))
        y = shocks[t] * NOISE[i]
        g = inverse[i] @ x
        h = 1.0 + x @ g
        residual = y - x @ coef[i]
        inverse[i] -= np.outer(g, g) / h
        trace[i] -= g @ g / h
        coef[i] += g * (residual / h)
        rss[i] += residual**2 / h
        count[i] += 1
    return units / (time.perf_counter() - start)


def main() -> None:
    rng = np.random.default_rng(1)
    contexts, shocks = rng.normal(size=(UNITS, DIM)), rng.normal(size=UNITS)
    rates = measure_equipoise(contexts, shocks)
    yardstick = measure_numpy(contexts, shocks, 20_000)
    print(f"ask + tell, m = {ARMS}, d = {DIM}, trace-ucb, one core")
    rows = [[f"{unit:,}", f"{rate:,.0f}", f"{rate / yardstick:.1f}"] for unit, rate in rates]
    print(text_table(["up to unit", "pairs a second", "of plain NumPy's"], rows))
    print(f"plain NumPy without any checks or record keeping: {yardstick:,.0f} a second")


if __name__ == "__main__":
    main()
