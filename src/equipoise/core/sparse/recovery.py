"""Joint support recovery (stage one of Algorithm 2): the features that matter to any arm.

Outcomes go into the block lasso in units of what is noise to it, which differs between arms. At the
penalties of the path that is not only an arm's own noise but also the signal of features that have not
entered yet, so a unit holds a share of the outcomes' mean square too. The first pass takes the mean
square alone, and its residuals give the noise for the second.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arrays import Matrix, Vector
from equipoise.core.sparse.criteria import CRITERIA, Rows, eliminated
from equipoise.core.sparse.own import own_features
from equipoise.core.sparse.path import Entry, first_support
from equipoise.core.sparse.refit import Refit, add_feature, new_refit
from equipoise.core.sparse.rows import checked_rows
from equipoise.core.sparse.standardised import Standardised, mean_squares, standardise
from equipoise.errors import InvalidArgument

# Degrees of freedom that every arm keeps: one for its noise, one for the test of a feature.
_SPARE = 2
# How much of the outcomes' mean square counts as noise in the second pass.
_SIGNAL = 0.3
# Features that a joint choice finds at most where arms choose for themselves after it.
_JOINT_MOST = 24
# Arms with less than this share of the rows of the largest do not take part in it.
_ENOUGH = 0.4
BY_SPARSITY = ("elimination", "path")


@dataclass(frozen=True)
class Recovery:
    """The joint support, and how clear-cut it was."""

    columns: npt.NDArray[np.int64]
    """Sorted features of the joint support Ŝ."""
    entered: tuple[Entry, ...]
    """Features in the order in which they entered the path, runners-up included, with their λ/λ_max."""
    penalty: float
    """λ/λ_max at which the last feature of Ŝ entered, or that was chosen; 1 if Ŝ is empty."""
    criterion: str
    """``"sparsity"`` when the number of features was given, else the name of the criterion."""
    left_out: npt.NDArray[np.int64]
    """Features that entered the path and are linear combinations of Ŝ in every arm."""
    noise: Vector
    """[m] noise variances after the first pass, which weighted the arms; NaN for an arm without rows."""
    own: tuple[npt.NDArray[np.int64], ...] = ()
    """Features of every arm, where arms have chosen for themselves; else none, and all have Ŝ."""

    def of_arm(self, i: int) -> npt.NDArray[np.int64]:
        """Features of arm i; an arm that has joined since the choice has Ŝ."""
        return self.own[i] if i < len(self.own) else self.columns

    def others(self, i: int, dim: int) -> npt.NDArray[np.int64]:
        """[d] how many arms other than i have each feature, as far as arms have chosen for themselves."""
        counts = np.zeros(dim, np.int64)
        for other, columns in enumerate(self.own):
            counts[columns] += other != i
        return counts


def recover_support(
    contexts: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    arms: npt.ArrayLike,
    arm_count: int,
    *,
    sparsity: int | None = None,
    most: int | None = None,
    criterion: str = "elimination",
) -> Recovery:
    """Features with a coefficient in any arm, from rows of contexts, outcomes and arms 0 … m − 1.

    With ``sparsity`` s the path is followed past s features and least squares drops the weakest until s
    are left; ``criterion="path"`` takes the first λ with s active features instead. Without it the
    criterion decides: ``"elimination"``, ``"ebic"``, ``"cross-validation"`` or ``"stability"``. Supports
    never have more than ``most`` features, nor so many that an arm with rows keeps less than two degrees of
    freedom.

    >>> contexts = np.random.default_rng(1).normal(size=(90, 40))
    >>> arms = np.arange(90) % 3
    >>> outcomes = np.where(arms == 0, 2.0, -1.0) * contexts[:, 7] + contexts[:, 30]
    >>> recover_support(contexts, outcomes, arms, 3).columns
    array([ 7, 30])
    """
    contexts, outcomes, arms = checked_rows(contexts, outcomes, arms, arm_count)
    _check_numbers(sparsity, most, criterion)
    return _recovered(contexts, outcomes, arms, arm_count, sparsity, most, criterion, contexts.shape[1])


def recover_supports(
    contexts: npt.ArrayLike,
    outcomes: npt.ArrayLike,
    arms: npt.ArrayLike,
    arm_count: int,
    *,
    most: int | None = None,
    criterion: str = "elimination",
) -> Recovery:
    """Features of every arm: those that arms share, and those that arms have alone.

    After a joint choice of no more than 24 features every arm chooses for itself (own.py). ``columns`` of the
    recovery are what any arm has; if these are more than ``most``, or half the rows of an arm, those that are
    worth most.

    >>> contexts = np.random.default_rng(1).normal(size=(120, 40))
    >>> arms = np.arange(120) % 3
    >>> outcomes = contexts[:, 7] + np.where(arms == 0, 2.0 * contexts[:, 30], contexts[:, 0])
    >>> recover_supports(contexts, outcomes, arms, 3).own
    (array([ 7, 30]), array([0, 7]), array([0, 7]))
    """
    contexts, outcomes, arms = checked_rows(contexts, outcomes, arms, arm_count)
    _check_numbers(None, most, criterion)
    counts = np.bincount(arms, minlength=arm_count)
    # The arm with the fewest rows limits the joint choice: those with next to none do not take part.
    taking = counts >= _ENOUGH * counts.max(initial=0)
    part = taking[arms]
    joint = _recovered(
        contexts[part], outcomes[part], arms[part], arm_count, None, None, criterion, _JOINT_MOST
    )
    own, worth = own_features(contexts, outcomes, arms, arm_count, joint.columns)
    union = np.flatnonzero(worth > 0.0)
    room = int(counts[taking].min()) // 2
    room = room if most is None else min(room, most)
    best = union[np.argsort(-worth[union], kind="stable")[:room]]
    return replace(joint, columns=np.sort(best), own=own)


def _recovered(
    contexts: Matrix,
    outcomes: Vector,
    arms: npt.NDArray[np.int64],
    arm_count: int,
    sparsity: int | None,
    most: int | None,
    criterion: str,
    largest: int,
) -> Recovery:
    """The joint choice of at most ``largest`` features."""
    data = standardise(contexts, outcomes, arms, arm_count)
    told = data.counts[data.counts > 0]
    room = int(np.clip(told.min() - _SPARE, 0, min(contexts.shape[1], largest))) if len(told) else 0
    wanted = room if most is None else min(most, room)
    squares = mean_squares(data.outcomes, data)
    scale = np.sqrt(np.where(squares > 0.0, squares, 1.0))
    rows = Rows(contexts, outcomes, arms, data, scale, room, wanted)
    first, _ = eliminated(rows, sparsity)
    noise = _noise(first.refit)
    mixed = _SIGNAL * squares + (1.0 - _SIGNAL) * np.nan_to_num(noise)
    rows = rows._replace(scale=np.sqrt(np.where(mixed > 0.0, mixed, 1.0)))
    found, columns = eliminated(rows, sparsity)
    penalties = dict(found.entered)
    share = min((penalties[j] for j in columns), default=1.0)
    if criterion == "path":
        refit, share = first_support(data, rows.scale, min(sparsity or 0, wanted))
        columns = [int(j) for j in refit.features[: refit.size[0]]]
    elif sparsity is None and criterion != "elimination":
        columns = CRITERIA[criterion](rows)
        share = min((penalties.get(j, share) for j in columns), default=1.0)
    columns, left_out = _independent(data, columns, found.refused)
    return Recovery(
        columns=np.array(sorted(columns), dtype=np.int64),
        entered=tuple(found.entered),
        penalty=share,
        criterion=criterion if sparsity is None else "sparsity",
        left_out=np.array(sorted(left_out), dtype=np.int64),
        noise=noise,
    )


def _noise(refit: Refit) -> Vector:
    """RSS/dof of every arm."""
    size = refit.size[0]
    dof = refit.counts - refit.ranks[size]
    return np.where(dof > 0, refit.squares[size] / np.maximum(dof, 1), np.nan)


def _independent(data: Standardised, columns: list[int], refused: list[int]) -> tuple[list[int], list[int]]:
    """Features of the support that are not combinations of earlier ones, and those seen that are."""
    refit = new_refit(data, len(columns) + len(refused))
    kept = [j for j in columns if add_feature(refit, j)]
    left_out = [j for j in columns if j not in kept]
    for j in refused:
        if j not in columns and kept:
            size = refit.size[0]
            if not add_feature(refit, j):
                left_out.append(j)
            refit.size[0] = size
    return kept, left_out


def _check_numbers(sparsity: Any, most: Any, criterion: str) -> None:
    for name, number in (("sparsity", sparsity), ("most", most)):
        whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
        if number is not None and not (whole and number >= 0):
            raise InvalidArgument(f"{name}={number!r} is not a whole number of at least 0")
    known = BY_SPARSITY if sparsity is not None else tuple(CRITERIA)
    if criterion not in known:
        words = ", ".join(f"'{word}'" for word in known)
        given = "with" if sparsity is not None else "without"
        raise InvalidArgument(f"no criterion {criterion!r} {given} sparsity", hint=f"one of {words}")
