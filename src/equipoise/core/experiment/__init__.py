"""An experiment in memory: from a context to an assignment, from outcomes to estimates.

==============  ==============================================================================================
``experiment``  ``Experiment``: ask, tell, correct, lose, withdraw, arms, estimates
``record``      everything that an experiment knows, as one value
``asking``      from a record and contexts to assignments
``admission``   one unit that arrives: room, context, arm, in one compiled call
``assignment``  ``Assignment``: which unit went to which arm, and why
``entries``     what is entered about a unit that was assigned
``roster``      arms that close, reopen and join; how many units are left
``redacting``   a person's data removed, and logs folded without them
``summary``     what has been learned, whichever stage it is in
``saved``       pickles, with everything that could make them mean something else
``locking``     locks that signals, exceptions and forks leave as they should be
==============  ==============================================================================================
"""
