"""How functions become machine code.

================  ================================================================================
``decorators``    ``compiled`` and ``inlined``
``kernel``        what the decorators make: kernels that Python calls, parts that kernels call
``plain``         compilation through Numba's public interface alone
``fast``          the same to the same bits in less time, through Numba's private parts
``ways``          which of the two is used
``sources``       the stamp of all sources that go into machine code
``bounded``       numbers that compiled code cannot read beyond the end of
``relinking``     copies of compiled functions that call others in some places
``nvptx``         what a GPU runs, from the same functions
``deferred``      functions whose code is generated when a program for a GPU is finished
``addresses``     arrays that lie at an address
``handles``       named tuples of arrays that go by their address
``fingerprint``   whether code is still the same: functions with everything that they use
``storage``       machine code on disk: where it is kept, and why it cannot be another one's
================  ================================================================================
"""
