"""How fast the written logarithm, exponential and power are, beside those of the machine's C library.

Prints nanoseconds a call in a compiled loop over 4,096 numbers, the best of many rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arithmetic.logarithm import log, log1p
from equipoise.core.arithmetic.power import power
from equipoise.core.arrays import Vector
from equipoise.core.jit.decorators import compiled
from equipoise.core.text_tables import text_table

NUMBERS, ROUNDS = 4096, 400


@compiled
def _written_log(x: Vector, out: Vector) -> None:
    for i in range(x.shape[0]):
        out[i] = log(x[i])


@compiled
def _library_log(x: Vector, out: Vector) -> None:
    for i in range(x.shape[0]):
        out[i] = np.log(x[i])


@compiled
def _written_log1p(x: Vector, out: Vector) -> None:
    for i in range(x.shape[0]):
        out[i] = log1p(x[i])


@compiled
def _library_log1p(x: Vector, out: Vector) -> None:
    for i in range(x.shape[0]):
        out[i] = np.log1p(x[i])


@compiled
def _written_exp(x: Vector, out: Vector) -> None:
    for i in range(x.shape[0]):
        out[i] = exp(x[i])


@compiled
def _library_exp(x: Vector, out: Vector) -> None:
    for i in range(x.shape[0]):
        out[i] = np.exp(x[i])


@compiled
def _written_power(x: Vector, out: Vector) -> None:
    for i in range(x.shape[0]):
        out[i] = power(x[i], 0.7)


@compiled
def _library_power(x: Vector, out: Vector) -> None:
    for i in range(x.shape[0]):
        out[i] = x[i] ** 0.7


def nanoseconds(loop: Callable[[Vector, Vector], None], x: Vector) -> float:
    out = np.empty_like(x)
    loop(x, out)
    best = np.inf
    for _ in range(ROUNDS):
        start = time.perf_counter()
        loop(x, out)
        best = min(best, time.perf_counter() - start)
    return float(best) / len(x) * 1e9


def main() -> None:
    rng = np.random.default_rng(1)
    positive, any_sign = np.exp(rng.normal(size=NUMBERS) * 3.0), rng.normal(size=NUMBERS) * 3.0
    pairs: list[tuple[str, Any, Any, Vector]] = [
        ("log", _written_log, _library_log, positive),
        ("log1p", _written_log1p, _library_log1p, positive),
        ("exp", _written_exp, _library_exp, any_sign),
        ("power", _written_power, _library_power, positive),
    ]
    rows = []
    for name, written, library, x in pairs:
        ours, theirs = nanoseconds(written, x), nanoseconds(library, x)
        rows.append([name, f"{ours:.1f}", f"{theirs:.1f}", f"{ours / theirs:.2f}"])
    print(text_table(["function", "written, ns", "C library, ns", "ratio"], rows))


if __name__ == "__main__":
    main()
