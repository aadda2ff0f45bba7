"""Writes the table that normals are read from, src/equipoise/core/draws/normal_table.npy.

``python tools/normal_table.py`` computes it with 40 digits, which takes a few seconds; the numbers are
rounded once, so every machine writes the same file. core/draws/normal.py says what they mean.
"""

from __future__ import annotations

from pathlib import Path
from statistics import NormalDist

import mpmath as mp
import numpy as np

FILE = Path(__file__).parents[1] / "src" / "equipoise" / "core" / "draws" / "normal_table.npy"
OCTAVES, PARTS, TERMS = 64, 8, 8
DIGITS = 40


def main() -> None:
    """Write the file."""
    rows = [polynomial(octave, part) for octave in range(OCTAVES) for part in range(PARTS)]
    np.save(FILE, np.array(rows, dtype="<f8"))
    print(f"{FILE.name}: {len(rows)} polynomials of {TERMS} terms")


def polynomial(octave: int, part: int) -> list[float]:
    """Coefficients of the polynomial in t that meets the quantile at Chebyshev's points of −1 ≤ t ≤ 1."""
    with mp.workdps(DIGITS):
        points = [mp.cos(mp.pi * (2 * j + 1) / (2 * TERMS)) for j in range(TERMS)]
        powers = mp.matrix([[t**j for j in range(TERMS)] for t in points])
        values = mp.matrix([quantile(tail(octave, part, t)) for t in points])
        return [float(number) for number in mp.lu_solve(powers, values)]


def tail(octave: int, part: int, t: mp.mpf) -> mp.mpf:
    """The probability that belongs to t in one part of an octave: octave 0 is [1/4, 1/2)."""
    return (1 + (part + (1 + t) / 2) / PARTS) * mp.mpf(2) ** -(octave + 2)


def quantile(probability: mp.mpf) -> mp.mpf:
    """x that a standard normal exceeds with that probability, by Newton's steps."""
    x = mp.mpf(-NormalDist().inv_cdf(float(probability)))
    step = mp.mpf(1)
    while abs(step) > mp.mpf(10) ** (4 - DIGITS):
        step = (mp.ncdf(-x) - probability) / mp.npdf(x)
        x += step
    return x


if __name__ == "__main__":
    main()
