"""Forecasts: the rest of an experiment, simulated from where it stands.

===========  =================================================================================
``run``      ``eq.forecast``: what is asked, checked and put together
``start``    the experiment as it stands, under any policy and with any budget
``belief``   what is believed of the arms: the distribution that truths are drawn from
``future``   the compiled loop: a truth, awaited outcomes, the units to come
``seat``     trials of one policy with one budget
``runner``   courses by the thousand trials, in chunks, on threads
``target``   the budget that reaches a target
``bands``    what simulated numbers lie between
``result``   what was found
``tables``   the same as tables, as text and as plain data
``saved``    the same as a file
===========  =================================================================================
"""
