"""What happened to an experiment: events as plain data, and what they lead to.

=============  ======================================================================================
``events``     kinds of events, and how they are written and read
``folding``    one event after the other, with the arms and features recorded
``runs``       many events at once
``redacting``  a unit without its data, and sums that stay as they were
``replaying``  the same, deciding anew: is it what was recorded?
``given``      what was given of a unit, against its context
=============  ======================================================================================
"""
