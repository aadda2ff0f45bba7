"""Counter-based randomness: every draw is a function of seed, trial, purpose and place.

Philox 4×64 with 10 rounds (Salmon et al. 2011) turns a counter into four words; a ziggurat of 256
layers (Marsaglia and Tsang 2000) turns words into normals. Nothing is carried from draw to draw, so
results do not depend on order, chunks, threads or machines, and trial 17,312 alone gives what it
gave in the batch.

A stream is an array of words that the functions here read on from: words of output, the place of the
next one, and the counter and key that made them.
"""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arithmetic.power import power
from equipoise.core.arrays import Matrix
from equipoise.core.jit.decorators import compiled, inlined

STREAM_WORDS = 19

Stream = npt.NDArray[np.uint64]  # [19]: 12 words, place, 4 of counter, 2 of key

CONTEXT, NOISE, TRUTH, DELAY, LOSS, LOT, TIE = range(7)
"""What a draw is for."""

_BLOCK = 4  # words that one counter gives
_WORDS = 3 * _BLOCK
_PLACE, _COUNTER, _KEY = _WORDS, _WORDS + 1, _WORDS + 5
_MULTIPLIERS = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_WEYL = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_ROUNDS = 10

_LAYERS = 256
_TAIL = 3.654152885361008796  # where the lowest layer's tail begins
_LAYER_AREA = 4.92867323399e-3
_MANTISSA = 2.0**55


def new_stream() -> Stream:
    """Room for a stream; :func:`start` gives it a meaning."""
    return np.zeros(STREAM_WORDS, dtype=np.uint64)


@inlined
def start(stream: Stream, seed: int, trial: int, purpose: int, first: int, second: int) -> None:
    """Point the stream at the draws of one purpose, addressed by two more numbers."""
    stream[_PLACE] = np.uint64(_WORDS)
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
    a0, a1, a2, a3 = stream[_COUNTER], stream[_COUNTER + 1], stream[_COUNTER + 2], stream[_COUNTER + 3]
    k0, k1 = stream[_KEY], stream[_KEY + 1]
    for _ in range(_ROUNDS):
        a0, a1, a2, a3 = _round(a0, a1, a2, a3, k0, k1)
        k0 += _WEYL[0]
        k1 += _WEYL[1]
    stream[8], stream[9], stream[10], stream[11] = a0, a1, a2, a3
    stream[_PLACE] = np.uint64(_WORDS - _BLOCK)


@compiled
def _refill_all(stream: Stream) -> None:
    """The words of the next three counters, side by side: a round has to wait for the one before."""
    count, first = stream[_COUNTER], stream[_COUNTER + 1]
    second, trial = stream[_COUNTER + 2], stream[_COUNTER + 3]
    k0, k1 = stream[_KEY], stream[_KEY + 1]
    a0, a1, a2, a3 = count + np.uint64(1), first, second, trial
    b0, b1, b2, b3 = count + np.uint64(2), first, second, trial
    c0, c1, c2, c3 = count + np.uint64(3), first, second, trial
    for _ in range(_ROUNDS):
        a0, a1, a2, a3 = _round(a0, a1, a2, a3, k0, k1)
        b0, b1, b2, b3 = _round(b0, b1, b2, b3, k0, k1)
        c0, c1, c2, c3 = _round(c0, c1, c2, c3, k0, k1)
        k0 += _WEYL[0]
        k1 += _WEYL[1]
    stream[0], stream[1], stream[2], stream[3] = a0, a1, a2, a3
    stream[4], stream[5], stream[6], stream[7] = b0, b1, b2, b3
    stream[8], stream[9], stream[10], stream[11] = c0, c1, c2, c3
    stream[_COUNTER] = count + np.uint64(3)
    stream[_PLACE] = np.uint64(0)


@inlined
def word(stream: Stream) -> Any:
    """The next 64 random bits."""
    if stream[_PLACE] == np.uint64(_WORDS):
        _refill(stream)
    value = stream[stream[_PLACE]]
    stream[_PLACE] += np.uint64(1)
    return value


