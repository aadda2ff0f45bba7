"""Where an arm's features are too weak to be chosen one by one, a lasso takes a share in its model.

Features that are chosen are fitted without shrinking, which is best where they are evident. Where many matter
a little, each too little to be told from noise, a lasso predicts better. How much of each is best, rows that
were left out say. With the predictions a of the choice and b of the lasso, made without the row, it is

    w·(choice) + (1 − w)·(lasso),    w = Σ(y − b)(a − b) / Σ(a − b)²,

least squares again, kept between 0 and 1 (Breiman 1996), and taken to be 1 or 0 if it is less than half a
standard error from there. The lasso does not shrink the firm features: those that are worth twice what a
feature costs, and those that most other arms have.

Where all features are firm they would be chosen without any fold, and are taken as they are.

An arm is settled if it has features, all of them are firm, and the lasso moves its predictions by less, in
mean square, than least squares err by themselves, s·σ̂²/k. A feature as strong as a firm one would hardly have
been missed: the price of one is 4 standard errors, twice the price 6. More rows will then do what they do in
least squares, and not change the features.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from equipoise.core.arithmetic.linear import column_squares, dot, matvec, product, solve_upper
from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.sparse.cross_validation import Fold, descend, fold_numbers, raw_coefs, search
from equipoise.core.sparse.own import choose_alone, prices_of, worths
from equipoise.core.sparse.path import weighted_task
from equipoise.core.sparse.refit import add_feature, least_squares, new_refit
from equipoise.core.sparse.standardised import Integers, mean_squares, standardise
from equipoise.core.sparse.task import largest_penalty

# Degrees of freedom below which least squares stay.
_FEWEST = 20
# How many times what the first feature of an arm costs a firm one is worth.
_FIRM = 2.0
# Folds. With a fifth of the rows missing a choice breaks down more readily than a lasso, just where it begins
# to succeed.
_FOLDS = 10
# Standard errors within which w is 1 or 0: a lasso beside features that were all found is noise.
_EVIDENT = 0.5
# What is left of a squared column that others explain; a square of differences that is rounding.
_DEPENDENT, _ROUNDING = 1e-10, 1e-20


class Soft(NamedTuple):
    """A lasso that takes a share in an arm's model."""

    weight: float
    """w, the share of the least squares on the features chosen."""
    coefs: Vector
    """[d] the lasso's."""

    def beside(self, fitted: Vector) -> Vector:
        """The model, of which ``fitted`` [d] is the other share."""
        return self.weight * fitted + (1.0 - self.weight) * self.coefs


class _Comparison(NamedTuple):
    """What rows that were left out say."""

    weight: float
    moved: float  # mean square of what the lasso changes, its share being as large as may be
    free: _Free  # of the firm features
    best: int  # the lasso's place on the grid of penalties


def soft_fit(
    contexts: Matrix, outcomes: Vector, columns: Integers, others: Integers, arm_count: int
) -> Soft | None:
    """The lasso beside the least squares of one arm that has chosen ``columns``; None: it has no share.

    ``others`` [d] are the numbers of other arms that have each feature.
    """
    found = _compared(contexts, outcomes, columns, others, arm_count)
    if found is None or found.weight == 1.0:
        return None
    freed, left = found.free.rows(contexts, outcomes)
    data = standardise(freed, left, np.zeros(len(left), np.int64), 1)
    scale = np.sqrt(mean_squares(data.outcomes, data))
    task = weighted_task(data, scale)
    descend(task, found.best)
    return Soft(found.weight, found.free.whole(raw_coefs(task, data, scale)[0]))


def is_settled(
    contexts: Matrix, outcomes: Vector, columns: Integers, others: Integers, arm_count: int
) -> bool:
    """Whether the features of one arm are evident, as far as rows that were left out tell."""
    if not len(columns) or len(_firm(contexts, outcomes, columns, others, arm_count)) < len(columns):
        return False
    found = _compared(contexts, outcomes, columns, others, arm_count)
    if found is None:
        return False
    left = outcomes - matvec(contexts, _fitted(contexts, outcomes, columns))
    freedom = len(outcomes) - len(columns)
    return found.moved <= dot(left, left) / freedom * len(columns) / len(outcomes)


