"""Every arm's own features, where arms differ: what most of them have, and what one has alone.

The joint choice asks whether a feature matters to any arm, and a feature that matters to one of many drowns
there. So every arm chooses again for itself, among all features, by steps: features are added as long as the
sum of what they are worth grows, looking some steps ahead since the signal of those not added yet is noise to
the first, and features that turn out not worth their price are dropped. What a feature is worth is

    z² = ν log(RSS without / RSS with), ν the degrees of freedom left,

times Wallace's factor, which makes it a squared normal number at few degrees of freedom too. Its price is
log k + 2 log((d − s)/√(s + 1)), after the extended BIC (Chen & Chen 2008): the first part for a coefficient,
the second for the number of features it was chosen from. A feature that c of the m − 1 other arms have was
chosen already: with ρ = (c + ½)/m its price is log k + 2 log((1 − ρ)/ρ), if that is less, and one at least.
Where ρ is at most ½ it is squared: what one other arm has is as a rule that arm's own. So what most arms have
is kept wherever it is not plainly useless, and what few have must be evident. The arms choose in turns, each
knowing what the others chose in the turn before, and what the joint choice found to begin with.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arithmetic.logarithm import log
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.jit.decorators import compiled
from equipoise.core.sparse.elimination import losses
from equipoise.core.sparse.refit import Refit, add_feature, new_refit, product, remove_feature
from equipoise.core.sparse.standardised import Integers, standardise

# Turns of the arms, and rounds of adding and dropping in each.
_TURNS, _ROUNDS = 4, 4
# Price of what the joint choice found, until arms have been counted, and the least price of all.
_JOINT, _LEAST = 3.0, 1.0
# Steps that are looked ahead.
_AHEAD = 10
# Rows of an arm that a feature of its own takes.
_ROWS = 3
# What is left of a squared column of length 1 that others explain; residuals that are rounding.
_DEPENDENT, _ROUNDING = 1e-9, 1e-20


def own_features(
    contexts: Matrix, outcomes: Vector, arms: Integers, arm_count: int, joint: Integers
) -> tuple[tuple[Integers, ...], Vector]:
    """Features of every arm, in ascending order, and what all features are worth to all arms together.

    ``joint`` are those that the joint choice found. An arm whose outcomes are fewer than twice the features
    that most others have takes these.
    """
    dim = contexts.shape[1]
    choosers = [_Chooser(contexts[arms == i], outcomes[arms == i]) for i in range(arm_count)]
    chosen = np.zeros((arm_count, dim), bool)
    chosen[:, joint] = True
    for turn in range(_TURNS):
        counts = np.zeros(dim, np.int64)
        for mine in chosen:
            counts += mine
        following = np.zeros_like(chosen)
        for i, chooser in enumerate(choosers):
            others = counts - chosen[i]
            most = 2 * others > arm_count - 1
            if turn > 0 and chooser.count < 2 * (np.count_nonzero(most) + 2):
                following[i] = most
                continue
            prices = prices_of(others, arm_count, chooser.count) if turn > 0 else _first_prices(dim, joint)
            following[i, chooser.choose(np.flatnonzero(chosen[i] | most), prices)] = True
        if turn > 0 and np.array_equal(following, chosen):
            break
        chosen = following
    worth = np.zeros(dim)
    for i, chooser in enumerate(choosers):
        chooser.add_worth(np.flatnonzero(chosen[i]), worth)
    return tuple(np.flatnonzero(mine) for mine in chosen), worth


def choose_alone(contexts: Matrix, outcomes: Vector, start: Integers, prices: Vector) -> Integers:
    """Features of one arm that are worth their price, looked for from ``start`` on."""
    return _Chooser(contexts, outcomes).choose(start, prices)


def prices_of(others: Integers, arm_count: int, count: int) -> Vector:
    """What features cost that ``others`` arms have chosen; infinite for the rest, see ``_base``."""
    table = np.full(arm_count + 1, np.inf)
    for c in range(1, arm_count):
        share = (c + 0.5) / arm_count
        # What few arms have is more likely theirs alone than the ratio says.
        share = share if share > 0.5 else share * share
        odds = (1.0 - share) / share
        table[c] = max(log(max(float(count), 1.0)) + 2.0 * log(odds), _LEAST)
    prices: Vector = table[others]
    return prices


def worths(contexts: Matrix, outcomes: Vector, columns: Integers) -> Vector:
    """[d] z² of the features of one arm in its least squares on them; 0 for others."""
    found = np.zeros(contexts.shape[1])
    _Chooser(contexts, outcomes).add_worth(columns, found)
    return found


def _first_prices(dim: int, joint: Integers) -> Vector:
    prices = np.full(dim, np.inf)
    prices[joint] = _JOINT
    return prices


class _Chooser:
    """One arm's rows."""

    def __init__(self, contexts: Matrix, outcomes: Vector) -> None:
        self.count = len(outcomes)
        self.limit = max((self.count - 2) // _ROWS, 0)
        self._data = standardise(contexts, outcomes, np.zeros(self.count, np.int64), 1)

    def choose(self, start: Integers, prices: Vector) -> Integers:
        """Features that are worth their price."""
        if self.limit == 0:
            return np.zeros(0, np.int64)
        refit = new_refit(self._data, self.limit)
        free = np.zeros(len(prices))
        for j in start if len(start) <= self.limit else ():
            add_feature(refit, j)
        _drop(refit, prices)
        for _ in range(_ROUNDS):
            before = sorted(refit.features[: refit.size[0]].tolist())
            _free_columns(refit, free)
            _add(refit, free, prices, self.limit)
            _drop(refit, prices)
            if sorted(refit.features[: refit.size[0]].tolist()) == before:
                break
        return np.array(sorted(refit.features[: refit.size[0]].tolist()), np.int64)

    def add_worth(self, columns: Integers, worth: Vector) -> None:
        """Add what the arm's features are worth to it."""
        if len(columns) > self.count - 2:
            return
        refit, places = new_refit(self._data, len(columns)), len(columns) + 1
        for j in columns:
            add_feature(refit, j)
        _worst(refit, np.zeros(len(worth)), np.zeros((2, places)), np.zeros((places, 1)), worth)


def _drop(refit: Refit, prices: Vector) -> None:
    """Take out features that are not worth their price, the worst first."""
    places = len(refit.features)
    scratch = np.zeros((2, places)), np.zeros((places, 1)), np.zeros(len(prices))
    while (place := _worst(refit, prices, *scratch)) >= 0:
        remove_feature(refit, place)


@compiled
def _worst(refit: Refit, prices: Vector, lines: Matrix, missed: Matrix, sums: Vector) -> int:
    """The place of the feature that is least worth its price; −1 if all are. Worths are added to ``sums``."""
    size = refit.size[0]
    losses(refit, lines[0], lines[1], missed)
    freedom = refit.counts[0] - refit.ranks[size, 0]
    left = max(refit.squares[size, 0], _ROUNDING * refit.squares[0, 0])
    base = _base(refit, size - 1)
    worst, least = -1, 0.0
    for place in range(size):
        worth = _squared_normal(freedom, (left + max(missed[place, 0], 0.0)) / left) if left > 0.0 else 0.0
        sums[refit.features[place]] += worth
        over = worth - min(prices[refit.features[place]], base)
        if over < least:
            worst, least = place, over
    return worst


@compiled
def _add(refit: Refit, free: Vector, prices: Vector, limit: int) -> None:
    """Add what is most worth its price, step by step, and keep the steps up to the best sum."""
    kept, total, best = refit.size[0], 0.0, 0.0
    while refit.size[0] < min(limit, kept + _AHEAD):
        j, over = _best_addition(refit, free, prices)
        if j < 0 or not add_feature(refit, j):
            break
        total += over
        if total > best:
            kept, best = refit.size[0], total
        size = refit.size[0] - 1
        for other in range(free.shape[0]):
            along = product(refit.basis[size], refit.design[other], 0, refit.starts[1])
            free[other] -= along * along
    refit.size[0] = kept


@compiled
def _best_addition(refit: Refit, free: Vector, prices: Vector) -> tuple[int, float]:
    """The feature that is most worth its price, and by how much; −1 if there is none to add."""
    size = refit.size[0]
    squares, freedom = refit.squares[size, 0], refit.counts[0] - refit.ranks[size, 0] - 1
    least = _ROUNDING * refit.squares[0, 0]
    base = _base(refit, size)
    best, most = -1, -np.inf
    if freedom < 1 or squares <= least:
        return best, most
    for j in range(free.shape[0]):
        if free[j] > _DEPENDENT:
            slope = product(refit.design[j], refit.residuals[size], 0, refit.starts[1])
            left = max(squares - slope * slope / free[j], least)
            over = _squared_normal(freedom, squares / left) - min(prices[j], base)
            if over > most:
                best, most = j, over
    return best, most


@compiled
def _free_columns(refit: Refit, free: Vector) -> None:
    """What is left of every column, squared, once the features explain it."""
    for j in range(free.shape[0]):
        free[j] = product(refit.design[j], refit.design[j], 0, refit.starts[1])
        for place in range(refit.size[0]):
            along = product(refit.basis[place], refit.design[j], 0, refit.starts[1])
            free[j] -= along * along


@compiled
def _base(refit: Refit, size: int) -> float:
    """Price of one feature more than ``size``, of all that there are."""
    dim = refit.design.shape[0]
    choices = max(dim - size, 1) / np.sqrt(size + 1.0)
    return max(log(max(1.0 * refit.counts[0], 1.0)) + 2.0 * log(choices), _LEAST)


@compiled
def _squared_normal(freedom: int, ratio: float) -> float:
    """Wallace (1959): a ratio of residual squares as the square of a normal number, nearly."""
    factor = (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0)
    return factor * factor * freedom * log(ratio)