@inlined
def uniform(stream: Stream) -> float:
    """Uniform on (0, 1), 52 bits, neither 0 nor 1."""
    return (np.float64(word(stream) >> np.uint64(12)) + 0.5) * 2.0**-52


@inlined
def normal(stream: Stream) -> float:
    """Standard normal."""
    bits = word(stream)
    layer, place, x = _inside(bits)
    if place >= _INSIDE[layer]:
        x = _outside(stream, layer, x)
    return _signed(x, bits)


@compiled
def one_normal(stream: Stream) -> float:
    """Standard normal, as a call: for callers that would rather stay small."""
    return normal(stream)


@compiled
def fill_normals(stream: Stream, target: Matrix, row: int, first: int) -> None:
    """Standard normals into ``target[row, first:]``."""
    # The place is kept out of memory: a draw would wait for the one before to write it.
    next_word = stream[_PLACE]
    for c in range(first, target.shape[1]):
        if next_word == np.uint64(_WORDS):
            if target.shape[1] - c > _BLOCK:
                _refill_all(stream)
            else:
                _refill(stream)
            next_word = stream[_PLACE]
        bits = stream[next_word]
        next_word += np.uint64(1)
        layer, place, x = _inside(bits)
        if place >= _INSIDE[layer]:
            stream[_PLACE] = next_word
            x = _outside(stream, layer, x)
            next_word = stream[_PLACE]
        target[row, c] = _signed(x, bits)
    stream[_PLACE] = next_word


@inlined
def _inside(bits: Any) -> Any:
    """Layer, place within it and the number there: 8 bits choose the layer, 1 the sign, 55 the place."""
    layer = bits & np.uint64(255)
    place = np.int64(bits >> np.uint64(9))
    return layer, place, np.float64(place) * _WIDTHS[layer]


@inlined
def _signed(x: float, bits: Any) -> float:
    return -x if bits & np.uint64(256) else x


@compiled
def _outside(stream: Stream, layer: Any, x: Any) -> float:
    """The one draw in a hundred that falls beside the rectangles."""
    while True:
        if layer == 0:
            while True:
                beyond = -log(uniform(stream)) / _TAIL
                if -2.0 * log(uniform(stream)) > beyond * beyond:
                    return _TAIL + beyond
        gap = _HEIGHTS[layer + np.uint64(1)] - _HEIGHTS[layer]
        if _HEIGHTS[layer] + uniform(stream) * gap < exp(-0.5 * x * x):
            return x
        layer, place, x = _inside(word(stream))
        if place < _INSIDE[layer]:
            return x


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
        x = one_normal(stream)
        root = 1.0 + c * x
        v = root * root * root
        if v > 0.0 and log(uniform(stream)) < 0.5 * x * x + d * (1.0 - v + log(v)):
            return d * v * boost


def _ziggurat() -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Edges of 256 layers of equal area under exp(−x²/2): integer limits, widths, heights.

    In decimal arithmetic, which is the same everywhere, with more digits than are kept.
    """
    with localcontext(Context(prec=25)):
        tail, area, half = Decimal(_TAIL), Decimal(_LAYER_AREA), Decimal("0.5")
        edges = [area / (-half * tail * tail).exp(), tail]
        for _ in range(2, _LAYERS):
            height = (-half * edges[-1] * edges[-1]).exp() + area / edges[-1]
            edges.append((-2 * min(height, Decimal(1)).ln()).sqrt())
        edges.append(Decimal(0))
        pairs = pairwise(edges)
        inside = [int(inner / outer * Decimal(_MANTISSA)) for outer, inner in pairs]
        heights = [float((-half * edge * edge).exp()) for edge in edges]
        widths = [float(edge / Decimal(_MANTISSA)) for edge in edges[:-1]]
    return np.array(inside), np.array(widths), np.array(heights)


_INSIDE, _WIDTHS, _HEIGHTS = _ziggurat()
