"""Trials of several policies in one scenario on a GPU, on the same draws."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba
import numpy as np

from equipoise.core.arms.state import State
from equipoise.core.arrays import Vector
from equipoise.core.estimates.estimators import RIDGE, new_workspace
from equipoise.core.jit import storage
from equipoise.core.jit.fingerprint import code_fingerprint
from equipoise.core.jit.nvptx import to_ptx
from equipoise.core.jit.sources import is_stamped
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.gpu.driver import Buffer, Device, Program, open_device
from equipoise.lab.gpu.lanes import THREADS
from equipoise.lab.gpu.memory import Groups, Places, all_arrays, near_offsets, slot_bytes, table_row
from equipoise.lab.gpu.program import PLACES, WORDS, Order, draw_program, known_of, placements, trial_program
from equipoise.lab.pieces.contexts.gaussian import GaussianContexts
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.bench import ScenarioSeat
from equipoise.lab.trial.ledger import Ledger, new_ledger
from equipoise.lab.trial.rule import rule_of
from equipoise.lab.trial.world import Draws

_THREADS_A_BLOCK = 128
_MOST_BLOCKS = 2  # a processor: more registers than that there are not
_COST_OF_DISTANCE = 0.75
"""How much slower a trial gets with each step of :func:`placements`, about."""
_MOST_TRIALS = 65_536
_THREADS_THAT_DRAW, _BLOCKS_THAT_DRAW = 64, 16
# Of the memory that is free: others may want some.
_SHARE_OF_MEMORY = 0.5
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
        for row in range(0, trials, block):
            count = min(block, trials - row)
            seconds += world.draw(first + row, count) / len(self._seats)
            for k, (seat, ledger) in enumerate(zip(self._seats, ledgers, strict=True)):
                seconds[k] += seat.run(world, first + row, count, ledger, row)
        return seconds

    def _block(self) -> int:
        """Trials that fit into the GPU's memory, beside the slots; all slots are busy to the end."""
        each = sum(getattr(self._sample.world, name).nbytes for name in _DRAWN)
        room = _SHARE_OF_MEMORY * self._device.free_bytes()
        most = max(1, min(_MOST_TRIALS, int(room / max(each, 1))))
        slots = max(seat.slots for seat in self._seats)
        return max(most - most % slots, min(most, slots))


class _DeviceWorld:
    """What is drawn for a block of trials, in the GPU's memory."""

    def __init__(self, scenario: Scenario, seed: int, block: int, device: Device, *, there: bool) -> None:
        self._seed, self._device, self._there = seed, device, there
        self._draws = Draws(scenario, seed, block=1 if there else block)
        self.arrays = self._draws.world
        self.shapes = {name: _of_many(getattr(self.arrays, name).shape, block) for name in _DRAWN}
        self.buffers = {name: device.allocate(8 * math.prod(shape)) for name, shape in self.shapes.items()}

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
        groups = {"world": self.arrays}
        key = "draws", *_kinds(groups)
        program = _program(
            self._device, key, lambda: to_ptx(draw_program(groups), WORDS, self._device.target)
        )
        rows, kept = [], []
        for _, name, array in all_arrays(groups):
            kept.append(self.buffers.get(name) or self._device.upload(array))
            rows.append(table_row(self.shapes.get(name, array.shape), kept[-1].address))
        table = self._device.upload(np.array(rows))
        blocks = self._device.processors * _BLOCKS_THAT_DRAW
        words = table.address, 0, self._seed, first, count
        return program.launch(blocks, _THREADS_THAT_DRAW, 0, words) / 1e3


