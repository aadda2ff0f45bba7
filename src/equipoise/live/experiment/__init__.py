"""Live experiments: what is asked and told is in a log before it is acknowledged, whoever asks.

================  ================================================================================
``experiment``    ``LiveExperiment``: the methods of an experiment, each stored
``together``      the methods about many units at once
``opening``       ``create_experiment``, ``load_experiment``
``restoring``     experiments from archives and backups
``verification``  the chain of a log, and every decision made anew
``ledger``        the way into the log: state, commit, answer
``requests``      what is wanted of an experiment, by threads and by other processes
``state``         what the log comes to, and snapshots of it
``describing``    units with contexts as given, scores and times
``late``          what is overdue, and what is given up
``redacting``     units' data erased from the log
``actors``        who acts, and why
================  ================================================================================
"""
