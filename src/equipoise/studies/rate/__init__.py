"""The rate of Trace-UCB, Theorems 1 and 2: budgets up to a hundred thousand units.

==============  ===============================================================
``measure``     regret and shortfall of pulls at every budget, and their slopes
``width_bias``  what the width alone does to the allocation, without randomness
``drawing``     the picture of both
==============  ===============================================================
"""
