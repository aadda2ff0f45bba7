"""Simulated trials: the functions that an experiment calls, in compiled loops.

============  ===========================================================================================
``world``     what is drawn for a block of trials, and outcomes from it
``rule``      how arms are chosen in a stage, as compiled trials read it
``run``       the loop over units: context, arm, outcome
``opening``   the units that arms get in turns before scores are compared, all at once
``calendar``  outcomes that come late or never, arms that are closed for a while, trials that stop early
``trials``    trials of one stage in one loop
``ending``    the estimates that a trial ends with
``judge``     errors of the estimates, coverage of the intervals
``student``   quantiles that intervals are judged with
``robust``    coverage of robust intervals
``ledger``    what trials end with
``promises``  expected errors beside those that happened
``blocks``    a block of trials for all policies in turn
``bench``     trials of several policies on the same draws
============  ===========================================================================================
"""
