"""Live experiments: what is asked and told is in a log before it is acknowledged, whoever asks.

================  ================================================================================
``experiment``    ``LiveExperiment``: the methods of an experiment, each stored
``opening``       ``create_experiment``, ``load_experiment``
``restoring``     experiments from archives and backups
``verification``  the chain of a log, and every decision made anew
``combining``     requests of many threads, carried out together
``ledger``        the way into the log: state, commit, answer
``turn``          what a request may use while it is carried out
``state``         what the log comes to, and snapshots of it
``asking``        assignments with receipts, repeated ones from the log
``describing``    units with contexts as given, scores and times
``late``          what is overdue, and what is given up
``redacting``     a unit's data erased from the log
``actors``        who acts, and why
================  ================================================================================
"""
