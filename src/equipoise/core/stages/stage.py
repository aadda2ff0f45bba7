"""The stages of an experiment: most policies have one; those that choose features have several.

A stage is a trial in the coordinates of some columns of the contexts. Before any feature is chosen there
are none: least squares without features, whose σ̂² is the mean square of the outcomes. When features are
chosen, the rows stay where they are and everything is computed anew from the chosen columns.

Outcomes that have chosen the features would flatter a fit to the same features, so they are set aside
unless the policy reuses them. Outcomes that were still awaited have chosen nothing, and count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arms import least_squares as kernel
from equipoise.core.arms.rebuild import rebuild, rebuild_all
from equipoise.core.arms.state import (
    BASELINES,
    KNOWN,
    SET_ASIDE,
    TOLD,
    State,
    copied,
    set_limits,
    with_another_arm,
)
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.choice.by_weights import recall
from equipoise.core.jit.decorators import compiled
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import Policy
from equipoise.core.policies.base.scores import score_address
from equipoise.core.policies.base.settings import score_settings
from equipoise.core.policies.base.staged import Columns, StagedPolicy
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.fresh import trial_state
from equipoise.core.stages.held import held_units

if TYPE_CHECKING:
    from equipoise.core.sparse import Recovery

_NEVER = 2**62
# Arms with less than this share of the outcomes that choosing features takes are not asked.
_ENOUGH = 0.5


@dataclass(frozen=True, eq=False)
class Stage:
    """A trial in the coordinates of some columns, and what ends it."""

    problem: Problem
    """The problem of these columns alone."""
    policy: Policy
    """Who chooses arms."""
    columns: Columns
    """Features of the contexts that it sees."""
    whole: bool
    """Whether these are all, for good."""
    state: State
    settings: Vector
    start: int
    """Units that an arm which joins now needs."""
    needed: npt.NDArray[np.int64]
    """[m] outcomes an arm that end the stage."""
    needed_in_all: int = _NEVER
    """Outcomes in all that end it, as well."""
    reserve: float = -math.inf
    """Money left at which it ends if half of these outcomes are there and the others on their way."""
    chosen: bool = True
    """Whether the columns are those of the models; else these are yet to be chosen."""
    recovery: Recovery | None = None
    """How the columns were chosen, if they were not known."""
    screened: int = 0
    """Outcomes that they were chosen from."""
    held: npt.NDArray[np.int64] | None = None
    """[m] units that arms get at least, beside their floors, because their features are not evident yet."""

    @property
    def score(self) -> int:
        """Address of the score of ``policy`` in this process."""
        return score_address(self.policy)

    @property
    def may_end(self) -> bool:
        """Whether another stage may follow."""
        return self.needed_in_all < _NEVER

    def is_due(self) -> bool:
        """Whether the next stage begins with the next unit."""
        return self.may_end and is_due(self.state, self.needed, self.needed_in_all, self.reserve)

    @property
    def floors(self) -> Vector:
        """[m] units that arms get at least in this stage."""
        return self.problem.floors if self.held is None else np.maximum(self.problem.floors, self.held)

    def seen_by(self, contexts: Matrix) -> Matrix:
        """The columns of the stage, of one context or many."""
        return contexts if self.whole else contexts[..., self.columns]


@dataclass(frozen=True, eq=False)
class Choice:
    """A choice of features, as it was made."""

    recovery: Recovery
    held: npt.NDArray[np.int64] | None
    """[m] as in :class:`Stage`."""


@compiled
def is_due(state: State, needed: npt.NDArray[np.int64], needed_in_all: int, reserve: float) -> bool:
    """Whether the outcomes that a stage waits for have come, or cannot be waited for any longer."""
    observed, waits, patient = 0, False, False
    left = state.trial[0].money
    for i in range(state.arms.shape[0]):
        arm = state.arms[i]
        observed += arm.observed
        left -= arm.cost * arm.assigned
        # An arm that takes no further units will not have more outcomes than are on their way.
        takes = arm.open and arm.assigned < arm.cap
        if arm.observed < needed[i] and (takes or arm.pending > 0):
            waits = True
            # Units that are still to be given are given, and half of the outcomes is the least to go by.
            patient = patient or arm.count < needed[i] or 2 * arm.observed < needed[i]
    return (not waits or (left <= reserve and not patient)) and observed >= needed_in_all


def first_stage(problem: Problem, policy: Policy, seed: int, *, capacity: int) -> Stage:
    """What an experiment starts with; ``policy.check(problem)`` has been called before."""
    columns, acting, part, chosen = np.arange(problem.dim), policy, problem, True
    needed, reserve = math.inf, 0
    if isinstance(policy, StagedPolicy):
        known = policy.known_columns(problem)
        acting = acting_policy(policy, known)
        if known is None:
            needed, reserve = policy.screening(problem), policy.reserve(problem)
            known, chosen = np.zeros(0, np.int64), False
        columns, part = known, problem.on_columns(known)
    screens = needed < math.inf
    return Stage(
        problem=part,
        policy=acting,
        columns=columns,
        whole=acting is policy,
        state=trial_state(part, acting, seed, capacity=capacity),
        settings=_settings(acting, part),
        start=int(needed) + reserve if screens else part.dim + 1,
        needed=np.full(len(problem.arms), int(needed) if screens else 0),
        needed_in_all=0 if screens else _NEVER,
        reserve=reserve * exact_sum(problem.costs) if screens else -math.inf,
        chosen=chosen,
    )


def next_stage(
    stage: Stage,
    contexts: Matrix,
    problem: Problem,
    policy: StagedPolicy,
    seed: int,
    *,
    reuse: bool,
    known: Choice | None = None,
) -> Stage:
    """Choose features from the outcomes known, and go on among them; ``stage`` stays as it is.

    ``contexts`` are those of all units, in all features; ``reuse`` tells whether outcomes that choose
    features serve estimates as well. ``known`` is a choice that was made before, as a log has it.
    """
    recovery = None if known is None else known.recovery
    following = _chosen(stage, contexts, problem, policy, seed, reuse=reuse, recovery=recovery)
    if not (policy.by_arm and reuse) or following.recovery is None:
        return following
    if known is None:
        held = held_units(problem, following.state, contexts, following.recovery)
        following = replace(following, held=held if held.any() else None)
    else:
        following = replace(following, held=known.held)
    set_limits(following.state.arms, following.state.trial, problem.costs, following.floors, problem.caps)
    return following


def _chosen(
    stage: Stage,
    contexts: Matrix,
    problem: Problem,
    policy: StagedPolicy,
    seed: int,
    *,
    reuse: bool,
    recovery: Recovery | None = None,
) -> Stage:
    """The stage among the features that the outcomes known choose, or have chosen."""
    old = stage.state
    step = int(old.trial["step"][0])
    told = _choosing_rows(old, step, math.inf if policy.by_arm and reuse else policy.screening(problem))
    if recovery is None:
        recovery = policy.recover(
            contexts[told],
            old.outcomes[told],
            np.ascontiguousarray(old.rows["arm"][told]),
            len(problem.arms),
            problem.dim if reuse else _most_columns(problem, old),
        )
    state, acting, part = _moved(old, contexts, problem, policy, recovery.columns, seed)
    if not reuse:
        state.rows["status"][told] = SET_ASIDE
        state.arms["set_aside"] += np.bincount(old.rows["arm"][told], minlength=len(problem.arms))
    rebuild_all(state)
    settings = _settings(acting, part)
    recall_assignments(state, acting, settings)
    return Stage(
        problem=part,
        policy=acting,
        columns=recovery.columns,
        whole=False,
        state=state,
        settings=settings,
        start=part.dim + 1,
        needed=np.zeros(len(problem.arms), np.int64),
        needed_in_all=_NEVER if policy.growth == math.inf else _grown(state, policy.growth),
        recovery=recovery,
        screened=len(told),
    )


def on_own_columns(
    last: Stage, contexts: Matrix, problem: Problem, policy: StagedPolicy, columns: Columns, seed: int
) -> Stage:
    """A settled stage's rows, fitted to some other columns: for estimates alone."""
    state, acting, part = _moved(last.state, contexts, problem, policy, columns, seed)
    rebuild_all(state)
    moved = replace(
        last,
        problem=part,
        policy=acting,
        columns=columns,
        state=state,
        settings=_settings(acting, part),
    )
    return _settled(moved)


