"""From the arms' models to what is written up: coefficients, means, contrasts, each and all at once.

================  ============================================================================================
``quantities``    ``Inference``: numbers that are estimated together, as a table
``simultaneous``  intervals of one, and of all of a family at once
``combinations``  an arm's estimates of cᵀβ, with their variances and degrees of freedom
``families``      which numbers: all coefficients, all arms' means, all contrasts
``places``        the contexts that means and contrasts are for
``arm_table``     the table of all arms, and an arm in words
================  ============================================================================================
"""
