"""Counter-based randomness: every draw is a function of seed, trial, purpose and place.

Philox 4×64 (Salmon et al. 2011) turns a counter into four words. Nothing is carried from draw to draw, so
results do not depend on order, chunks, threads or machines, and trial 17,312 alone gives what it
gave in the batch.

A *stream* is an array of words that :func:`word` and :func:`uniform` read on from: words of output, the
place of the next one, and the counter and key that made them. Philox has 10 rounds there, as in NumPy.

Normals in bulk need no stream. :func:`fill_normals` takes an address: its j-th normal is made of word j % 4
of block j // 4, whatever else is drawn. Philox has 7 rounds there, the fewest that pass BigCrush in that
paper. A normal is one word (normal.py). Only :func:`gamma` rejects, and so uses up more words or
fewer: it has streams of its own, under ``SHAPE``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from equipoise.core.arithmetic.bits import float_of
from equipoise.core.arithmetic.lanes import WIDTH, lane, load, load_one, spread, store, store_one
from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arithmetic.power import power
from equipoise.core.arrays import Matrix
from equipoise.core.draws.normal import normal_of, normals_of
from equipoise.core.jit.decorators import compiled, inlined

STREAM_WORDS = 11

Stream = npt.NDArray[np.uint64]  # [11]: 4 words, place, 4 of counter, 2 of key
Address = tuple[int, int, int, int, int]
"""Seed, trial, purpose and two more numbers."""

CONTEXT, NOISE, TRUTH, DELAY, LOSS, LOT, TIE, SHAPE, ARRIVAL, LEAVING = range(10)
"""What a draw is for."""

BLOCK = 4
"""Words that one counter gives."""

_PLACE, _COUNTER, _KEY = BLOCK, BLOCK + 1, BLOCK + 5
_MULTIPLIERS = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_WEYL = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_ROUNDS = 10
# What the rounds add to the key.
_KEYS = tuple(tuple(np.uint64(r * int(step) % 2**64) for step in _WEYL) for r in range(_ROUNDS))


def new_stream() -> Stream:
    """Room for a stream; :func:`start` gives it a meaning."""
    return np.zeros(STREAM_WORDS, dtype=np.uint64)


@inlined
def start(stream: Stream, seed: int, trial: int, purpose: int, first: int, second: int) -> None:
    """Point the stream at the draws of one purpose, addressed by two more numbers."""
    stream[_PLACE] = np.uint64(BLOCK)
    stream[_COUNTER] = np.uint64(0)
    stream[_COUNTER + 1] = np.uint64(first)
    stream[_COUNTER + 2] = np.uint64(second)
    stream[_COUNTER + 3] = np.uint64(trial)
    stream[_KEY] = np.uint64(seed)
    stream[_KEY + 1] = np.uint64(purpose)


@intrinsic
def _multiply_wide(typing_context, a, b):
    """Both halves of a 64×64 bit product: one instruction, where two functions would be two."""

    def generate(context, builder, signature, arguments):
        wide, word = ir.IntType(128), ir.IntType(64)
        left, right = (builder.zext(value, wide) for value in arguments)
        product = builder.mul(left, right)
        high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), word)
        return context.make_tuple(builder, signature.return_type, [high, builder.trunc(product, word)])

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), generate


multiply_wide: Any = _multiply_wide


@inlined
def _round(c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any) -> Any:
    high0, low0 = multiply_wide(_MULTIPLIERS[0], c0)
    high1, low1 = multiply_wide(_MULTIPLIERS[1], c2)
    return high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0


@compiled
def _refill(stream: Stream) -> None:
    """The words of the next counter."""
    stream[_COUNTER] += np.uint64(1)
    c0, c1, c2, c3 = stream[_COUNTER], stream[_COUNTER + 1], stream[_COUNTER + 2], stream[_COUNTER + 3]
    k0, k1 = stream[_KEY], stream[_KEY + 1]
    for _ in range(_ROUNDS):
        c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1)
        k0 += _WEYL[0]
        k1 += _WEYL[1]
    stream[0], stream[1], stream[2], stream[3] = c0, c1, c2, c3
    stream[_PLACE] = np.uint64(0)


@inlined
def word(stream: Stream) -> Any:
    """The next 64 random bits."""
    if stream[_PLACE] == np.uint64(BLOCK):
        _refill(stream)
    value = stream[stream[_PLACE]]
    stream[_PLACE] += np.uint64(1)
    return value


@inlined
def uniform(stream: Stream) -> float:
    """Uniform on (0, 1), 52 bits, neither 0 nor 1."""
    return (np.float64(word(stream) >> np.uint64(12)) + 0.5) * 2.0**-52


@compiled
def normal(stream: Stream) -> float:
    """Standard normal."""
    return normal_of(word(stream))


@compiled
def fill_normals(address: Address, block: int, target: Matrix, row: int, column: int) -> None:
    """Standard normals into ``target[row, column:]``, from a block of an address on."""
    fill_words(address, block, target, row, column)
    turn_into_normals(target, row * target.shape[1] + column, target.shape[1] - column)


@inlined
def fill_words(address: Address, block: int, target: Matrix, row: int, column: int) -> None:
    """The words that :func:`fill_normals` makes normals of, as the bits of ``target[row, column:]``."""
    place, end = row * target.shape[1] + column, (row + 1) * target.shape[1]
    while place < end:
        c0, c1, c2, c3 = block_words(address, block)
        store_one(target, place, float_of(c0))
        if place + 1 < end:
            store_one(target, place + 1, float_of(c1))
        if place + 2 < end:
            store_one(target, place + 2, float_of(c2))
        if place + 3 < end:
            store_one(target, place + 3, float_of(c3))
        block += 1
        place += BLOCK


@compiled
def turn_into_normals(target: Matrix, first: int, count: int) -> None:
    """Replace words that stand in ``count`` entries by their normals.

    Apart from drawing the words, because a vector cannot be read while its entries are still being written.
    """
    place, end = first, first + count
    while place + WIDTH <= end:
        store(target, place, normals_of(load(target, place)))
        place += WIDTH
    while place < end:
        store_one(target, place, lane(normals_of(spread(load_one(target, place))), 0))
        place += 1


@inlined
def block_words(address: Address, block: int) -> Any:
    """The four words of a block of an address."""
    seed, trial, purpose, first, second = address
    c0, c1, c2, c3 = np.uint64(block + 1), np.uint64(first), np.uint64(second), np.uint64(trial)
    k0, k1 = np.uint64(seed), np.uint64(purpose)
    # Written one by one, because a loop takes twice as long.
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1)
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0 + _KEYS[1][0], k1 + _KEYS[1][1])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0 + _KEYS[2][0], k1 + _KEYS[2][1])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0 + _KEYS[3][0], k1 + _KEYS[3][1])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0 + _KEYS[4][0], k1 + _KEYS[4][1])
    c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0 + _KEYS[5][0], k1 + _KEYS[5][1])
    return _round(c0, c1, c2, c3, k0 + _KEYS[6][0], k1 + _KEYS[6][1])


@compiled
def gamma(stream: Stream, shape: float) -> float:
    """Standard gamma (Marsaglia and Tsang 2000)."""
    boost = 1.0
    if shape < 1.0:
        boost = power(uniform(stream), 1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / np.sqrt(9.0 * d)
    while True:
        x = normal(stream)
        root = 1.0 + c * x
        v = root * root * root
        if v > 0.0 and log(uniform(stream)) < 0.5 * x * x + d * (1.0 - v + log(v)):
            return d * v * boost
