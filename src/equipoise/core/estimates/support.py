"""The features that were chosen, and what the outcomes since then say about that choice.

Every arm tests every feature: one in the support by its t statistic, one outside by what it would
add to the arm's least squares. Both are exact for Gaussian noise if the outcomes tested have not chosen
the features. Fisher's method makes one p value of an arm's each; p values are SciPy's, all else is written
arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equipoise.core.arithmetic.linear import (
    column_squares,
    column_sums,
    cross_product,
    dot,
    matvec,
    product,
    solve_lower,
    solve_upper,
)
from equipoise.core.arithmetic.solving import cholesky_solve
from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arms.state import GONE, TOLD
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.estimates.omitted import most_omitted
from equipoise.core.policies.base.staged import Columns
from equipoise.core.problem.problem import Problem
from equipoise.core.sparse.refit import add_feature, new_refit
from equipoise.core.sparse.standardised import standardise
from equipoise.core.text_tables import html_table, text_table

if TYPE_CHECKING:
    from equipoise.core.stages.stage import Stage

_MORE = "screen longer (screen=), name their number (sparsity=) or let features be chosen again (refresh=)"
# A feature outside the support is suspected if chance would raise any such suspicion this rarely.
SUSPICION = 0.01


@dataclass(frozen=True, eq=False)
class Support:
    """Which features the models have, and how sure that is."""

    columns: tuple[int, ...]
    """Features of the models, counted from 0: of any arm, where arms have chosen for themselves."""
    own: tuple[tuple[int, ...], ...]
    """Features of every arm."""
    known: bool
    """Whether they were given, not chosen."""
    final: bool
    """Whether the policy works with them; else they are what the outcomes so far would choose."""
    criterion: str
    """How their number was chosen."""
    screened: int
    """Outcomes that they were chosen from."""
    entered: tuple[tuple[int, float], ...]
    """Features in the order in which they entered, with λ/λ_max at which they did."""
    left_out: tuple[int, ...]
    """Features that were chosen, but are linear combinations of others."""
    p_values: Vector
    """[d] chance of what is seen, or more, if the feature had no effect in any arm."""
    suspects: tuple[int, ...]
    """Features outside that the outcomes speak for."""
    omitted: Vector
    """[m] error that the suspects seem to cause in every arm."""
    most_omitted: Vector
    """[m] upper bound of the error that all features left out cause; ``omitted`` if features were given."""

    @property
    def found_nothing(self) -> bool:
        """Whether features were looked for, and none was found."""
        return self.final and not self.known and not self.columns

    @property
    def complaints(self) -> tuple[str, ...]:
        """What the user should know about the choice."""
        found = []
        if self.suspects:
            listed = ", ".join(map(str, self.suspects[:5])) + (", …" if len(self.suspects) > 5 else "")
            found.append(
                f"features outside the support seem to matter: {listed}; "
                "expected errors include what leaving them out seems to cost. To mend it, "
                + ("name them as well" if self.known else _MORE)
            )
        elif self.found_nothing:
            found.append(
                f"no feature was found in {self.screened} outcomes: expected "
                f"errors are the most that the outcomes' mean squares allow. To find more, {_MORE}"
            )
        if self.left_out:
            listed = ", ".join(map(str, self.left_out[:5]))
            found.append(f"features that are linear combinations of chosen ones are left out: {listed}")
        return tuple(found)

    def record(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "columns": list(self.columns),
            "own": [list(columns) for columns in self.own],
            "known": self.known,
            "final": self.final,
            "criterion": self.criterion,
            "screened": self.screened,
            "entered": [list(pair) for pair in self.entered],
            "left_out": list(self.left_out),
            "p_values": [None if math.isnan(value) else float(value) for value in self.p_values],
            "suspects": list(self.suspects),
            "omitted": self.omitted.tolist(),
            "most_omitted": self.most_omitted.tolist(),
        }

    def __str__(self) -> str:
        return text_table(*self._table())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(*self._table())

    def _table(self) -> tuple[list[str], list[list[str]]]:
        entry = dict(self.entered)
        runners_up = [j for j, _ in self.entered if j not in self.columns][:3]
        rows = []
        for j in [*self.columns, *dict.fromkeys([*self.suspects, *runners_up])]:
            place = "chosen" if j in self.columns else "suspected" if j in self.suspects else "not chosen"
            when = f"{entry[j]:.3f}" if j in entry else ""
            rows.append([str(j), place, when, _p_text(float(self.p_values[j]))])
        return ["feature", "", "entered at", "p value"], rows


def examine_support(
    problem: Problem,
    stages: Sequence[Stage],
    contexts: Matrix,
    *,
    known: bool,
    final: bool,
    confidence: float,
) -> Support:
    """Test the columns of every arm's settled stage; ``contexts`` are those of all units, in all features."""
    from scipy.special import chdtrc, fdtrc

    dim = contexts.shape[1]
    log_p, tests = np.zeros(dim), np.zeros(dim)
    omitted, most = np.zeros(len(stages)), np.zeros(len(stages))
    residuals: list[tuple[int, Columns, Matrix, Vector]] = []
    for i, stage in enumerate(stages):
        arm, columns = stage.state.arms[i], stage.columns
        if not arm["data_ready"] or arm["dof"] < 2 or not arm["rss"] > 0.0:
            if not known and arm["dof"] < 2:
                most[i] = math.inf  # one outcome beside the features says nothing of what they lack
            continue
        rows = stage.state.rows[: len(contexts)]
        mine = (rows["arm"] == i) & (rows["status"] == TOLD)
        outside = np.setdiff1d(np.arange(dim), columns)
        others, left, t_squares = _least_squares(
            contexts[mine], stage.state.outcomes[: len(contexts)][mine], columns
        )
        residuals.append((i, outside, others, left))
        squares = column_squares(others)
        usable = squares > 1e-12 * column_squares(contexts[mine][:, outside])
        along = matvec(others.T, left)
        explained = np.where(usable, along * along / np.where(usable, squares, 1.0), 0.0)
        total, dof = dot(left, left), int(arm["dof"])
        rest = np.maximum(total - explained, 1e-300)
        chance = fdtrc(1, dof - 1, explained / rest * (dof - 1))
        log_p[outside] += np.where(usable, np.log(np.maximum(chance, 1e-300)), 0.0)
        tests[outside] += usable
        log_p[columns] += np.log(np.maximum(fdtrc(1, dof, t_squares), 1e-300))
        tests[columns] += 1
        if not known:
            most[i] = most_omitted(others[:, usable], left, dof, confidence)
    p_values = np.where(tests > 0, chdtrc(2.0 * np.maximum(tests, 1.0), -2.0 * log_p), np.nan)
    union = np.unique(np.concatenate([stage.columns for stage in stages]))
    outside = np.setdiff1d(np.arange(dim), union)
    low = np.nan_to_num(p_values[outside], nan=1.0) * len(outside) < SUSPICION
    suspects = outside[low][np.argsort(p_values[outside][low], kind="stable")]
    if len(suspects):
        for i, others_of, others, left in residuals:
            columns = stages[i].columns
            kept = ~np.isin(stages[i].state.rows["status"][: len(contexts)], GONE)
            moment = _left_over_moment(problem, contexts[kept], suspects, columns)
            places = np.searchsorted(others_of, suspects)
            omitted[i] = _omitted_error(others[:, places], left, len(columns), moment)
    recovery = stages[0].recovery
    return Support(
        columns=tuple(union.tolist()),
        own=tuple(tuple(stage.columns.tolist()) for stage in stages),
        known=known,
        final=final,
        criterion="known" if recovery is None else recovery.criterion,
        screened=stages[0].screened,
        entered=() if recovery is None else tuple(recovery.entered),
        left_out=() if recovery is None else tuple(recovery.left_out.tolist()),
        p_values=p_values,
        suspects=tuple(suspects.tolist()),
        omitted=omitted,
        most_omitted=np.maximum(omitted, most),
    )


