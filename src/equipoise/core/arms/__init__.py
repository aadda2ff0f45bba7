"""Per-arm least squares: what an arm knows after every unit, in O(d²) a unit.

=================  ===========================================================================================
``state``          the arrays of a trial: a record an arm, a record a trial, factors, rows
``least_squares``  one unit more: factor, trace Tr(ΣS⁻¹), coefficients, σ̂²; outcomes that come late or never
``factor``         factors of S and of its inverse, and their rank-one steps
``whitening``      coordinates in which the contexts' second moment is the identity
``coordinates``    a factor and coefficients back in the user's coordinates
``baseline``       what redacted units have left of themselves: sums, nobody's own data
``rebuild``        an arm computed anew from its rows: corrections, withdrawals, other columns
``provisional``    designs that are not invertible yet, for policies that look at the context
``noise_pool``     what the arms' noise variances have in common
``spread``         what noise that depends on the context does to an arm's error, for policies that ask
``widths``         noise bounds: how far above σ̂² a policy looks
``if_it_looks``    leaves out of kernels what only policies that look at the context need
=================  ===========================================================================================
"""