def taken_over(
    stage: Stage, contexts: Matrix, problem: Problem, policy: Policy, seed: int, *, capacity: int
) -> Stage:
    """The rows of a stage under another policy, which sees all features: everything is computed anew."""
    every, old = np.arange(problem.dim), copied(stage.state, capacity)
    state, _, _ = _moved(old, contexts, problem, policy, every, seed)
    # All features are seen before and after, so what redacted units have left means the same.
    state = state._replace(**{name: getattr(old, name) for name in BASELINES})
    rebuild_all(state)
    fresh = first_stage(problem, policy, seed, capacity=1)
    recall_assignments(state, policy, fresh.settings)
    return replace(fresh, state=state)


def _moved(
    old: State, contexts: Matrix, problem: Problem, policy: Policy, columns: Columns, seed: int
) -> tuple[State, Policy, Problem]:
    """The rows of a state in the coordinates of some columns, yet to be rebuilt; who acts there; the part."""
    step = int(old.trial["step"][0])
    acting = acting_policy(policy, columns)
    part = problem.on_columns(columns)
    state = trial_state(part, acting, seed, capacity=len(old.outcomes))
    state.rows[:step], state.outcomes[:step] = old.rows[:step], old.outcomes[:step]
    state.contexts[:step] = contexts[:step, columns]
    for name in ("assigned", "last_row", "open", "set_aside", "order"):
        state.arms[name] = old.arms[name]
    state.trial["step"], state.trial["number"] = step, old.trial["number"]
    set_limits(state.arms, state.trial, problem.costs, problem.floors, problem.caps)
    return state, acting, part


