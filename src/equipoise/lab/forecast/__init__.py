"""Forecasts: the rest of an experiment, simulated from where it stands.

=============  ==============================================================================
``run``        ``eq.forecast``: what is asked, checked and put together
``start``      the experiment as it stands, under any policy and with any budget
``belief``     whether every arm has a model, which contexts will come, how errors are measured
``truths``     what the outcomes known leave open: a truth for every trial; a room of its own
``losses``     what becomes of outcomes to come: how many are lost, how long the others are awaited
``future``     the compiled loop: units to come, and outcomes
``seat``       trials of one policy with one budget
``runner``     courses by the thousand trials, in chunks, on threads
``target``     the budget that reaches a target
``bands``      what simulated numbers lie between
``result``     what was found
``tables``     the same as tables, as text and as plain data
``saved``      the same as a file
=============  ==============================================================================
"""