def _compared(
    contexts: Matrix, outcomes: Vector, columns: Integers, others: Integers, arm_count: int
) -> _Comparison | None:
    """None where rows are too few."""
    count = len(outcomes)
    if count - len(columns) < _FEWEST:
        return None
    firm = _firm(contexts, outcomes, columns, others, arm_count)
    free = _Free(contexts, outcomes, firm)
    freed, left = free.rows(contexts, outcomes)
    alone = np.zeros(count, np.int64)
    data = standardise(freed, left, alone, 1)
    squares = mean_squares(data.outcomes, data)
    if not freed.shape[1] or not squares[0] > _ROUNDING * dot(outcomes, outcomes) / count:
        return _Comparison(1.0, 0.0, free, 0)
    largest = largest_penalty(weighted_task(data, np.sqrt(squares)))
    numbers, by_lasso, by_choice = fold_numbers(alone, 1, _FOLDS), np.zeros(count), np.zeros(count)
    folds, places = [], []
    for number in range(int(numbers.max()) + 1):
        out, kept = np.flatnonzero(numbers == number), np.flatnonzero(numbers != number)
        part = _Free(contexts[kept], outcomes[kept], firm)
        inside, outside = (part.rows(contexts[rows], outcomes[rows]) for rows in (kept, out))
        folds.append(Fold((*inside, alone[kept]), (*outside, alone[out]), np.sqrt(squares)))
        places.append(out)
    for out, fold in zip(places, folds, strict=True):
        by_choice[out] = fold.left * math.sqrt(squares[0])  # least squares on the firm features
    best, rests = search(folds, largest)
    for out, rest in zip(places, rests, strict=True):
        by_lasso[out] = rest * math.sqrt(squares[0])
    if len(firm) < len(columns):
        by_choice = _left_by_choice(contexts, outcomes, firm, prices_of(others, arm_count, count))
    apart = by_lasso - by_choice
    square = dot(apart, apart)
    if not square > _ROUNDING * dot(outcomes, outcomes):
        return _Comparison(1.0, 0.0, free, best)
    weight = dot(apart, by_lasso) / square
    spread = apart * (by_lasso - weight * apart)
    doubt = _EVIDENT * math.sqrt(dot(spread, spread)) / square
    share = 1.0 - min(max(weight - doubt, 0.0), 1.0)
    weight = 1.0 if weight > 1.0 - doubt else weight if weight > doubt else 0.0
    return _Comparison(weight, share * share * square / count, free, best)


def _left_by_choice(contexts: Matrix, outcomes: Vector, firm: Integers, prices: Vector) -> Vector:
    """Outcomes less what features chosen without their fold predict."""
    count = len(outcomes)
    numbers, left = fold_numbers(np.zeros(count, np.int64), 1, _FOLDS), outcomes.copy()
    for number in range(int(numbers.max()) + 1):
        out = numbers == number
        X, y = contexts[~out], outcomes[~out]
        left[out] -= matvec(contexts[out], _fitted(X, y, choose_alone(X, y, firm, prices)))
    return left


def _fitted(contexts: Matrix, outcomes: Vector, columns: Integers) -> Vector:
    """[d] least squares on some columns."""
    coefs: Vector = least_squares(
        standardise(contexts, outcomes, np.zeros(len(outcomes), np.int64), 1), columns
    )[0]
    return coefs


def _firm(
    contexts: Matrix, outcomes: Vector, columns: Integers, others: Integers, arm_count: int
) -> Integers:
    count, dim = contexts.shape
    price = log(float(max(count, 1))) + 2.0 * log(max(dim, 2.0))
    evident = worths(contexts, outcomes, columns)[columns] >= _FIRM * price
    firm: Integers = columns[evident | (2 * others[columns] > arm_count - 1)]
    return firm


class _Free:
    """Frees features and outcomes of what firm ones explain, by least squares on some rows."""

    def __init__(self, contexts: Matrix, outcomes: Vector, firm: Integers) -> None:
        count, self.dim = contexts.shape
        data = standardise(contexts, outcomes, np.zeros(count, np.int64), 1)
        refit = new_refit(data, len(firm))
        for j in firm:
            add_feature(refit, j)
        size = int(refit.size[0])
        self.firm, self.outside = refit.features[:size].copy(), np.setdiff1d(np.arange(self.dim), firm)
        others = contexts[:, self.outside]
        self.shares: Matrix = np.zeros((size, len(self.outside)))  # least squares of others on firm ones
        self.coefs: Vector = np.zeros(size)  # and of the outcomes
        if size:
            inverse = solve_upper(refit.triangles[0, :size, :size], np.eye(size))
            inverse /= data.lengths[0, self.firm][:, None]
            self.shares = product(inverse, product(refit.basis[:size, :count], others))
            self.coefs = matvec(inverse, refit.loads[:size, 0])
        self.dependent = np.zeros(len(self.outside), bool)
        freed, _ = self.rows(contexts, outcomes)
        self.dependent = column_squares(freed) <= _DEPENDENT * column_squares(others)

    def rows(self, contexts: Matrix, outcomes: Vector) -> tuple[Matrix, Vector]:
        """Features that are not firm, and outcomes, less what firm ones explain of them."""
        others, left = contexts[:, self.outside], outcomes.copy()
        if len(self.firm):
            others = others - product(contexts[:, self.firm], self.shares)
            left -= matvec(contexts[:, self.firm], self.coefs)
        others[:, self.dependent] = 0.0
        return others, left

    def whole(self, weak: Vector) -> Vector:
        """[d] coefficients, firm ones fitted beside the ``weak`` ones of the others."""
        coefs = np.zeros(self.dim)
        coefs[self.outside] = weak
        if len(self.firm):
            coefs[self.firm] = self.coefs - matvec(self.shares, weak)
        return coefs
