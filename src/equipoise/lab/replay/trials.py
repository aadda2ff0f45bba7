"""Replayed trials as one compiled loop over the very functions that :class:`equipoise.Experiment` calls.

A trial deals n rows in random order. The policy reads one target of each; the rows that were not
dealt measure the errors, through the whole table's sums minus the rows that were: O(d² + nd) an arm,
however long the table is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arms import least_squares as kernel
from equipoise.core.arms.rebuild import clear
from equipoise.core.arms.state import State
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.choice.highest_score import choose
from equipoise.core.choice.ties import Ties, new_ties, order_arms
from equipoise.core.draws.streams import CONTEXT, Stream, multiply_wide, new_stream, start, word
from equipoise.core.jit.decorators import compiled, inlined
from equipoise.core.jit.handles import handled
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.scores import score_address
from equipoise.core.policies.base.settings import score_settings
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.fresh import trial_state
from equipoise.lab.replay.fit import TableFit
from equipoise.lab.replay.table import ReplayTable
from equipoise.lab.trials import CONFIDENCE, Ledger
from equipoise.lab.verdict import Judge, new_judge, ridge_error

Counts = npt.NDArray[np.int64]


@handled
class Rows(NamedTuple):
    """The table, and how its columns become features and outcomes."""

    contexts: Matrix
    targets: Matrix
    kept: Counts
    shift: Vector
    target_shift: Vector
    constant: Counts  # [1] whether the first feature is 1
    best: Matrix
    residual: Vector
    origin: Vector  # [m] scratch: what is subtracted from the outcomes of every arm in this trial
    truth: Matrix  # [m, d] scratch: best models of such outcomes


@handled
class Deck(NamedTuple):
    """Row numbers in the table's own order between trials, and the swaps that mixed them."""

    order: Counts  # [rows]
    swapped: Counts  # [n]
    seed: Counts  # [1]
    stream: Stream


class Bench(NamedTuple):
    """Everything one worker needs to replay trials of one policy; the table itself is shared."""

    state: State
    rows: Rows
    deck: Deck
    judge: Judge
    score: int
    settings: Vector
    scores: Vector
    ties: Ties


def new_bench(
    table: ReplayTable, fit: TableFit, problem: Problem, policy: Policy, noise: tuple[float, ...], seed: int
) -> Bench:
    """Arrays for trials of ``policy``."""
    policy = policy.informed(noise)
    return Bench(
        state=trial_state(problem, policy, seed, capacity=problem.units),
        rows=new_rows(table, fit),
        deck=new_deck(table, problem.units, seed),
        judge=new_judge(problem.dim, problem.units, 1.0 / problem.units, fit.moment, CONFIDENCE),
        score=score_address(policy),
        settings=score_settings(policy, problem),
        scores=np.zeros(len(problem.arms)),
        ties=new_ties(problem.arms),
    )


def new_rows(table: ReplayTable, fit: TableFit) -> Rows:
    """The table as compiled trials read it."""
    return Rows(
        contexts=_read_only(table.contexts),
        targets=_read_only(table.targets),
        kept=_read_only(fit.kept),
        shift=_read_only(fit.shift),
        target_shift=_read_only(fit.target_shift),
        constant=np.array([fit.constant], np.int64),
        best=_read_only(fit.best),
        residual=_read_only(fit.residual),
        origin=np.zeros(len(fit.best)),
        truth=fit.best.copy(),
    )


def new_deck(table: ReplayTable, units: int, seed: int) -> Deck:
    """The table's rows in order, of which every trial deals some."""
    return Deck(
        order=np.arange(table.rows),
        swapped=np.zeros(units, np.int64),
        seed=np.array([seed], np.int64),
        stream=new_stream(),
    )


def run_trials(bench: Bench, first: int, ledger: Ledger) -> None:
    """Run trials ``first``, ``first`` + 1, … until the ledger is full; coverage is left unknown."""
    _run(*bench, ledger.errors, ledger.counts, first)


