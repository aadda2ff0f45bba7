"""Trials of several policies in one scenario on a GPU, on the same draws."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.core.jit.nvptx import to_ptx
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.gpu.driver import Buffer, Device, Program, open_device
from equipoise.lab.gpu.kept import array_kinds, array_types, kept_draft, kept_program
from equipoise.lab.gpu.layout import all_arrays, table_row
from equipoise.lab.gpu.programs.drawing import draw_program, drawing_layout, is_drawn_there
from equipoise.lab.gpu.seat import REGISTERS, Seat
from equipoise.lab.gpu.teams.lanes import WARP
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.ledger import Ledger
from equipoise.lab.trial.world import Draws, World

_MOST_TRIALS = 65_536
_THREADS_THAT_DRAW, _BLOCKS_THAT_DRAW = 128, 8
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
        self._drawn_there = is_drawn_there(scenario)
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
        groups, drawing = {"world": self.arrays}, Drawing(self.arrays, self._device)
        rows = []
        for _, name, array in all_arrays(groups):
            buffer = self.buffers.get(name) or self._uploaded.get(name)
            if buffer is None:
                buffer = self._uploaded[name] = self._device.upload(array)
            rows.append(table_row(self.shapes.get(name, array.shape), buffer.address))
        blocks = self._device.processors * _BLOCKS_THAT_DRAW
        words = self._seed, first, count
        threads, shared = _THREADS_THAT_DRAW, drawing.shared_bytes
        return drawing.program().launch(np.array(rows), blocks, threads, shared, words) / 1e3


def _of_many(shape: tuple[int, ...], block: int) -> tuple[int, ...]:
    """The shape of an array of that many trials; what is empty stays so."""
    return (block, *shape[1:]) if math.prod(shape) else shape


class Drawing:
    """What draws such a world."""

    def __init__(self, world: World, device: Device) -> None:
        self._layout, self._device = drawing_layout(world), device
        self.draft_key = "draws", array_types(self._layout.groups)
        """What its draft depends on."""

    @property
    def shared_bytes(self) -> int:
        """What a block of threads takes of the memory that it shares."""
        return _THREADS_THAT_DRAW // WARP * self._layout.share.size

    def draft(self) -> str:
        """What its program is finished from."""
        return kept_draft(self.draft_key, lambda: draw_program(self._layout))

    def program(self) -> Program:
        """Ready to run."""
        layout, registers = self._layout, REGISTERS // (_THREADS_THAT_DRAW * _BLOCKS_THAT_DRAW)

        def make() -> str:
            return to_ptx(self.draft(), layout, self._device.target, registers=registers)

        key = "draws", str(layout.known), str(registers), *array_kinds(layout.groups, layout.places)
        return kept_program(self._device, key, make)
