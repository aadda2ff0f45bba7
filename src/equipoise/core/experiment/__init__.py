"""An experiment in memory: from a context to an assignment, from outcomes to estimates.

==============  ==============================================================================================
``experiment``  ``Experiment``: ask, tell, correct, lose, withdraw, received, arms, budget
``reading``     ``ExperimentReader``: estimates, units, counts; what stored experiments can do as well
``holding``     the one record under its locks: recording, applying, copying
``record``      everything that an experiment knows, as one value
``units``       keys of units, contexts as they were given, tables
``history``     events, and the experiments that they lead to
``asking``      from a record and contexts to assignments
``admission``   one unit that arrives: room, context, arm, in one compiled call
``assignment``  ``Assignment``: which unit went to which arm, and why
``given``       many units with arms that a person gives them
``entering``    what is entered about units that were assigned: outcomes, losses, other arms
``roster``      arms that close, reopen and join; budgets; how many units are left
``summary``     what has been learned, whichever stage it is in
``saved``       pickles, with everything that could make them mean something else
``snapshots``   versioned arrays, without pickles
``locking``     locks that signals, exceptions and forks leave as they should be
==============  ==============================================================================================
"""