def _least_squares(contexts: Matrix, outcomes: Vector, columns: Columns) -> tuple[Matrix, Vector, Vector]:
    """All other features and the outcomes, freed of the columns; squared t statistics of the columns."""
    count, size = len(outcomes), len(columns)
    # Columns of unit length: t statistics have no unit.
    refit = new_refit(standardise(contexts, outcomes, np.zeros(count, np.int64), 1), size)
    for j in columns:
        add_feature(refit, j)
    size = int(refit.size[0])
    basis, left = refit.basis[:size, :count], refit.residuals[size, :count]
    others = np.delete(contexts, columns, axis=1)
    others = others - cross_product(basis, product(basis, others))
    inverse = solve_upper(refit.triangles[0, :size, :size], np.eye(size))
    coef = matvec(inverse, refit.loads[:size, 0])
    variances = column_squares(inverse.T) * dot(left, left) / max(count - len(columns), 1)
    t_squares = np.zeros(len(columns))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.nan_to_num(coef * coef / variances, nan=0.0, posinf=np.inf)
    t_squares[np.isin(columns, refit.features[:size])] = found
    return others, left, t_squares


def _left_over_moment(problem: Problem, contexts: Matrix, outside: Columns, inside: Columns) -> Matrix:
    """Σ of features outside, less what those inside explain of them: what leaving them out costs."""
    both = np.concatenate([outside, inside])
    if problem.moment is not None:
        moment = problem.moment[np.ix_(both, both)]
    else:
        moment = cross_product(contexts[:, both]) / max(len(contexts), 1)
    n = len(outside)
    left_over: Matrix = moment[:n, :n] - cross_product(solve_lower(_root(moment[n:, n:]), moment[n:, :n]))
    return left_over


def _omitted_error(rows: Matrix, left: Vector, fitted: int, moment: Matrix) -> float:
    """bᵀΣb of the suspects' coefficients b in one arm, without what noise adds to it.

    ``rows`` and ``left`` are suspects and outcomes, freed of ``fitted`` other features.
    """
    dof = len(rows) - fitted - rows.shape[1]
    if dof < 1:
        return 0.0
    inverse_root = solve_lower(_root(cross_product(rows)), np.eye(rows.shape[1]))
    coef = matvec(inverse_root.T, matvec(inverse_root, matvec(rows.T, left)))
    rest = left - matvec(rows, coef)
    variance: float = dot(rest, rest) / dof
    noise = variance * exact_sum(column_sums(moment * cross_product(inverse_root)))
    return max(dot(coef, matvec(moment, coef)) - noise, 0.0)


def _root(moment: Matrix) -> Matrix:
    """Lower L with LLᵀ = Σ; ∞ on the diagonal, for a share of 0, where a feature is others' combination."""
    lower = np.array(moment)
    cholesky_solve(lower, np.zeros(len(lower)))
    return np.tril(lower)


def _p_text(value: float) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:.2g}" if value >= 1e-4 else "< 0.0001"
