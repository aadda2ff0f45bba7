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
    SHAPE,
    TRUTH,
    fill_normals,
    gamma,
    new_stream,
    normal,
    start,
    uniform,
)
from equipoise.core.jit.decorators import compiled

PURPOSES = (CONTEXT, NOISE, TRUTH, DELAY, LOSS, SHAPE)
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
def _fill(address, block, target, row, column):
    fill_normals(address, block, target, row, column)


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
    # 16,200 words of 64 bits: two random ones agree with a chance of 7·10⁻¹².
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


def philox(rounds, key, counter):
    """The paper's definition, in Python's whole numbers."""
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(rounds):
        product0, product1 = 0xD2E7470EE14C6C93 * c0, 0xCA5A826395121157 * c2
        c0, c1, c2, c3 = (
            product1 >> 64 ^ c1 ^ k0,
            product1 % 2**64,
            product0 >> 64 ^ c3 ^ k1,
            product0 % 2**64,
        )
        k0, k1 = (k0 + 0x9E3779B97F4A7C15) % 2**64, (k1 + 0xBB67AE8584CAA73B) % 2**64
    return [c0, c1, c2, c3]


def filled(shape=(1, 10), block=0, row=0, column=0, seed=1, trial=0, purpose=CONTEXT, first=0, second=0):
    target = np.full(shape, np.nan)
    _fill((seed, trial, purpose, first, second), block, target, row, column)
    return target


def test_the_reference_is_numpys():
    expected = np.random.Philox(counter=[4, 3, 2, 1], key=[7, 6]).random_raw(4)
    assert philox(10, (7, 6), (5, 3, 2, 1)) == expected.tolist()


@pytest.mark.parametrize(
    ("seed", "trial", "purpose", "first", "second"),
    [(0, 0, 0, 0, 0), (7, 17_312, NOISE, 3, 2), (2**63 - 1, 2**40, LOSS, 10**9, 10**6)],
)
def test_normals_are_those_of_philox_with_seven_rounds(seed, trial, purpose, first, second):
    got = filled((1, 11), seed=seed, trial=trial, purpose=purpose, first=first, second=second)
    words = [
        word for block in range(3) for word in philox(7, (seed, purpose), (block + 1, first, second, trial))
    ]
    # Φ⁻¹((w + 1/2)/2⁶⁴), here by the upper tail, where floats do not end at 1.
    tails = np.array([float(2 * min(word, 2**64 - 1 - word) + 1) for word in words]) / 2.0**65
    signs = np.array([1.0 if word >> 63 else -1.0 for word in words])
    np.testing.assert_allclose(got[0], (signs * stats.norm.isf(tails))[:11], rtol=0, atol=1e-12)


@pytest.mark.parametrize("columns", range(1, 14))
@pytest.mark.parametrize("column", [0, 1, 3])
def test_a_row_is_filled_and_nothing_else(columns, column):
    target = filled((3, columns), row=1, column=column)
    written = np.zeros((3, columns), bool)
    written[1, column:] = True
    assert np.array_equal(np.isfinite(target), written)
    assert target[1, column:].tolist() == filled((1, 20))[0, : max(columns - column, 0)].tolist()


def test_a_normal_depends_on_its_own_address_alone():
    whole = filled((1, 40))[0]
    for block in range(10):
        assert filled((1, 4), block=block)[0].tolist() == whole[4 * block : 4 * block + 4].tolist()


def test_normals_are_normal():
    n = 4_000_000
    values = filled((1, n), seed=3)[0]
    assert stats.kstest(values, "norm").pvalue > RARE
    # Moments E[x^k] = (k−1)!! with variance (2k−1)!! − (k−1)!!². 8 of them at 6 standard errors.
    moments = [1.0]
    power = np.ones(n)
    for k in range(1, 17):
        moments.append(moments[k - 2] * (k - 1) if k % 2 == 0 else 0.0)
    for k in range(1, 9):
        power *= values
        assert abs(np.mean(power) - moments[k]) < 6 * np.sqrt((moments[2 * k] - moments[k] ** 2) / n), k


def test_neighbouring_normals_do_not_correlate():
    """Next to each other in a block, a row, a column, a trial: 5 standard errors fail for 1 in 1.7·10⁶."""
    rows = np.concatenate([filled((1, 8), trial=trial, first=t) for trial in range(300) for t in range(100)])
    cube = rows.reshape(300, 100, 8)
    pairs = {
        "word": (cube[:, :, :-1], cube[:, :, 1:]),
        "block": (cube[:, :, :4], cube[:, :, 4:]),
        "row": (cube[:, :-1], cube[:, 1:]),
        "trial": (cube[:-1], cube[1:]),
    }
    for name, (one, other) in pairs.items():
        for power in (1, 2):
            r = np.corrcoef(one.ravel() ** power, other.ravel() ** power)[0, 1]
            assert abs(r) * np.sqrt(one.size) < 5, (name, power)


def test_both_signs_and_sizes_are_independent():
    values = filled((1, 1_000_000), seed=5)[0]
    # Sign and size come from the same word; 5 standard errors.
    assert abs(np.corrcoef(np.sign(values), np.abs(values))[0, 1]) < 5e-3


def test_streams_give_normals_word_by_word():
    """One normal a word, so that the draws after it do not depend on it."""
    stream, value = stream_of(seed=9), np.zeros(1)
    expected = words(3, seed=9)
    _draw(stream, NORMAL, 1.0, value)
    rest = np.zeros(2, np.uint64)
    _words(stream, rest)
    assert rest.tolist() == expected[1:].tolist()
    share = (int(expected[0]) + 0.5) / 2**64
    assert value[0] == pytest.approx(stats.norm.ppf(share), abs=1e-12)


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 1.5, 2.5, 40.0])
def test_gammas_are_gamma(shape):
    values = draws(GAMMA, 300_000, shape=shape, seed=6)
    assert stats.kstest(values, stats.gamma(shape).cdf).pvalue > RARE
    # Mean and variance k; the fourth central moment is 3k² + 6k. 6 standard errors each.
    n = len(values)
    assert abs(values.mean() - shape) < 6 * np.sqrt(shape / n)
    assert abs(values.var() - shape) < 6 * np.sqrt((2 * shape**2 + 6 * shape) / n)
