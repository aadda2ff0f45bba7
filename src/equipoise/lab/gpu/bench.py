"""Trials of several policies in one scenario on a GPU, on the same draws."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.core.arrays import Counts, Vector
from equipoise.core.estimates.estimators import ESTIMATORS, RIDGE, new_workspace
from equipoise.core.jit.fingerprint import lasting_fingerprint
from equipoise.core.jit.nvptx import to_ptx
from equipoise.core.jit.sources import is_stamped
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.gpu.drawing import draw_program, drawing_layout
from equipoise.lab.gpu.driver import Buffer, Device, Program, open_device
from equipoise.lab.gpu.judging import judge_program
from equipoise.lab.gpu.kept import array_kinds, array_types, kept_draft, kept_program
from equipoise.lab.gpu.layout import Layout, all_arrays, table_row, trial_bytes
from equipoise.lab.gpu.places import (
    PLACES,
    arranged,
    has_small_numbers,
    is_plain,
    judging_placements,
    known_of,
    narrowed,
    placements,
    with_one_factor,
)
from equipoise.lab.gpu.program import Order, Plan, trial_program
from equipoise.lab.gpu.teams.abreast import with_room
from equipoise.lab.gpu.teams.lanes import LANES, Team
from equipoise.lab.gpu.teams.ridges import judging_team
from equipoise.lab.gpu.teams.tiles import best_team
from equipoise.lab.gpu.teams.units import fits
from equipoise.lab.pieces.contexts.gaussian import GaussianContexts
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.bench import ScenarioSeat
from equipoise.lab.trial.ledger import Ledger, new_ledger
from equipoise.lab.trial.rule import rule_of
from equipoise.lab.trial.world import Draws, World

_MOST_BLOCKS, _MOST_BLOCKS_OF_LARGE_TEAMS = 2, 3
"""On a processor: more threads would have too few registers for an arm's factor, and factors no room in
caches, where an arm has two."""
_REGISTERS = 65_536
"""Of a processor."""
_COST_OF_JUDGING_FAR_AWAY = 0.1
_MOST_TRIALS = 65_536
_THREADS_THAT_DRAW, _BLOCKS_THAT_DRAW = 128, 12
_BLOCKS_THAT_JUDGE = 4
# Of the memory that is free: others may want some.
_SHARE_OF_MEMORY = 0.5
_HOST_BYTES = 2**29
"""Of this machine's memory, for what its processor draws before a GPU has it."""
_DRAWN = ("contexts", "coefs", "drifts", "shocks", "delays", "fates", "closures")
"""What is drawn for every trial of a block."""


