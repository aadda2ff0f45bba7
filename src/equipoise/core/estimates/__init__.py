"""What the outcomes say in the end: models, intervals, expected errors.

================  ============================================================================================
``estimates``     ``Estimates``: the table of all arms
``arm_estimate``  ``ArmEstimate``: one arm's model
``intervals``     intervals corrected for what adaptive allocation does to σ̂²
``ellipsoid``     the self-normalised confidence ellipsoid
``ridge``         ridge fits and their traces, compiled
``ridge_fit``     one arm's ridge fit, and what it is expected to cost
``shrinkage/``    estimates that shrink as far as the data justify
``support``       the features that were chosen, and what speaks for those left out
================  ============================================================================================
"""
