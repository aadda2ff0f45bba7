"""Written arithmetic: functions made of operations whose every bit IEEE 754 fixes.

Everything here is + − × ÷ √, fused multiply-add, comparisons and whole numbers, in the order in which it
is written: no BLAS, and of the C library only its ``fma``, which is exact, where a processor has none. Other
processors, compilers and systems give the same bits.

================  ==================================================================================
``fma``           a·b + c, rounded once
``bits``          a number's 64 bits as a whole number
``tables``        logarithms and powers of 2, from whole numbers of any length
``logarithm``     ``log``, ``log1p``
``exponential``   ``exp``
``power``         ``power``
``gamma``         ``log_gamma``
``quantiles``     ``chi_square_quantiles``
``lanes``         four numbers at a time, in a written order
``linear``        cross-products, Cholesky factors, triangular systems
``solving``       small linear systems inside kernels
``products``      inner products, number by number
``sums``          ``exact_sum``, for a few numbers in plain Python
``numerics``      ``NUMERICS``: which bits this version computes
================  ==================================================================================
"""

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arithmetic.logarithm import log, log1p
from equipoise.core.arithmetic.power import power

__all__ = ["exp", "log", "log1p", "power"]
