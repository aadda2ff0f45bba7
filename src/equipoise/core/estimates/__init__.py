"""What the outcomes say in the end: models, intervals, expected errors.

================  ============================================================================================
``estimates``     ``Estimates``: the table of all arms
``arm_estimate``  ``ArmEstimate``: one arm's model
``defaults``      what estimates are unless something else is asked for
``alike``         outcomes that are all alike, which say nothing about the noise
``by_arm``        one thing an arm, found by place or by name
``intervals``     intervals corrected for what adaptive allocation does to σ̂²
``robust``        intervals where the noise depends on the context: the sandwich
``selection``     noise and expected errors corrected for what adaptive allocation does to them
``ellipsoid``     the self-normalised confidence ellipsoid
``ridge``         ridge fits and their traces, compiled
``ridge_fit``     one arm's ridge fit, and what it is expected to cost
``inference``     what is written up: coefficients, means and contrasts, each and all at once
``estimators``    from a trial's state to coefficients, one way a file
``omitted``       how much error the features left out may cause
``support``       the features that were chosen, and what speaks for those left out
================  ============================================================================================
"""
