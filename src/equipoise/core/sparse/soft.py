"""Coefficients of an arm whose features are too weak to be chosen one by one: a lasso takes their place.

Features that are chosen are fitted without shrinking, which is best where they are evident. Where many matter
a little, each too little to be told from noise, a lasso predicts better. Whether that is so, left-out rows
say: if a lasso of what least squares leave predicts them better than nothing, by a quarter of the standard
error of the difference, then a lasso fits all features but the firm ones. Where all features were found
nothing is left, and least squares stay as a rule.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.linear import column_squares, cross_product, matvec, product
from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.sparse.cross_validation import cross_validated, raw_coefs
from equipoise.core.sparse.own import worths
from equipoise.core.sparse.refit import add_feature, least_squares, new_refit
from equipoise.core.sparse.standardised import Integers, mean_squares, standardise

# Degrees of freedom below which least squares stay.
_FEWEST = 20
# How many times what the first feature of an arm costs a firm one is worth.
_FIRM = 2.0
# What is left of a squared column that others explain.
_DEPENDENT = 1e-10


def soft_coefs(contexts: Matrix, outcomes: Vector, columns: Integers, common: Integers) -> Vector | None:
    """[d] coefficients of one arm that has chosen ``columns``; None: least squares on these are as good.

    Those of them that are ``common`` to most arms, or worth twice what a feature costs, are not shrunk.
    """
    count, dim = contexts.shape
    if count - len(columns) < _FEWEST:
        return None
    if not np.any(_lasso(contexts, outcomes, columns, cautious=True)[1]):
        return None
    firm = np.union1d(columns[_are_firm(contexts, outcomes, columns)], np.intersect1d(common, columns))
    outside, weak = _lasso(contexts, outcomes, firm, cautious=False)
    coefs = np.zeros(dim)
    coefs[outside] = weak
    if len(firm):
        left = outcomes - matvec(contexts[:, outside], weak)
        alone = standardise(contexts, left, np.zeros(count, np.int64), 1)
        coefs[firm] = least_squares(alone, firm)[0][firm]
    return coefs


def _are_firm(contexts: Matrix, outcomes: Vector, columns: Integers) -> npt.NDArray[np.bool_]:
    count, dim = contexts.shape
    price = log(float(count)) + 2.0 * log(max(dim, 2.0))
    firm: npt.NDArray[np.bool_] = worths(contexts, outcomes, columns)[columns] >= _FIRM * price
    return firm


def _lasso(
    contexts: Matrix, outcomes: Vector, columns: Integers, *, cautious: bool
) -> tuple[Integers, Vector]:
    """Features other than ``columns``, and their coefficients by a lasso that does not shrink ``columns``."""
    count, dim = contexts.shape
    alone, outside = np.zeros(count, np.int64), np.setdiff1d(np.arange(dim), columns)
    freed, left = _freed(contexts, outcomes, columns, outside)
    data = standardise(freed, left, alone, 1)
    squares = mean_squares(data.outcomes, data)
    if not len(outside) or not squares[0] > 0.0:
        return outside, np.zeros(len(outside))
    scale = np.sqrt(squares)
    task = cross_validated(freed, left, alone, data, scale, cautious=cautious)
    return outside, raw_coefs(task, data, scale)[0]


def _freed(contexts: Matrix, outcomes: Vector, columns: Integers, outside: Integers) -> tuple[Matrix, Vector]:
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
