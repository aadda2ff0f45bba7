"""Trials in time: when units and outcomes come, arms that are closed for a while, ends before the budget's.

============  ===========================================================================================
``course``    when units arrive and outcomes come, in calendar time or in units
``arrivals``  outcomes that come late or never
``closures``  arms that are closed for some units
``stopping``  trials that end when a target is reached
============  ===========================================================================================
"""
