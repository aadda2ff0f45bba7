"""Running trials by the thousand.

==================  ======================================================================
``simulate``        policies in any arena, in chunks of trials, on threads or any executor
``checkpoint``      finished chunks in a folder, so that an interrupted run can go on
``cluster``         Dask clusters as executors
``predictability``  how well the next arm can be guessed
``planning``        plans both ways: the budget of a target, the error of a budget
``planned_world``   the world that plans are simulated in
``budget_curve``    how many units a policy needs for a target error
``planned_error``   the error that a budget gives a policy
``timing``          how fast trials run on one thread
==================  ======================================================================
"""
