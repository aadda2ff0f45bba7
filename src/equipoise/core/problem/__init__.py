"""The problem as it is given: checked, and plain data.

=============  ===============================================================================================
``problem``    ``Problem``: arms, features, budget, moment, objective
``features``   what a context looks like to people: fields, formulas, names
``objective``  what is to be made small: largest error, mean, p-norm
``costs``      what units cost, and how many an arm must and may get
``moment``     Σ, checked
``names``      names and counts of arms and features, checked
``inputs``     contexts, outcomes and seeds, checked before anything changes
``real``       real numbers, told apart from what NumPy takes for numbers
=============  ===============================================================================================
"""
