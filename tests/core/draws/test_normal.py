"""Normals from words: exact values at exact words, and how they are distributed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from equipoise.core.arithmetic.lanes import load, store
from equipoise.core.draws.normal import SCALES, TABLE, normal_of, normals_of
from equipoise.core.jit.decorators import compiled

ALL = 2**64
# The table's promise; rounding adds less than 10⁻¹⁵ to what its polynomials miss.
CLOSE = 1e-13


@compiled
def _normals(words, target):
    for k in range(words.shape[0]):
        target[k] = normal_of(words[k])


@compiled
def _by_fours(words, target):
    for k in range(0, words.shape[0], 4):
        store(target, k, normals_of(load(words, k)))


def normals(words):
    words = np.array(words, np.uint64)
    values = np.zeros(len(words))
    _normals(words, values)
    return values


def exact(word):
    """Φ⁻¹((w + 1/2)/2⁶⁴) to 30 digits."""
    with mp.workdps(30):
        upper = word >= ALL // 2
        tail = mp.mpf(2 * (ALL - 1 - word if upper else word) + 1) / 2**65
        x = mp.mpf(stats.norm.isf(float(tail)))
        for _ in range(3):
            x += (mp.ncdf(-x) - tail) / mp.npdf(x)
        return x if upper else -x


def borders():
    """Words on both sides of every border between two polynomials of the lower half, of four bits or more."""
    for octave in range(60):
        for eighth in range(8):
            # v = 2w + 1 begins a segment.
            first = (1 << 63 - octave) + (eighth << 60 - octave)
            yield (first >> 1) - 1, first >> 1


def test_every_octave_and_both_ends():
    octaves = [1 << bit for bit in range(63)]
    lower = {0, ALL // 2 - 1, *(first + first * part // 24 for first in octaves for part in range(24))}
    words = sorted(lower | {ALL - 1 - word for word in lower})
    errors = [abs(float(exact(word) - mp.mpf(x))) for word, x in zip(words, normals(words), strict=True)]
    assert max(errors) < CLOSE


def test_the_ends_of_the_word():
    lowest, highest = normals([0, ALL - 1])
    assert lowest == pytest.approx(stats.norm.ppf(2.0**-65), rel=1e-14)
    assert highest == -lowest
    below, above = normals([ALL // 2 - 1, ALL // 2])
    assert -1e-13 < below < 1e-13
    assert above == -below


def test_halves_mirror_each_other():
    words = np.random.default_rng(1).integers(0, ALL, 100_000, np.uint64)
    assert normals(words).tolist() == (-normals(~words)).tolist()


def test_polynomials_meet_at_their_borders():
    """Neighbouring words are nearer than rounding tells: the next one may be lower by no more than 10⁻¹³."""
    below, above = (normals(words) for words in zip(*borders(), strict=True))
    assert np.all(above - below > -CLOSE)
    assert np.all(above - below < 0.1)
    # From one word in a thousand on, neighbours are far enough apart.
    far = np.array([word for _, word in borders()], np.uint64)
    step = np.maximum(far >> np.uint64(12), np.uint64(1))
    assert np.all(np.diff([normals(far - step), normals(far + step)], axis=0) > 0.0)


def test_higher_words_are_higher_normals():
    words = np.sort(np.random.default_rng(2).integers(0, ALL, 1_000_000, np.uint64))
    assert np.all(np.diff(normals(words)) > -CLOSE)


def test_all_lanes_are_alike():
    words = np.random.default_rng(3).integers(0, ALL, 4_000, np.uint64)
    together = np.zeros(len(words))
    _by_fours(words.view(float), together)
    assert together.tolist() == normals(words).tolist()


def test_normals_of_independent_words():
    """Words of NumPy's own generator. Each assertion fails for fewer than one seed in 10⁶."""
    n = 4_000_000
    values = normals(np.random.default_rng(4).integers(0, ALL, n, np.uint64))
    assert stats.kstest(values, "norm").pvalue > 1e-6
    # E[x^k] = (k−1)!! with variance (2k−1)!! − (k−1)!!². 8 moments, each at 6 standard errors.
    moments = [1.0, 0.0]
    for k in range(2, 17):
        moments.append(moments[k - 2] * (k - 1))
    power = np.ones(n)
    for k in range(1, 9):
        power *= values
        assert abs(np.mean(power) - moments[k]) < 6 * np.sqrt((moments[2 * k] - moments[k] ** 2) / n), k
    tail = np.abs(values[np.abs(values) > 3.5])
    assert stats.kstest(stats.norm.sf(tail) / stats.norm.sf(3.5), "uniform").pvalue > 1e-6
    # As many words in every segment as there should be: octave o has 2^−(o+1) of them.
    edges = [*sorted({-abs(float(x)) for x in normals([word for _, word in borders()])}), 0.0]
    edges = [edge for edge in edges if edge > -3.7]
    counts, _ = np.histogram(-np.abs(values), [-np.inf, *edges])
    expected = n * 2.0 * np.diff([0.0, *stats.norm.cdf(edges)])
    assert np.all(expected > 20)
    assert stats.chi2.sf(np.sum((counts - expected) ** 2 / expected), len(counts) - 1) > 1e-6


def test_the_table_is_what_its_tool_writes():
    path = Path(__file__).parents[3] / "tools" / "normal_table.py"
    spec = importlib.util.spec_from_file_location("normal_table", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert TABLE.shape == (tool.OCTAVES * tool.PARTS, tool.TERMS)
    for octave, part in [(0, 0), (0, 7), (1, 3), (5, 5), (20, 0), (40, 2), (63, 7)]:
        row = TABLE[octave * tool.PARTS + part] / SCALES
        assert row.tolist() == tool.polynomial(octave, part)
