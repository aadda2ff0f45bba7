"""Written arithmetic: functions made of operations whose every bit IEEE 754 fixes.

Everything here is + − × ÷ √, fused multiply-add, comparisons and whole numbers, in the order in which it
is written: no C library, no BLAS. Other processors, compilers and systems give the same bits.
"""