def _choosing_rows(state: State, step: int, screening: float) -> npt.NDArray[np.intp]:
    """Rows whose outcomes choose the features: all that are known, but for arms that have next to none.

    The arm with the fewest rows limits how many features can be told apart. Where arms choose for themselves,
    from an infinite ``screening``, all take part.
    """
    told = np.flatnonzero(state.rows["status"][:step] == TOLD)
    arms: npt.NDArray[np.int64] = state.rows["arm"][told]
    counts = np.bincount(arms, minlength=len(state.arms))
    if screening == math.inf:
        return told
    enough = counts >= _ENOUGH * min(screening, counts.max())
    chosen: npt.NDArray[np.intp] = told[enough[arms]]
    return chosen


def final_stage(stage: Stage, contexts: Matrix, problem: Problem, policy: StagedPolicy, seed: int) -> Stage:
    """The settled stage that estimates rest on; ``stage`` stays as it is.

    While features are yet to be chosen, all outcomes choose them, and all are fitted; so they are where arms
    choose for themselves and reuse what they chose from. An arm whose outcomes since then do not make a model
    is fitted to all that it has.
    """
    anew = not stage.chosen or (policy.by_arm and policy.reuses)
    if anew:
        return _settled(_chosen(stage, contexts, problem, policy, seed, reuse=True))
    return _settled(replace(stage, state=copied(stage.state, len(stage.state.rows))))


def _settled(last: Stage) -> Stage:
    """The same stage, settled, with all outcomes of arms whose later ones do not make a model."""
    arms = last.state.arms
    lacking = np.flatnonzero((arms["set_aside"] > 0) & (arms["data_ready"] == 0))
    for i in lacking:
        mine = (last.state.rows["arm"] == i) & (last.state.rows["status"] == SET_ASIDE)
        last.state.rows["status"][mine] = TOLD
        last.state.arms["set_aside"][i] = 0
        rebuild(last.state, int(i))
    if not kernel.is_settled(last.state):
        kernel.settle(last.state)
    return last


def own_coefs(stage: Stage, contexts: Matrix, policy: StagedPolicy) -> Matrix | None:
    """Coefficients of a policy that brings its own estimates, from all outcomes known; else None."""
    state = stage.state
    used = int(state.trial["step"][0])
    known = np.isin(state.rows["status"][:used], KNOWN)
    arms = np.ascontiguousarray(state.rows["arm"][:used][known])
    return policy.fit(contexts[:used][known], state.outcomes[:used][known], arms, len(state.arms))


def with_budget(stage: Stage, problem: Problem) -> Stage:
    """The same stage of a problem that has another budget."""
    part = problem if stage.whole else problem.on_columns(stage.columns)
    state = copied(stage.state, len(stage.state.rows))
    state.trial["budget"], state.trial["money"] = part.units, float(part.budget)
    settings = _settings(stage.policy, part)
    return replace(stage, problem=part, state=state, settings=settings)


def with_arm(stage: Stage, problem: Problem, seed: int) -> Stage:
    """The same stage with the arm that ``problem`` lists last."""
    part = problem if stage.whole else problem.on_columns(stage.columns)
    settings = _settings(stage.policy, part)
    share = exact_sum(problem.costs) / exact_sum(problem.costs[:-1])
    state = with_another_arm(stage.state, trial_state(part, stage.policy, seed, capacity=1))
    recall_assignments(state, stage.policy, settings)
    return replace(
        stage,
        problem=part,
        state=state,
        settings=settings,
        needed=np.append(stage.needed, stage.needed.max()),
        reserve=stage.reserve * share,
        # What is left is to be shared anew; the next choice of features does it.
        held=None,
    )


def recall_assignments(state: State, policy: Policy, settings: Vector) -> None:
    """Fill the memory of a policy that weighs from the rows; others have none."""
    if isinstance(policy, Design):
        recall(state, settings)


def _grown(state: State, factor: float) -> int:
    """So many times the outcomes that are known."""
    known = int(np.sum(state.arms["observed"]))
    return max(math.ceil(factor * known), known + 1)


def acting_policy(policy: Policy, columns: Columns | None) -> Policy:
    """Who chooses arms among the columns of a stage; None: they are yet to be chosen."""
    if not isinstance(policy, StagedPolicy):
        return policy
    # Without a feature there is nothing to be learned, and nothing to balance.
    return policy.first() if columns is None or not len(columns) else policy.second()


def _settings(policy: Policy, problem: Problem) -> Vector:
    score_address(policy)  # refuses a score that cannot be compiled
    return score_settings(policy, problem)


def _most_columns(problem: Problem, state: State) -> int:
    """Features that what is left of the budget can still fit: s + 1 units of every arm."""
    left = problem.budget - exact_sum(problem.costs * state.arms["assigned"])
    taking = (state.arms["open"] != 0) & (state.arms["assigned"] < state.arms["cap"])
    if not taking.any():
        return problem.dim
    units = left / exact_sum(problem.costs[taking]) + float(np.min(state.arms["pending"][taking]))
    return max(int(units) - 1, 0)
