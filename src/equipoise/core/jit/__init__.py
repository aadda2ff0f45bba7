"""How functions become machine code.

================  ================================================================================
``kernel``        what the decorators make: kernels that Python calls, parts that kernels call
``plain``         compilation through Numba's public interface alone
``fast``          the same to the same bits in less time, through Numba's private parts
``ways``          which of the two is used
``sources``       the stamp of all sources that go into machine code
``bounded``       numbers that compiled code cannot read beyond the end of
``storage``       machine code on disk: where it is kept, and why it cannot be another one's
================  ================================================================================
"""