class GpuBench:
    """Everything that trials of some policies need; nothing is shared between two of them."""

    def __init__(self, scenario: Scenario, policies: Sequence[Policy], seed: int) -> None:
        self._device = open_device()
        self._scenario, self._seed = scenario, seed
        one = Draws(scenario, seed, block=1)
        self._seats = [Seat(scenario, policy, seed, one, self._device) for policy in policies]
        self._drawn_there = _is_drawn_there(scenario)
        self._sample = one

    def __call__(self, first: int, ledgers: Sequence[Ledger]) -> Vector:
        """Run trials ``first``, … of every policy until its ledger is full; seconds of each on the GPU."""
        seconds = np.zeros(len(self._seats))
        trials = len(ledgers[0].errors)
        block = min(trials, self._block())
        world = _DeviceWorld(self._scenario, self._seed, block, self._device, there=self._drawn_there)
        try:
            world.allocate()
            for row in range(0, trials, block):
                count = min(block, trials - row)
                seconds += world.draw(first + row, count) / len(self._seats)
                for k, (seat, ledger) in enumerate(zip(self._seats, ledgers, strict=True)):
                    seconds[k] += seat.run(world, first + row, count, ledger, row)
        finally:
            # Not left to the garbage: whoever holds an error holds all that was at hand where it was raised.
            world.free()
            for seat in self._seats:
                seat.free()
        return seconds

    def _block(self) -> int:
        """Trials that fit into the GPU's memory, and into this machine's; all threads are busy to the end."""
        drawn = sum(getattr(self._sample.world, name).nbytes for name in _DRAWN)
        each = drawn + sum(seat.bytes_a_trial for seat in self._seats)  # each policy keeps its own
        most = min(_MOST_TRIALS, int(_SHARE_OF_MEMORY * self._device.free_bytes() / max(each, 1)))
        if not self._drawn_there:
            most = min(most, _HOST_BYTES // max(drawn, 1))
        most = max(1, most)
        at_once = max(seat.trials_at_once for seat in self._seats)
        return max(most - most % at_once, min(most, at_once))


class _DeviceWorld:
    """What is drawn for a block of trials, in the GPU's memory."""

    def __init__(self, scenario: Scenario, seed: int, block: int, device: Device, *, there: bool) -> None:
        self._seed, self._device, self._there = seed, device, there
        self._draws = Draws(scenario, seed, block=1 if there else block)
        self.arrays = self._draws.world
        self.shapes = {name: _of_many(getattr(self.arrays, name).shape, block) for name in _DRAWN}
        self.buffers: dict[str, Buffer] = {}
        self._uploaded: dict[str, Buffer] = {}

    def allocate(self) -> None:
        """Have the memory."""
        for name, shape in self.shapes.items():
            self.buffers[name] = self._device.allocate(8 * math.prod(shape))

    def free(self) -> None:
        """Give it back."""
        for buffer in (*self.buffers.values(), *self._uploaded.values()):
            buffer.free()

    def draw(self, first: int, count: int) -> float:
        """Draw trials ``first``, …; seconds."""
        if self._there:
            return self._draw_there(first, count)
        begin = time.perf_counter()
        self._draws.draw(first, count)
        for name, buffer in self.buffers.items():
            buffer.write(getattr(self.arrays, name))
        return time.perf_counter() - begin

    def _draw_there(self, first: int, count: int) -> float:
        groups, program = {"world": self.arrays}, drawing(self.arrays, self._device)
        rows = []
        for _, name, array in all_arrays(groups):
            buffer = self.buffers.get(name) or self._uploaded.get(name)
            if buffer is None:
                buffer = self._uploaded[name] = self._device.upload(array)
            rows.append(table_row(self.shapes.get(name, array.shape), buffer.address))
        blocks = self._device.processors * _BLOCKS_THAT_DRAW
        words = self._seed, first, count
        return program.launch(np.array(rows), blocks, _THREADS_THAT_DRAW, 0, words) / 1e3


class Seat:
    """One policy in a scenario on a GPU."""

    def __init__(self, scenario: Scenario, policy: Policy, seed: int, draws: Draws, device: Device) -> None:
        seat = ScenarioSeat(scenario, policy, seed, draws)
        self._device, self._estimator = device, scenario.estimator
        state, judge = seat.stage.state, seat.judge
        at_once = not draws.world.setting["late"][0]
        one_factor = bool(at_once) and state.lots.ndim == 2
        dim, width = state.factors.shape[2:]
        team = best_team(dim, width)
        given = not len(state.whitener) and not state.trial["learns_moment"][0]
        one_context = bool(at_once) and given and fits(dim, team)
        if one_factor:
            state = with_one_factor(state)
        if has_small_numbers(state, draws.world):
            state = state._replace(arms=narrowed(state.arms))
            judge = judge._replace(probe=narrowed(judge.probe))
        judges = Team(LANES)
        if self._estimator == RIDGE:
            judges = judging_team(state, judge)
            judge = with_room(state, judge)
        self.groups: dict[str, Any] = {
            "state": state,
            "rule": rule_of(seat.stage),
            "world": draws.world,
            "judge": judge,
            "ledger": new_ledger(1, len(state.arms)),
            "order": Order(seat.ties),
        }
        if self._estimator != RIDGE:
            self.groups["work"] = new_workspace(state, seat.ridge)
        blocks = _MOST_BLOCKS_OF_LARGE_TEAMS if team.size > LANES and one_factor else _MOST_BLOCKS
        choices = placements(at_once=bool(at_once), one_context=one_context)
        running = arranged(self.groups, choices, team, device, blocks)
        judged = arranged(
            self.groups,
            judging_placements() if self._estimator == RIDGE else judging_placements()[-1:],
            judges,
            device,
            _BLOCKS_THAT_JUDGE,
            cost_of_distance=_COST_OF_JUDGING_FAR_AWAY,
        )
        self._arrangements = {"trials": running, "judged": judged}
        self.trials_at_once = running.teams * running.blocks * device.processors
        layout = Layout(self.groups, running.places, team, running.share, known_of(self.groups))
        plan = Plan(
            layout,
            seat.policy,
            at_once=bool(at_once),
            one_factor=one_factor,
            one_context=one_context,
            deals_first=one_context and one_factor and is_plain(state, draws.world),
        )
        judging = replace(plan, layout=Layout(self.groups, judged.places, judges, judged.share))
        self.plans = {"trials": plan, "judged": judging}
        self._buffers: dict[tuple[str, str], Buffer] = {}

    @property
    def bytes_a_trial(self) -> int:
        """What a trial takes of the GPU's memory."""
        return sum(
            trial_bytes(array)
            for group, name, array in all_arrays(self.groups)
            if name in self._lasting(group) or group == "ledger"
        )

    def free(self) -> None:
        """Give back what it has of the GPU's memory."""
        while self._buffers:
            self._buffers.popitem()[1].free()

    def _lasting(self, group: str) -> frozenset[str]:
        """Arrays that every trial has in the GPU's memory."""
        running, judging = (self.plans[what].layout.places[group] for what in ("trials", "judged"))
        return running.lasting - judging.near

    def run(self, world: _DeviceWorld, first: int, count: int, ledger: Ledger, row: int) -> float:
        """Run trials that the world has drawn; fill the ledger from ``row`` on. Seconds."""
        part, results = Ledger._make(values[row : row + count] for values in ledger), {}
        rows = []
        for group, name, array in all_arrays(self.groups):
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
            rows.append(table_row(shape, buffer.address, stride))
        table = np.array(rows)
        spent = self._launch("trials", table, (first, count, 0)) + self._launch(
            "judged", table, (0, count, 0)
        )
        for name, buffer in results.items():
            buffer.read(getattr(part, name))
        return spent / 1e3

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

    def ptx(self, what: str = "trials") -> str:
        """Its program for trials, or for how they are ``"judged"``."""
        plan = self.plans[what]

        def make() -> Callable[..., None]:
            return trial_program(plan) if what == "trials" else judge_program(plan, self._estimator)

        draft = kept_draft((*self._drafted(what), array_types(self.groups)), make)
        return to_ptx(draft, plan.layout, self._device.target, registers=self._registers(what))

    def _registers(self, what: str) -> int:
        """How many a thread may have, for as many to be there as were planned."""
        team, arranged = self.plans[what].layout.team, self._arrangements[what]
        return _REGISTERS // (arranged.teams * team.size * arranged.blocks) // 8 * 8

    def program(self, what: str) -> Program:
        """Its program for trials, or for how they are ``"judged"``, ready to run."""
        layout = self.plans[what].layout
        settings = layout.team.size, layout.share, self._registers(what), layout.known
        key = *self._drafted(what), *map(str, settings), *array_kinds(self.groups, layout.places)
        stored = all(map(is_stamped, self._functions(what)))
        return kept_program(self._device, key, lambda: self.ptx(what), stored=stored)

    def _functions(self, what: str) -> list[Any]:
        """Those that may be somebody's own, and become part of a program."""
        kind = type(self.plans[what].policy)
        found: list[Any] = [kind.score]
        if issubclass(kind, Design):
            found += [kind.weigh, kind.remember]
        return [*found, ESTIMATORS[self._estimator].fit] if what == "judged" else found

    def _drafted(self, what: str) -> tuple[str, ...]:
        """What a program is made of, whatever its layout."""
        plan = self.plans[what]
        tiles = what == "trials" and plan.has_tiles
        kind = plan.at_once, plan.one_factor, plan.one_context, plan.deals_first, tiles
        settings = what, self._estimator, *(kind if what == "trials" else ())
        return *map(lasting_fingerprint, self._functions(what)), *map(str, settings)


def _is_drawn_there(scenario: Scenario) -> bool:
    """Whether all that is drawn beforehand are normal contexts and truths, which the GPU draws itself."""
    contexts = scenario.contexts
    varying = scenario.dim - int(scenario.intercept)
    return (
        type(contexts) is GaussianContexts
        and np.array_equal(contexts.covariance_matrix(varying), np.eye(varying))
        and scenario.truth is None
        and scenario.coef is None
        and scenario.curvature == 0.0
        and scenario.coef_drift == 0.0
        and scenario.outcomes is None
        and not scenario.noise_shape.at_hand
        and scenario.delay is None
        and not scenario.lost
        and scenario.drop_out is None
        and not scenario.closures
    )


def _of_many(shape: tuple[int, ...], block: int) -> tuple[int, ...]:
    """The shape of an array of that many trials; what is empty stays so."""
    return (block, *shape[1:]) if math.prod(shape) else shape


def drawing(world: World, device: Device) -> Program:
    """The program that draws such a world."""
    layout = drawing_layout(world)

    def make() -> str:
        draft = kept_draft(("draws", array_types(layout.groups)), lambda: draw_program(layout))
        return to_ptx(draft, layout, device.target)

    return kept_program(device, ("draws", *array_kinds(layout.groups, layout.places)), make)


def compile_program(scenario: Scenario, policy: Policy, what: str) -> None:
    """Have a program on disk that runs ``"trials"`` of a policy, or with which they are ``"judged"``.

    Or, for any policy, one that ``"draws"`` them.
    """
    device, draws = open_device(), Draws(scenario, 0, block=1)
    if what != "draws":
        Seat(scenario, policy, 0, draws, device).program(what)
    elif _is_drawn_there(scenario):
        drawing(draws.world, device)