class Seat:
    """One policy in a scenario on a GPU."""

    def __init__(self, scenario: Scenario, policy: Policy, seed: int, draws: Draws, device: Device) -> None:
        seat = ScenarioSeat(scenario, policy, seed, draws)
        self._device, self._estimator = device, scenario.estimator
        state, self._policy = seat.stage.state, seat.policy
        late = bool(draws.world.setting["late"][0])
        self._at_once = not late and state.lots.ndim == 2
        self.groups: dict[str, Any] = {
            "state": with_one_factor(state) if self._at_once else state,
            "rule": rule_of(seat.stage),
            "world": draws.world,
            "judge": seat.judge,
            "ledger": new_ledger(1, len(state.arms)),
            "order": Order(seat.ties),
        }
        if self._estimator != RIDGE:
            self.groups["work"] = new_workspace(state, seat.ridge)
        self._known = known_of(self.groups)
        self.places, self._slots_a_block, blocks = _arrangement(self.groups, device)
        self._offsets, self._share = near_offsets(self.groups, self.places)
        self._blocks = device.processors * blocks
        self.slots = self._blocks * self._slots_a_block
        self._buffers: dict[tuple[str, str], Buffer] = {}

    def run(self, world: _DeviceWorld, first: int, count: int, ledger: Ledger, row: int) -> float:
        """Run trials that the world has drawn; fill the ledger from ``row`` on. Seconds."""
        part = new_ledger(count, ledger.errors.shape[1])
        rows, results = [], {}
        for group, name, array in all_arrays(self.groups):
            shape, places = array.shape, self.places[group]
            stride = slot_bytes(array) if name in places.own else 0
            if group == "world" and name in world.buffers:
                buffer, shape = world.buffers[name], world.shapes[name]
            elif name in places.apart:
                buffer, stride = self._buffer(group, name, array), 8 * THREADS * self.slots
            elif name in places.drawn:
                buffer, stride = world.buffers[name], 8 * math.prod(world.shapes[name][1:])
            elif group == "ledger":
                mine = getattr(part, name)
                buffer, shape = self._device.upload(mine), mine.shape
                results[name] = buffer
            else:
                buffer = self._buffer(group, name, array)
            rows.append(table_row(shape, buffer.address, stride, self._offsets.get((group, name), 0)))
        table = self._device.upload(np.array(rows))
        shared, threads = self._share * self._slots_a_block, THREADS * self._slots_a_block
        words = table.address, self._share, first, count, 0
        spent = self._program().launch(self._blocks, threads, shared, words)
        for name, buffer in results.items():
            buffer.read(getattr(part, name))
            getattr(ledger, name)[row : row + count] = getattr(part, name)
        return spent / 1e3

    def _buffer(self, group: str, name: str, array: Any) -> Buffer:
        """The memory of an array that serves all trials, or one slot's trials."""
        if (group, name) not in self._buffers:
            places, stride = self.places[group], slot_bytes(array)
            slots = self.slots if name in places.own and name not in places.near else 1
            slots = THREADS * self.slots if name in places.apart else slots
            buffer = self._buffers[group, name] = self._device.allocate(stride * slots)
            buffer.repeat(array, slots, stride)
        return self._buffers[group, name]

    def ptx(self) -> str:
        """Its program."""
        made = trial_program(
            self.groups, self.places, self._known, self._policy, self._estimator, at_once=self._at_once
        )
        return to_ptx(made, WORDS, self._device.target)

    def _program(self) -> Program:
        kind = type(self._policy)
        functions: list[Any] = [kind.score]
        if issubclass(kind, Design):
            functions += [kind.weigh, kind.remember]
        settings = self._estimator, str(self._at_once), str(self._offsets), str(self._known)
        key = *map(code_fingerprint, functions), *settings, *_kinds(self.groups)
        return _program(self._device, key, self.ptx, stored=all(map(is_stamped, functions)))


def _arrangement(groups: Groups, device: Device) -> tuple[dict[str, Places], int, int]:
    """Where arrays lie, how many trials a block of threads works on, and blocks on a processor."""
    found = []
    for rank, places in enumerate(placements()):
        fitting = device.shared_bytes // near_offsets(groups, places)[1]
        slots = min(_THREADS_A_BLOCK // THREADS, fitting)
        if slots:
            blocks = min(_MOST_BLOCKS, fitting // slots)
            found.append((slots * blocks * _COST_OF_DISTANCE**rank, places, slots, blocks))
    _, places, slots, blocks = max(found, key=lambda each: each[0])
    return places, slots, blocks


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


def with_one_factor(state: State) -> State:
    """The same state: where outcomes come at once, a design needs no factor beside that of the data."""
    return state._replace(factors=np.ascontiguousarray(state.factors[:, :1]))


def _kinds(groups: Mapping[str, Any]) -> list[str]:
    """All of a program's arrays that it is compiled for."""
    kinds = [str(numba.typeof(arrays)) for arrays in groups.values()]
    for group, name, array in all_arrays(groups):
        kinds.append(str(PLACES[group].constants(name, array.shape)))
    return kinds


def _of_many(shape: tuple[int, ...], block: int) -> tuple[int, ...]:
    """The shape of an array of that many trials; what is empty stays so."""
    return (block, *shape[1:]) if math.prod(shape) else shape


_PROGRAMS: dict[tuple[Any, ...], Program] = {}


def _program(
    device: Device, key: tuple[str, ...], make: Callable[[], str], *, stored: bool = True
) -> Program:
    """A program for a GPU, compiled once a process, and kept on disk as PTX."""
    whole = (device.name, *key)
    if whole not in _PROGRAMS:
        name = f"ptx {device.target} {key}"
        kept = storage.read(name) if stored else None
        ptx = make() if kept is None else kept.decode()
        if kept is None and stored:
            storage.write(name, ptx.encode())
        _PROGRAMS[whole] = device.load(ptx)
    return _PROGRAMS[whole]
