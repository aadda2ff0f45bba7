"""Everything that an experiment knows, as one value.

An experiment holds one record and changes in two ways. Either compiled code changes the record's arrays,
in a single call; or a new record with arrays of its own is made ready, and takes the old one's place.
A record that was replaced never changes again.

Contexts and the book of units are the exception: records share them. Those of assigned units never change,
and rows after them are scratch.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import KNOWN, State, copied
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.experiment.units.book import UnitBook
from equipoise.core.jit.handles import gathered
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.problem import Problem
from equipoise.core.stages.stage import Stage, first_stage

FIRST_CAPACITY = 1024


@dataclass(frozen=True, eq=False, slots=True)
class Record:
    """A problem, who allocates its units, and how far that has come."""

    problem: Problem
    policy: Policy
    seed: int
    stage: Stage
    contexts: Matrix
    """[capacity, d] all features of all units; the state's own contexts where the stage sees all."""
    book: UnitBook
    """Keys of units, and what was given and scored when they were asked for; records share it."""
    paused: bool = False
    """Whether no unit is assigned for the time being."""
    _steps: npt.NDArray[np.int64] = field(init=False, repr=False)
    _gathered: State | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_steps", self.stage.state.trial["step"])

    @property
    def state(self) -> State:
        """The arrays of the stage."""
        return self.stage.state

    @property
    def step(self) -> int:
        """Units assigned so far."""
        step: int = self._steps.item()
        return step

    @property
    def gathered(self) -> State:
        """The state for kernels that are called at every unit; put together when it is first needed."""
        if self._gathered is None:
            object.__setattr__(self, "_gathered", gathered(self.stage.state))
        assert self._gathered is not None
        return self._gathered


def first_record(problem: Problem, policy: Policy, seed: int, *, details: bool = True) -> Record:
    """What an experiment starts with; without ``details`` its book has keys alone."""
    policy.check(problem)  # refuses what cannot be
    capacity = min(problem.units, FIRST_CAPACITY)
    stage = first_stage(problem, policy, seed, capacity=capacity)
    contexts = stage.state.contexts if stage.whole else np.zeros((capacity, problem.dim))
    return Record(problem, policy, seed, stage, contexts, UnitBook(details=details))


def draft(record: Record, units: int = 0, *, share_rows: bool = False) -> Record:
    """The same record in arrays of its own, with room for so many units more.

    With ``share_rows`` rows and outcomes are the same arrays, for whoever assigns units and no more.
    """
    step, capacity = record.step, len(record.contexts)
    if step + units > capacity:
        capacity = min(record.problem.units, max(2 * capacity, step + units))
    stage = replace(record.stage, state=copied(record.state, capacity, share_rows=share_rows))
    if stage.whole:
        contexts = stage.state.contexts
    else:
        contexts = record.contexts
        if capacity > len(contexts):
            contexts = np.zeros((capacity, record.problem.dim))
            contexts[:step] = record.contexts[:step]
    return replace(record, stage=stage, contexts=contexts)


def snapshot(record: Record) -> Record:
    """The record as it is at this moment, for reading: later changes do not reach it."""
    # All copies are made in one step of the interpreter. A signal handler may write between two.
    state = State._make(tuple(map(np.ndarray.copy, record.state._replace(contexts=np.zeros((0, 0))))))
    step = int(state.trial["step"][0])
    seen, contexts = record.state.contexts[:step], record.contexts[:step]
    state = state._replace(contexts=seen, outcomes=state.outcomes[:step], rows=state.rows[:step])
    return replace(record, stage=replace(record.stage, state=state), contexts=contexts)


def rows_and_outcomes(record: Record) -> tuple[npt.NDArray[Any], Vector]:
    """Rows and outcomes of the units assigned, at this moment."""
    state = record.state
    trial, rows, outcomes = tuple(map(np.ndarray.copy, (state.trial, state.rows, state.outcomes)))
    step = int(trial["step"][0])
    return rows[:step], outcomes[:step]


def known_data(record: Record, arm: str) -> tuple[Matrix, Vector]:
    """Contexts and outcomes known of one arm, in the order of assignment."""
    rows, outcomes = rows_and_outcomes(record)
    mine = (rows["arm"] == record.problem.index(arm)) & np.isin(rows["status"], KNOWN)
    return record.contexts[: len(rows)][mine], outcomes[mine]
