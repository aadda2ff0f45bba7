"""An experiment in memory: ask for an arm, tell the outcome, read the estimates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from equipoise.core import arms as kernel
from equipoise.core.anew import rebuild, withdraw
from equipoise.core.assignment import Assignment
from equipoise.core.batch import most_decided, score_arm, score_contexts
from equipoise.core.choice import choose
from equipoise.core.estimates import Estimates
from equipoise.core.inputs import checked_batch, checked_context, checked_outcome, checked_seed
from equipoise.core.layout import (
    KNOWN,
    LOST,
    PENDING,
    SET_ASIDE,
    TOLD,
    WITHDRAWN,
    Matrix,
    State,
    Vector,
    with_capacity,
)
from equipoise.core.limits import restrict
from equipoise.core.policy import Policy, parse_policy
from equipoise.core.problem import Problem
from equipoise.core.roster import enlarged, exhausted, remaining_units, set_open
from equipoise.core.staged import StagedPolicy
from equipoise.core.stages import first_stage, next_stage, with_arm
from equipoise.core.summary import estimate_experiment
from equipoise.errors import (
    AssignmentClosed,
    AssignmentNotFound,
    BudgetExhausted,
    InvalidArgument,
    OutcomeConflict,
)

_FIRST_CAPACITY = 1024


class Experiment:
    """Allocates the units of one problem with one policy.

    The same contexts, outcomes and seed give the same arms, bit for bit. Every method either does
    its whole work or raises and changes nothing.

    Parameters
    ----------
    problem
        What is to be estimated.
    policy
        A policy, or its text form such as ``"trace-ucb:width=0.5"``; ``"trace-gain"`` unless given.
    seed
        Decides what is drawn by lot, and which arm goes first when scores and pulls tie. The order
        depends on the names of the arms, not on their places in the list.

    Examples
    --------
    >>> import numpy as np
    >>> import equipoise as eq
    >>> problem = eq.Problem(arms=["placebo", "drug"], dim=2, budget=20, moment=np.eye(2))
    >>> experiment = eq.Experiment(problem, policy=eq.TraceUCB(), seed=7)
    >>> rng = np.random.default_rng(1)
    >>> while experiment.remaining:
    ...     x = rng.normal(size=2)
    ...     assignment = experiment.ask(x)
    ...     experiment.tell(assignment.id, float(x.sum() + rng.normal()))
    >>> experiment
    Experiment(policy='trace-ucb', seed=7, asked=20, told=20, pending=0, remaining=0)
    """

    def __init__(self, problem: Problem, policy: Policy | str = "trace-gain", seed: int = 0) -> None:
        if not isinstance(problem, Problem):
            raise InvalidArgument(f"{problem!r} is not a Problem", hint="build one with eq.Problem(...)")
        self.problem = problem
        self.policy = parse_policy(policy)
        self.seed = checked_seed(seed)
        self._scores = np.zeros(len(problem.arms))
        self._asked = 0
        capacity = min(problem.units, _FIRST_CAPACITY)
        self._stage = first_stage(problem, self.policy, self.seed, capacity=capacity)
        # All features of all contexts, where a stage sees only some of them.
        self._contexts = None if self._stage.whole else np.zeros((capacity, problem.dim))

    # The life of a unit

    def ask(self, x: npt.ArrayLike) -> Assignment:
        """Assign the next unit, whose context is ``x``, to an arm."""
        context = checked_context(x, self.problem.dim)
        self._check_open()
        self._make_room(1)
        self._advance()
        return self._assign(context)

    def ask_many(self, contexts: npt.ArrayLike) -> list[Assignment]:
        """Assign a batch of units together, better than one by one.

        A policy that looks at contexts assigns first those whose arm is clear, and evens out with the
        rest; other policies take them as they come. Assignments come back in the order of
        ``contexts``; ids tell the order in which units were assigned.

        Parameters
        ----------
        contexts
            One row a unit. If any is not valid, or the budget does not suffice for all, none is
            assigned.
        """
        batch = checked_batch(contexts, self.problem.dim)
        if not len(batch):
            return []
        self._check_open()
        if len(batch) > self.remaining:
            raise BudgetExhausted(
                f"{len(batch)} units are more than the {self.remaining} that the budget has left",
                hint="ask for fewer",
            )
        self._make_room(len(batch))
        if not self._state.trial["limited"][0]:
            return self._assign_batch(batch)
        # Arms of different costs: whether the money suffices shows only on the way.
        before = replace(self._stage, state=State._make(array.copy() for array in self._state)), self._asked
        try:
            return self._assign_batch(batch)
        except BudgetExhausted:
            self._stage, self._asked = before
            raise

    def tell(self, id: int, outcome: float) -> None:
        """Record the outcome of a unit. The same value twice is accepted and ignored."""
        row = self._row(id)
        value = checked_outcome(outcome)
        status = self._state.rows["status"][row]
        if status == PENDING:
            kernel.observe(self._state, row, value)
        elif status in KNOWN:
            known = float(self._state.outcomes[row])
            if known != value:
                raise OutcomeConflict(
                    f"unit {id} already has outcome {known!r}, not {value!r}",
                    hint=f"to replace it call correct({id}, {value!r})",
                )
        else:
            raise self._closed(id, status, f"to enter its outcome after all call correct({id}, {value!r})")

    def correct(self, id: int, outcome: float) -> None:
        """Set the outcome of a unit whatever it was: told, pending or lost; the arm is computed anew.

        Decisions and features that were chosen with the old value stay as they are.
        """
        row = self._row(id)
        value = checked_outcome(outcome)
        status = self._state.rows["status"][row]
        if status == WITHDRAWN:
            raise self._closed(id, status, "withdrawn units stay out")
        self._state.outcomes[row] = value
        if status != SET_ASIDE:
            self._state.rows["status"][row] = TOLD
            rebuild(self._state, int(self._state.rows["arm"][row]))

    def lose(self, id: int) -> None:
        """Declare that a pending outcome will never come. Its place in the budget stays used."""
        row = self._row(id)
        status = self._state.rows["status"][row]
        if status == PENDING:
            kernel.lose(self._state, row)
        elif status != LOST:
            raise self._closed(id, status, f"to remove a unit altogether call withdraw({id})")

    def withdraw(self, id: int) -> None:
        """Remove a unit, outcome and context, as if it had never been assigned.

        Its place in the budget stays used, and past decisions stay as they were.
        """
        row = self._row(id)
        if self._state.rows["status"][row] != WITHDRAWN:
            withdraw(self._state, row)

    # The arms

    def close(self, arm: str) -> None:
        """Give the arm no further units; it stays in the estimates, and its floor no longer counts."""
        set_open(self, arm, False)

    def reopen(self, arm: str) -> None:
        """Let a closed arm get units again, under its floor and cap as before.

        Nothing was kept for it meanwhile: if what is left no longer pays for every open arm's floor,
        floors are filled as far as it goes.
        """
        set_open(self, arm, True)

    def add(
        self, arm: str, *, weight: float = 1.0, cost: float = 1.0, floor: int = 0, cap: int | None = None
    ) -> None:
        """Let a new arm join; what is left of the budget must pay for its start of d + 1 units, or its floor.

        Where features are chosen first, the start are the units that choosing them and fitting them takes.

        Past decisions stay as they were. ``problem`` then lists the arm last.
        """
        problem = enlarged(self, arm, weight=weight, cost=cost, floor=floor, cap=cap)
        self._stage = with_arm(self._stage, problem, self.seed)
        self.problem = problem
        self._scores = np.zeros(len(problem.arms))

    # What is known

    def estimates(self, *, ridge: float | str | None = "pooled", confidence: float = 0.95) -> Estimates:
        """Models of all arms with intervals and errors; see :func:`equipoise.core.estimates`.

        Parameters
        ----------
        ridge
            How coefficients are estimated: shrunk as far as the data justify, ``"pooled"`` towards
            what the arms have in common, ``"empirical-bayes"`` towards 0 or ``"leave-one-out"``; or
            with a given λ, ``None`` for 1/n.
        confidence
            Chance with which each interval covers the truth.
        """
        self._settle()
        return estimate_experiment(self, ridge=ridge, confidence=confidence)

    @property
    def support(self) -> tuple[int, ...] | None:
        """Features that the models have, counted from 0; None while they are yet to be chosen."""
        return tuple(self._stage.columns.tolist()) if self._stage.chosen else None

    @property
    def asked(self) -> int:
        """Units assigned so far."""
        return self._asked

    @property
    def remaining(self) -> int:
        """Most units that can still be assigned: 0 when ``ask`` would raise, and not before.

        Without costs, caps and closed arms these are the units left in the budget.
        """
        return remaining_units(self)

    @property
    def spent(self) -> float:
        """What the units assigned so far have cost, lost and withdrawn ones included."""
        return float(np.sum(self.problem.costs * self._state.arms["assigned"]))

    @property
    def closed(self) -> tuple[str, ...]:
        """Arms that get no further units."""
        return tuple(self.problem.arms[i] for i in np.flatnonzero(self._state.arms["open"] == 0))

    @property
    def pending(self) -> list[int]:
        """Ids of units whose outcome is awaited."""
        return [int(row) + 1 for row in np.flatnonzero(self._status() == PENDING)]

    @property
    def counts(self) -> dict[str, int]:
        """Units an arm that count: assigned, neither lost nor withdrawn."""
        counts = self._state.arms["count"] + self._state.arms["set_aside"]
        return dict(zip(self.problem.arms, counts.tolist(), strict=True))

    def data(self, arm: str) -> tuple[npt.NDArray[np.float64], Vector]:
        """Contexts and outcomes known of one arm, in the order of assignment."""
        i = self.problem.index(arm)
        used = slice(self._asked)
        mine = (self._state.rows["arm"][used] == i) & np.isin(self._status(), KNOWN)
        contexts = self._state.contexts if self._contexts is None else self._contexts
        return contexts[used][mine], self._state.outcomes[used][mine]

    def __repr__(self) -> str:
        told = int(np.count_nonzero(np.isin(self._status(), KNOWN)))
        return (
            f"Experiment(policy={self.policy.label!r}, seed={self.seed}, asked={self._asked}, told={told}, "
            f"pending={len(self.pending)}, remaining={self.remaining})"
        )

    # Helpers

    @property
    def _state(self) -> State:
        return self._stage.state

    @_state.setter
    def _state(self, state: State) -> None:
        self._stage = replace(self._stage, state=state)

    def _settle(self) -> None:
        if not kernel.is_settled(self._state):
            kernel.settle(self._state)

    def _advance(self) -> None:
        """Go on to the next stage if it is due."""
        if self._contexts is not None and self._stage.is_due():
            assert isinstance(self.policy, StagedPolicy)
            self._stage = next_stage(
                self._stage, self._contexts, self.problem, self.policy, self.seed, reuse=self.policy.reuse
            )

    def _assign(self, context: Vector) -> Assignment:
        self._settle()
        stage = self._stage
        self._state.contexts[self._asked] = stage.seen_by(context)
        if self._contexts is not None:
            self._contexts[self._asked] = context
        i = choose(stage.state, stage.score, stage.settings, self._scores)
        kernel.assign(stage.state, i)
        self._asked += 1
        arms, chance = self.problem.arms, float(self._state.trial["chance"][0])
        top = arms[int(self._state.trial["top"][0])]
        return Assignment(self._asked, arms[i], arms, self._scores.copy(), top, chance)

    def _assign_batch(self, batch: Matrix) -> list[Assignment]:
        units: list[Assignment] = []
        for context in batch:
            self._check_open()
            self._advance()
            if type(self._stage.policy).looks:
                return units + self._assign_together(batch[len(units) :])
            units.append(self._assign(context))
        return units

    def _assign_together(self, batch: Matrix) -> list[Assignment]:
        """The units of a policy that looks, those whose arm is clear first."""
        stage = self._stage
        assigned: list[Assignment | None] = [None] * len(batch)
        seen = np.ascontiguousarray(stage.seen_by(batch))
        waiting = np.ones(len(batch), np.int64)
        table = np.zeros((len(batch), len(self.problem.arms)))
        for turn in range(len(batch)):
            self._check_open()
            self._settle()
            if turn == 0:
                score_contexts(stage.state, stage.score, stage.settings, seen, waiting, table)
            j = most_decided(self._state, waiting, table, self._scores)
            waiting[j] = 0
            assigned[j] = unit = self._assign(batch[j])
            if turn + 1 < len(batch):
                arm = self.problem.index(unit.arm)
                score_arm(stage.state, stage.score, stage.settings, seen, waiting, table, arm)
        return [unit for unit in assigned if unit is not None]

    def _make_room(self, units: int) -> None:
        """Rows for more units, as many as the budget can pay for."""
        capacity = len(self._state.outcomes)
        if self._asked + units > capacity:
            capacity = min(self.problem.units, max(2 * capacity, self._asked + units))
            self._state = with_capacity(self._state, capacity)
            if self._contexts is not None:
                larger = np.zeros((capacity, self.problem.dim))
                larger[: self._asked] = self._contexts[: self._asked]
                self._contexts = larger

    def _check_open(self) -> None:
        """Refuse a unit that no arm may get."""
        limited = self._state.trial["limited"][0]
        if self._asked == self.problem.units or (limited and not restrict(self._state, self._scores)):
            raise exhausted(self)

    def _status(self) -> npt.NDArray[np.int64]:
        status: npt.NDArray[np.int64] = self._state.rows["status"][: self._asked]
        return status

    def _row(self, id: int) -> int:
        if isinstance(id, bool) or not isinstance(id, int | np.integer) or not 1 <= id <= self._asked:
            raise AssignmentNotFound(f"no unit was assigned under id {id!r}", hint="ids come from ask(x).id")
        return int(id) - 1

    def _closed(self, id: int, status: int, hint: str) -> AssignmentClosed:
        word = {LOST: "was declared lost", WITHDRAWN: "was withdrawn"}.get(status, "already has an outcome")
        return AssignmentClosed(f"unit {id} {word}", hint=hint)
