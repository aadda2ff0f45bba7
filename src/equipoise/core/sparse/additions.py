"""What a lasso adds to an arm's least squares: features too weak to be chosen, as far as they predict.

Features that are chosen are fitted without shrinking. Those that are left out may still matter together, each
too little to be told from noise, and then a lasso of what is left predicts better than nothing. Its penalty
is chosen by cross-validation, and it adds nothing unless left-out rows speak for it by more than the standard
error of what they say: where all features were found there is nothing left, and a lasso would add noise.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arithmetic.linear import column_squares, cross_product, matvec, product
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.sparse.cross_validation import cross_validated, raw_coefs
from equipoise.core.sparse.refit import add_feature, least_squares, new_refit
from equipoise.core.sparse.standardised import Integers, mean_squares, standardise

# Degrees of freedom below which nothing is added.
_FEWEST = 20
# What is left of a squared column that others explain.
_DEPENDENT = 1e-10


def lasso_additions(contexts: Matrix, outcomes: Vector, columns: Integers) -> Vector:
    """[d] what is added to the coefficients of one arm's least squares on ``columns``."""
    count, dim = contexts.shape
    additions = np.zeros(dim)
    outside = np.setdiff1d(np.arange(dim), columns)
    if count - len(columns) < _FEWEST or not len(outside):
        return additions
    alone = np.zeros(count, np.int64)
    freed, left = _freed(contexts, outcomes, columns, outside)
    data = standardise(freed, left, alone, 1)
    squares = mean_squares(data.outcomes, data)
    if not squares[0] > 0.0:
        return additions
    scale = np.sqrt(squares)
    task = cross_validated(freed, left, alone, data, scale, cautious=True)
    weak = raw_coefs(task, data, scale)[0]
    additions[outside] = weak
    if len(columns) and np.any(weak):
        # Least squares of what the additions leave.
        explained = matvec(contexts[:, outside], weak)
        instead = least_squares(standardise(contexts, explained, alone, 1), columns)[0]
        additions[columns] -= instead[columns]
    return additions


def _freed(
    contexts: Matrix, outcomes: Vector, columns: Integers, outside: Integers
) -> tuple[Matrix, Vector]:
    """Features outside and outcomes, less what the columns explain of them."""
    count = len(outcomes)
    refit = new_refit(standardise(contexts, outcomes, np.zeros(count, np.int64), 1), len(columns))
    for j in columns:
        add_feature(refit, j)
    size = int(refit.size[0])
    basis, others = refit.basis[:size, :count], contexts[:, outside]
    freed = others - cross_product(basis, product(basis, others)) if size else others.copy()
    freed[:, column_squares(freed) <= _DEPENDENT * column_squares(others)] = 0.0
    return freed, refit.residuals[size, :count].copy()
