"""Running trials by the thousand.

==================  ======================================================================
``simulate``        policies in any arena, in chunks of trials, on threads or any executor
``checkpoint``      finished chunks in a folder, so that an interrupted run can go on
``cluster``         Dask clusters as executors
``predictability``  how well the next arm can be guessed
``budget_curve``    how many units a policy needs for a target error
``timing``          how fast trials run on one thread
==================  ======================================================================
"""
