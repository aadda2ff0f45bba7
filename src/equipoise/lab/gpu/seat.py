"""One policy in a scenario on a GPU: its programs, and trials run by them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from equipoise.core.arrays import Counts
from equipoise.core.estimates.estimators import ESTIMATORS
from equipoise.core.jit.fingerprint import lasting_fingerprint
from equipoise.core.jit.nvptx import to_ptx
from equipoise.core.jit.sources import is_stamped
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.gpu.driver import Buffer, Device, Program
from equipoise.lab.gpu.kept import array_kinds, array_types, kept_draft, kept_program
from equipoise.lab.gpu.layout import COLUMNS, all_arrays, table_row, trial_bytes
from equipoise.lab.gpu.places import PLACES
from equipoise.lab.gpu.planning import Planning
from equipoise.lab.gpu.programs.elasticities import SOURCES, elasticity_program
from equipoise.lab.gpu.programs.judging import judge_program
from equipoise.lab.gpu.programs.opening import opening_program
from equipoise.lab.gpu.programs.trials import Plan, trial_program
from equipoise.lab.gpu.turns.by_arm import by_arm_program
from equipoise.lab.gpu.turns.sequence import sequence_program
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.ledger import Ledger
from equipoise.lab.trial.world import Draws

REGISTERS = 65_536
"""Of a processor."""


class Drawn(Protocol):
    """What is drawn for a block of trials, in the GPU's memory."""

    @property
    def buffers(self) -> Mapping[str, Buffer]:
        """By the names of arrays."""
        ...

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Of these."""
        ...


class Seat:
    """One policy in a scenario on a GPU."""

    def __init__(self, scenario: Scenario, policy: Policy, seed: int, draws: Draws, device: Device) -> None:
        self._device, self._estimator = device, scenario.estimator
        planning = Planning(scenario, policy, seed, draws, device)
        self._groups, self._arrangements = planning.groups, planning.arrangements
        self.plans, self.trials_at_once = planning.plans, planning.trials_at_once
        self._buffers: dict[tuple[str, str], Buffer] = {}

    @property
    def bytes_a_trial(self) -> int:
        """What a trial takes of the GPU's memory."""
        return sum(
            trial_bytes(array)
            for group, name, array in self._arrays()
            if name in self._lasting(group) or group == "ledger"
        )

    def _arrays(self) -> Iterator[tuple[str, str, Any]]:
        """Group, name and array of all that has memory of its own."""
        for group, name, array in all_arrays(self._groups):
            if group != "records" or name not in SOURCES:
                yield group, name, array

    def free(self) -> None:
        """Give back what it has of the GPU's memory."""
        while self._buffers:
            self._buffers.popitem()[1].free()

    def _lasting(self, group: str) -> frozenset[str]:
        """Arrays that every trial has in the GPU's memory."""
        what = {"choice": "turns", "records": "elasticities"}.get(group, "trials")
        running = self.plans[what].layout.places[group]
        judging = self.plans["judged"].layout.places[group]
        return running.lasting - judging.near

    def run(self, world: Drawn, first: int, count: int, ledger: Ledger, row: int) -> float:
        """Run trials that the world has drawn; fill the ledger from ``row`` on. Seconds."""
        part, results = Ledger._make(values[row : row + count] for values in ledger), {}
        rows = {}
        for group, name, array in self._arrays():
            shape = array.shape
            lasts = name in self._lasting(group)
            stride = trial_bytes(array) if lasts else 0
            if group == "world" and name in world.buffers:
                buffer, shape = world.buffers[name], world.shapes[name]
            elif name in PLACES[group].drawn:
                buffer, stride = world.buffers[name], 8 * math.prod(world.shapes[name][1:])
            elif group == "ledger":
                mine = getattr(part, name)
                buffer, _ = self._room(group, name, mine.nbytes)
                buffer.write(mine)
                shape, results[name] = mine.shape, buffer
            else:
                buffer = self._buffer(group, name, array, count if lasts else 1)
            rows[group, name] = table_row(shape, buffer.address, stride)
        rows |= {("records", name): rows[group, name] for name, group in SOURCES.items()}
        spent = 0.0
        for what in ("turns", "opened", "trials", "elasticities", "judged"):
            if what in self.plans:
                words = (0, count, 0) if what in ("elasticities", "judged") else (first, count, 0)
                spent += self._launch(what, self._table(what, rows), words)
        for name, buffer in results.items():
            buffer.read(getattr(part, name))
        return spent / 1e3

    def _table(self, what: str, rows: Mapping[tuple[str, str], Counts]) -> Counts:
        """A program's rows, and the numbers that are constants in it."""
        layout, found = self.plans[what].layout, []
        for group, name, _ in all_arrays(layout.groups):
            # What is beside the processors alone has no row.
            found.append(rows.get((group, name), np.zeros(COLUMNS, np.int64)))
        for group, arrays in layout.groups.items():
            found += [getattr(arrays, name).view(np.int64) for name in layout.places[group].constant]
        return np.concatenate(found)

    def _launch(self, what: str, table: Counts, words: tuple[int, ...]) -> float:
        team, (_, share, teams, blocks) = self.plans[what].layout.team, self._arrangements[what]
        blocks *= self._device.processors
        return self.program(what).launch(table, blocks, teams * team.size, teams * share.size, words)

    def _buffer(self, group: str, name: str, array: Any, times: int) -> Buffer:
        """The memory of an array that serves all trials, or one each."""
        stride = trial_bytes(array)
        buffer, is_new = self._room(group, name, stride * times)
        if is_new:
            buffer.repeat(array, times, stride)
        return buffer

    def _room(self, group: str, name: str, size: int) -> tuple[Buffer, bool]:
        """Memory of an array, and whether it is new: the last block of trials, a shorter one, has a part."""
        key = group, name
        is_new = key not in self._buffers or self._buffers[key].size < size
        if is_new:
            self._buffers[key] = self._device.allocate(size)
        return self._buffers[key], is_new

    def draft(self, what: str) -> str:
        """What one of its programs is finished from: ``"trials"``, or what else it has plans for."""
        plan = self.plans[what]
        makers: dict[str, Callable[[Plan], Callable[..., None]]] = {
            "turns": sequence_program,
            "opened": opening_program,
            "trials": by_arm_program if plan.by_arm else trial_program,
            "elasticities": elasticity_program,
            "judged": lambda plan: judge_program(plan, self._estimator),
        }
        return kept_draft(self.draft_key(what), lambda: makers[what](plan), stored=self._is_stored(what))

    def draft_key(self, what: str) -> tuple[str, ...]:
        """What a draft depends on."""
        return *self._drafted(what), array_types(self.plans[what].layout.groups)

    def ptx(self, what: str = "trials") -> str:
        """One of its programs in the assembly language."""
        layout, registers = self.plans[what].layout, self._registers(what)
        return to_ptx(self.draft(what), layout, self._device.target, registers=registers)

    def _registers(self, what: str) -> int:
        """How many a thread may have, for as many to be there as were planned."""
        team, arranged = self.plans[what].layout.team, self._arrangements[what]
        return REGISTERS // (arranged.teams * team.size * arranged.blocks) // 8 * 8

    def program(self, what: str) -> Program:
        """The same, ready to run."""
        layout = self.plans[what].layout
        settings = layout.team.size, layout.share, self._registers(what), layout.known
        key = *self._drafted(what), *map(str, settings), *array_kinds(layout.groups, layout.places)
        return kept_program(self._device, key, lambda: self.ptx(what), stored=self._is_stored(what))

    def _is_stored(self, what: str) -> bool:
        """Whether a program is kept on disk."""
        return all(map(is_stamped, self._functions(what)))

    def _functions(self, what: str) -> list[Any]:
        """Those that may be somebody's own, and become part of a program."""
        if what == "opened" or (what == "trials" and self.plans[what].by_arm):
            return []
        if what == "judged":
            return [ESTIMATORS[self._estimator].fit]
        kind = type(self.plans[what].policy)
        if what == "trials" and issubclass(kind, Design):
            return [kind.score, kind.weigh, kind.remember]
        return [kind.score]

    def _drafted(self, what: str) -> tuple[str, ...]:
        """What a program is made of, whatever its layout."""
        plan = self.plans[what]
        tiles = what == "trials" and plan.has_tiles
        first = plan.deals_first, plan.notes_first
        kind = plan.at_once, plan.one_factor, plan.one_context, plan.looks_ahead, *first, tiles
        judged = self._estimator if what == "judged" else ""
        settings = what, judged, plan.forgets_rows, plan.by_arm, *(kind if what == "trials" else ())
        return *map(lasting_fingerprint, self._functions(what)), *map(str, settings)