@compiled
def _run(
    state: State,
    rows: Rows,
    deck: Deck,
    judge: Judge,
    score: int,
    settings: Vector,
    scores: Vector,
    ties: Ties,
    errors: Matrix,
    counts: Counts,
    first: int,
) -> None:
    for k in range(errors.shape[0]):
        clear(state, first + k)
        order_arms(state, ties, deck.stream)
        deal(deck, first + k)
        for i in range(rows.origin.shape[0]):
            rows.origin[i] = rows.target_shift[i]
        for t in range(deck.swapped.shape[0]):
            row = deck.order[t]
            read_context(rows, row, state.contexts, t)
            # Averages the variances; with outcomes at once nothing is ever unsettled.
            kernel.is_settled(state)
            i = choose(state, score, settings, scores)
            kernel.assign(state, i)
            if rows.constant[0] and state.arms[i].observed == 0:
                # With an intercept an arm's first outcome can be its zero: least squares do not change,
                # and the ridge does not pull predictions towards a zero that means nothing.
                rows.origin[i] = rows.targets[row, i]
            kernel.observe(state, t, rows.targets[row, i] - rows.origin[i])
        for i in range(errors.shape[1]):
            counts[k, i] = state.arms[i].count
            place_truth(rows, i)
            excess = ridge_error(state, judge, i, rows.truth)
            errors[k, i] = held_out_error(rows, deck, state.contexts, judge.coef, excess, i)
        collect(deck)


@inlined
def deal(deck: Deck, trial: int) -> None:
    """The first rows of a random order (Fisher and Yates): a prefix of the same for every budget."""
    rows = deck.order.shape[0]
    start(deck.stream, deck.seed[0], trial, CONTEXT, 0, 0)
    for t in range(deck.swapped.shape[0]):
        # The high half of a product with 64 random bits; unequal chances differ by 2⁻⁶⁴·rows at most.
        place, _ = multiply_wide(word(deck.stream), np.uint64(rows - t))
        j = t + np.int64(place)
        deck.swapped[t] = j
        deck.order[t], deck.order[j] = deck.order[j], deck.order[t]


@inlined
def collect(deck: Deck) -> None:
    """Swap back, so that the next trial starts from the same order without touching every row."""
    for t in range(deck.swapped.shape[0] - 1, -1, -1):
        j = deck.swapped[t]
        deck.order[t], deck.order[j] = deck.order[j], deck.order[t]


@inlined
def read_context(rows: Rows, row: int, contexts: Matrix, t: int) -> None:
    """Write the features of a row of the table as those of unit t."""
    first = rows.constant[0]
    if first:
        contexts[t, 0] = 1.0
    for c in range(rows.kept.shape[0]):
        contexts[t, first + c] = rows.contexts[row, rows.kept[c]] - rows.shift[c]


@inlined
def place_truth(rows: Rows, i: int) -> None:
    """Arm i's best model of outcomes that are counted from this trial's origin."""
    if rows.constant[0]:
        rows.truth[i, 0] = rows.best[i, 0] - rows.origin[i]


@compiled
def held_out_error(rows: Rows, deck: Deck, contexts: Matrix, coef: Vector, excess: float, i: int) -> float:
    """Mean squared error of a model of arm i on the rows that were not dealt.

    ``excess`` is how much worse it is than the best one on the whole table.
    """
    used = 0.0
    budget = deck.swapped.shape[0]
    for t in range(budget):
        residual = rows.targets[deck.order[t], i] - rows.origin[i]
        for c in range(coef.shape[0]):
            residual -= contexts[t, c] * coef[c]
        used += residual * residual
    total = rows.contexts.shape[0]
    left = total * (rows.residual[i] + excess) - used
    return max(left, 0.0) / (total - budget)


def _read_only(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # One kind of array, whoever made it (what comes to a cluster's worker cannot be written to): compiled
    # code is made for a kind.
    view = values.view()
    view.flags.writeable = False
    return view
