"""Counter-based streams: Philox to the bit, normals and gammas by their distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from equipoise.core.draws import streams as streams
from equipoise.core.draws.streams import (
    CONTEXT,
    DELAY,
    LOSS,
    NOISE,
    TRUTH,
    gamma,
    new_stream,
    normal,
    start,
    uniform,
)
from equipoise.core.jit.decorators import compiled

PURPOSES = (CONTEXT, NOISE, TRUTH, DELAY, LOSS)
WORD, UNIFORM, NORMAL, GAMMA = range(4)
# Every test of a distribution below fails for fewer than one seed in 10⁶, if the code is right.
RARE = 1e-6


@compiled
def _draw(stream, what, shape, target):
    for k in range(target.shape[0]):
        if what == UNIFORM:
            target[k] = uniform(stream)
        elif what == NORMAL:
            target[k] = normal(stream)
        else:
            target[k] = gamma(stream, shape)


@compiled
def _words(stream, target):
    for k in range(target.shape[0]):
        target[k] = streams.word(stream)


@compiled
def _start(stream, seed, trial, purpose, first, second):
    start(stream, seed, trial, purpose, first, second)


def stream_of(seed=1, trial=0, purpose=CONTEXT, first=0, second=0):
    stream = new_stream()
    _start(stream, seed, trial, purpose, first, second)
    return stream


def words(count, **address):
    values = np.zeros(count, np.uint64)
    _words(stream_of(**address), values)
    return values


def draws(what, count, shape=1.0, **address):
    values = np.zeros(count)
    _draw(stream_of(**address), what, shape, values)
    return values


@pytest.mark.parametrize(
    ("seed", "trial", "purpose", "first", "second"),
    [(0, 0, 0, 0, 0), (7, 17_312, NOISE, 3, 2), (2**63 - 1, 2**40, LOSS, 10**9, 10**6)],
)
def test_words_are_numpys_philox(seed, trial, purpose, first, second):
    expected = np.random.Philox(counter=[0, first, second, trial], key=[seed, purpose]).random_raw(41)
    got = words(41, seed=seed, trial=trial, purpose=purpose, first=first, second=second)
    assert got.tolist() == expected.tolist()


def test_starting_again_gives_the_same_words():
    stream = stream_of(trial=5)
    once, again = np.zeros(7, np.uint64), np.zeros(7, np.uint64)
    _words(stream, once)
    _start(stream, 1, 5, CONTEXT, 0, 0)
    _words(stream, again)
    assert once.tolist() == again.tolist()


def test_addresses_do_not_share_words():
    """Neighbours in seed, trial, purpose and both indices: not one word in common."""
    addresses = [
        {"seed": seed, "trial": trial, "purpose": purpose, "first": first, "second": second}
        for seed in (0, 1)
        for trial in (0, 1, 2)
        for purpose in PURPOSES
        for first in (0, 1, 2)
        for second in (0, 1, 2)
    ]
    seen = np.concatenate([words(50, **address) for address in addresses])
    # 13,500 words of 64 bits: two random ones agree with a chance of 5·10⁻¹².
    assert len(np.unique(seen)) == len(seen)


@pytest.mark.parametrize(
    "other", [{"seed": 2}, {"trial": 1}, {"purpose": NOISE}, {"first": 1}, {"second": 1}], ids=str
)
def test_addresses_do_not_correlate(other):
    n = 200_000
    one, two = draws(NORMAL, n), draws(NORMAL, n, **other)
    # √n·r is standard normal: 5 fails for one seed in 1.7·10⁶.
    assert abs(np.corrcoef(one, two)[0, 1]) * np.sqrt(n) < 5
    assert abs(np.corrcoef(one**2, two**2)[0, 1]) * np.sqrt(n) < 5


def test_first_draws_of_many_addresses_are_independent_normals():
    """What trials use: a few draws from each of very many streams."""
    first = np.concatenate(
        [draws(NORMAL, 2, trial=trial, first=t) for trial in range(200) for t in range(50)]
    )
    assert stats.kstest(first, "norm").pvalue > RARE
    assert abs(np.corrcoef(first[:-1], first[1:])[0, 1]) * np.sqrt(len(first)) < 5


@pytest.mark.parametrize("bits", [0, 2**64 - 1, 2**63, 1, 2**11 - 1])
def test_uniform_is_never_0_or_1(bits):
    stream = new_stream()
    stream[:4] = bits  # four words ready to be read, whatever the counter would give
    value = np.zeros(1)
    _draw(stream, UNIFORM, 1.0, value)
    assert 0.0 < value[0] < 1.0
    assert abs(value[0] - bits / 2**64) < 2.0**-51


def test_uniform_is_uniform():
    values = draws(UNIFORM, 1_000_000, seed=2)
    assert stats.kstest(values, "uniform").pvalue > RARE
    assert len(np.unique(values)) == len(values)


def test_normals_are_normal():
    n = 4_000_000
    values = draws(NORMAL, n, seed=3)
    assert stats.kstest(values, "norm").pvalue > RARE
    # Moments E[x^k] = (k−1)!! with variance (2k−1)!! − (k−1)!!². 8 of them at 6 standard errors.
    moments = [1.0]
    power = np.ones(n)
    for k in range(1, 17):
        moments.append(moments[k - 2] * (k - 1) if k % 2 == 0 else 0.0)
    for k in range(1, 9):
        power *= values
        assert abs(np.mean(power) - moments[k]) < 6 * np.sqrt((moments[2 * k] - moments[k] ** 2) / n), k


def test_every_layer_of_the_ziggurat_joins_the_next():
    """A bin for every layer edge, and the tail: a wrong edge, height or tail would show here."""
    n = 4_000_000
    values = np.abs(draws(NORMAL, n, seed=4))
    edges = np.unique(np.concatenate([[0.0, np.inf, 3.8, 4.2], streams._WIDTHS[1:] * streams._MANTISSA]))
    counts, _ = np.histogram(values, edges)
    expected = n * 2 * np.diff(stats.norm.cdf(edges))
    assert np.all(expected > 20)
    statistic = np.sum((counts - expected) ** 2 / expected)
    assert stats.chi2.sf(statistic, len(counts) - 1) > RARE


def test_the_tail_beyond_the_ziggurat():
    values = np.abs(draws(NORMAL, 4_000_000, seed=4))
    tail = values[values > streams._TAIL]
    # 1,032 are expected; 6 standard deviations of that count are 193.
    assert abs(len(tail) - 8_000_000 * stats.norm.sf(streams._TAIL)) < 193
    assert stats.kstest(stats.norm.sf(tail) / stats.norm.sf(streams._TAIL), "uniform").pvalue > RARE


def test_both_signs_and_sizes_are_independent():
    values = draws(NORMAL, 1_000_000, seed=5)
    # Sign and size come from the same word, neighbours from neighbouring words; 5 standard errors.
    assert abs(np.corrcoef(np.sign(values), np.abs(values))[0, 1]) < 5e-3
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 5e-3


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 1.5, 2.5, 40.0])
def test_gammas_are_gamma(shape):
    values = draws(GAMMA, 300_000, shape=shape, seed=6)
    assert stats.kstest(values, stats.gamma(shape).cdf).pvalue > RARE
    # Mean and variance k; the fourth central moment is 3k² + 6k. 6 standard errors each.
    n = len(values)
    assert abs(values.mean() - shape) < 6 * np.sqrt(shape / n)
    assert abs(values.var() - shape) < 6 * np.sqrt((2 * shape**2 + 6 * shape) / n)
