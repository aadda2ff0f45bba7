"""Standard normals from words of 64 random bits, by inverting the distribution function.

A word w stands for the probability (w + 1/2)/2⁶⁴, and becomes the number that a normal stays below with that
probability, within 10⁻¹³. Every word gives one normal, and no normal needs another word: lanes of a
processor and threads of a GPU draw without waiting for each other.

Both halves mirror each other, so the first bit is the sign. In the lower half v = 2w + 1 is 2⁶⁵ times the
tail's probability. The leading zeros of v say in which octave that lies, from [1/4, 1/2) down to 2⁻⁶⁵; the
three bits after the first 1 say in which eighth of the octave; the rest is a place t from −1 to 1 within it.
There the quantile is a polynomial of degree 7. tools/normal_table.py has computed all 512 of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.extending import intrinsic

from equipoise.core.arithmetic.bits import float_of
from equipoise.core.arithmetic.lanes import (
    LANES,
    NUMBERS,
    PLACES,
    WIDTH,
    WORDS,
    instruction,
    lane,
    shuffled,
    spread,
)
from equipoise.core.jit.decorators import inlined

TERMS = 8
WORD = ir.IntType(64)
# t is read as a whole number of 64 bits. Coefficients take the scale 2⁻⁶³ instead, which changes no digit.
SCALES = [2.0**0, 2.0**-63, 2.0**-126, 2.0**-189, 2.0**-252, 2.0**-315, 2.0**-378, 2.0**-441]
TABLE = np.load(Path(__file__).with_name("normal_table.npy")) * SCALES

TABLE_BY_TERMS = np.ascontiguousarray(TABLE.T)
"""The same for threads that read a term each: most words are in a few segments, which lie side by side."""


@intrinsic
def _normals(typing_context, table, words):
    def generate(context, builder, signature, arguments):
        words = builder.bitcast(arguments[1], WORDS)
        upper = builder.ashr(words, _all(63))
        tail = builder.or_(builder.shl(builder.xor(words, upper), _all(1)), _all(1))
        octave = instruction(builder, f"llvm.ctlz.v{WIDTH}i64", [tail, ir.IntType(1)(1)])
        tail = builder.shl(tail, octave)
        eighth = builder.and_(builder.lshr(tail, _all(60)), _all(7))
        t = builder.sitofp(builder.xor(builder.shl(tail, _all(4)), _all(1 << 63)), NUMBERS)
        start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        segments = builder.or_(builder.shl(octave, _all(3)), eighth)
        coefficients = _columns(builder, start, segments)
        quantile = coefficients[-1]
        for coefficient in coefficients[-2::-1]:
            quantile = instruction(builder, f"llvm.fma.v{WIDTH}f64", [quantile, t, coefficient])
        # Below the middle the quantile is minus the tail's.
        sign = builder.and_(builder.not_(words), _all(1 << 63))
        return builder.bitcast(builder.xor(builder.bitcast(quantile, WORDS), sign), NUMBERS)

    return LANES(table, LANES), generate


def generate_one(builder: Any, start: Any, word: Any) -> Any:
    """The same for one word, where :data:`TABLE_BY_TERMS` is at ``start``: for machines without vectors."""
    whole = ir.IntType(64)
    upper = builder.ashr(word, whole(63))
    tail = builder.or_(builder.shl(builder.xor(word, upper), whole(1)), whole(1))
    octave = instruction(builder, "llvm.ctlz.i64", [tail, ir.IntType(1)(1)])
    tail = builder.shl(tail, octave)
    eighth = builder.and_(builder.lshr(tail, whole(60)), whole(7))
    t = builder.sitofp(builder.xor(builder.shl(tail, whole(4)), whole(1 << 63)), ir.DoubleType())
    segment = builder.or_(builder.shl(octave, whole(3)), eighth)
    quantile = None
    for term in range(TERMS - 1, -1, -1):
        place = builder.add(segment, whole(term * len(TABLE)))
        coefficient = builder.load(builder.gep(start, [place]))
        quantile = coefficient if quantile is None else builder.fma(quantile, t, coefficient)
    sign = builder.and_(builder.not_(word), whole(1 << 63))
    return builder.bitcast(builder.xor(builder.bitcast(quantile, whole), sign), ir.DoubleType())


def _all(number: int) -> Any:
    return ir.Constant(WORDS, [number] * WIDTH)


def _columns(builder: Any, start: Any, segments: Any) -> list[Any]:
    """The coefficients of four segments, term by term: two terms of each are read at once, and turned."""
    pair = ir.VectorType(ir.DoubleType(), 2)
    rows = []
    for place in PLACES:
        first = builder.mul(builder.extract_element(segments, place), ir.IntType(64)(TERMS))
        rows.append(builder.bitcast(builder.gep(start, [first]), pair.as_pointer()))
    columns = []
    for term in range(TERMS // 2):
        a, b, c, d = (builder.load(builder.gep(row, [ir.IntType(64)(term)]), align=8) for row in rows)
        even = shuffled(builder, a, c, [0, 1, 2, 3])
        odd = shuffled(builder, b, d, [0, 1, 2, 3])
        columns += [shuffled(builder, even, odd, [0, 4, 2, 6]), shuffled(builder, even, odd, [1, 5, 3, 7])]
    return columns


# Typed as the function it is inside compiled code, not as the code generator above.
generated: Callable[[Any, Any], Any] = cast(Any, _normals)


@inlined
def normals_of(words: Any) -> Any:
    """Standard normals of four words, which stand in the bits of four lanes."""
    return generated(TABLE, words)


@inlined
def normal_of(word: Any) -> float:
    """The standard normal of one word."""
    return lane(normals_of(spread(float_of(word))), 0)
