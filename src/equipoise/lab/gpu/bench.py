"""Trials of several policies in one scenario on a GPU, on the same draws."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numba
import numpy as np

from equipoise.core.arms.state import State
from equipoise.core.arrays import Counts, Vector
from equipoise.core.estimates.estimators import RIDGE, new_workspace
from equipoise.core.jit import storage
from equipoise.core.jit.fingerprint import lasting_fingerprint
from equipoise.core.jit.nvptx import to_ptx
from equipoise.core.jit.sources import is_stamped
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.gpu.drawing import draw_program
from equipoise.lab.gpu.driver import Buffer, Device, Program, open_device
from equipoise.lab.gpu.judging import judge_program
from equipoise.lab.gpu.lanes import LANES, WARP, Team
from equipoise.lab.gpu.memory import Groups, Places, Share, all_arrays, share_of, table_row, trial_bytes
from equipoise.lab.gpu.places import PLACES, is_plain, judging_placements, known_of, narrowed, placements
from equipoise.lab.gpu.program import WORDS, Order, Plan, trial_program
from equipoise.lab.gpu.ridges import judging_team
from equipoise.lab.gpu.tiles import best_team
from equipoise.lab.pieces.contexts.gaussian import GaussianContexts
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.bench import ScenarioSeat
from equipoise.lab.trial.ledger import Ledger, new_ledger
from equipoise.lab.trial.rule import rule_of
from equipoise.lab.trial.world import Draws, World

_THREADS_A_BLOCK = 128
_MOST_BLOCKS, _MOST_BLOCKS_OF_LARGE_TEAMS = 2, 3
"""On a processor: more threads would have too few registers for an arm's factor, and factors no room in
caches, where an arm has two."""
_REGISTERS = 65_536
"""Of a processor."""
_COST_OF_DISTANCE = 0.75
"""How much slower a trial gets with each step of :func:`placements`, about."""
_COST_OF_JUDGING_FAR_AWAY = 0.1
_MOST_TRIALS = 65_536
_THREADS_THAT_DRAW, _BLOCKS_THAT_DRAW = 128, 12
_BLOCKS_THAT_JUDGE = 4
_FEW_UNITS = 2**15  # their squares are numbers of half a word, too
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
        """Trials that fit into the GPU's memory; all threads are busy to the end."""
        each = sum(getattr(self._sample.world, name).nbytes for name in _DRAWN)
        each += sum(seat.bytes_a_trial for seat in self._seats)  # each policy keeps its own
        room = _SHARE_OF_MEMORY * self._device.free_bytes()
        most = max(1, min(_MOST_TRIALS, int(room / max(each, 1))))
        at_once = max(seat.trials_at_once for seat in self._seats)
        return max(most - most % at_once, min(most, at_once))


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
        groups, program = {"world": self.arrays}, drawing(self.arrays, self._device)
        rows, kept = [], []
        for _, name, array in all_arrays(groups):
            kept.append(self.buffers.get(name) or self._device.upload(array))
            rows.append(table_row(self.shapes.get(name, array.shape), kept[-1].address))
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
        given = not len(state.whitener) and not state.trial["learns_moment"][0]
        one_context = bool(at_once) and given
        if one_factor:
            state = with_one_factor(state)
        if _has_small_numbers(state, draws):
            state = state._replace(arms=narrowed(state.arms))
            judge = judge._replace(probe=narrowed(judge.probe))
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
        dim, width = state.factors.shape[2:]
        team = best_team(dim, width)
        judges = judging_team(dim) if self._estimator == RIDGE else Team(LANES)
        blocks = _MOST_BLOCKS_OF_LARGE_TEAMS if team.size > LANES and one_factor else _MOST_BLOCKS
        choices = placements(at_once=bool(at_once), one_context=one_context)
        running = _arranged(self.groups, choices, team, device, blocks)
        judged = _arranged(
            self.groups,
            judging_placements() if self._estimator == RIDGE else judging_placements()[1:],
            judges,
            device,
            _BLOCKS_THAT_JUDGE,
            cost_of_distance=_COST_OF_JUDGING_FAR_AWAY,
        )
        self._arrangements = {"trials": running, "judged": judged}
        self.trials_at_once = running.teams * running.blocks * device.processors
        plan = Plan(
            groups=self.groups,
            places=running.places,
            share=running.share,
            known=known_of(self.groups),
            team=team,
            policy=seat.policy,
            at_once=bool(at_once),
            one_factor=one_factor,
            one_context=one_context,
            deals_first=one_context and one_factor and is_plain(state, draws.world),
        )
        judging = replace(plan, places=judged.places, share=judged.share, team=judges)
        self.plans = {"trials": plan, "judged": judging}
        self._buffers: dict[tuple[str, str, int], Buffer] = {}

    @property
    def bytes_a_trial(self) -> int:
        """What a trial takes of the GPU's memory."""
        return sum(
            trial_bytes(array)
            for group, name, array in all_arrays(self.groups)
            if name in self._lasting(group)
        )

    def _lasting(self, group: str) -> frozenset[str]:
        """Arrays that every trial has in the GPU's memory."""
        running, judging = (self.plans[what].places[group] for what in ("trials", "judged"))
        return running.lasting - judging.near

    def run(self, world: _DeviceWorld, first: int, count: int, ledger: Ledger, row: int) -> float:
        """Run trials that the world has drawn; fill the ledger from ``row`` on. Seconds."""
        part, results = new_ledger(count, ledger.errors.shape[1]), {}
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
                buffer, shape = self._device.upload(mine), mine.shape
                results[name] = buffer
            else:
                buffer = self._buffer(group, name, array, count if lasts else 1)
            rows.append(table_row(shape, buffer.address, stride))
        table = np.array(rows)
        spent = self._launch("trials", table, (first, count, 0)) + self._launch(
            "judged", table, (0, count, 0)
        )
        for name, buffer in results.items():
            buffer.read(getattr(part, name))
            getattr(ledger, name)[row : row + count] = getattr(part, name)
        return spent / 1e3

    def _launch(self, what: str, table: Counts, words: tuple[int, ...]) -> float:
        plan, (_, share, teams, blocks) = self.plans[what], self._arrangements[what]
        blocks *= self._device.processors
        return self.program(what).launch(table, blocks, teams * plan.team.size, teams * share.size, words)

    def _buffer(self, group: str, name: str, array: Any, times: int) -> Buffer:
        """The memory of an array that serves all trials, or one each."""
        key = group, name, times
        if key not in self._buffers:
            stride = trial_bytes(array)
            buffer = self._buffers[key] = self._device.allocate(stride * times)
            buffer.repeat(array, times, stride)
        return self._buffers[key]

    def ptx(self, what: str = "trials") -> str:
        """Its program for trials, or for how they are ``"judged"``."""
        if what == "trials":
            made = trial_program(self.plans[what])
        else:
            made = judge_program(self.plans[what], self._estimator)
        return to_ptx(made, WORDS, self._device.target, registers=self._registers(what))

    def _registers(self, what: str) -> int:
        """How many a thread may have, for as many to be there as were planned."""
        plan, arranged = self.plans[what], self._arrangements[what]
        return _REGISTERS // (arranged.teams * plan.team.size * arranged.blocks) // 8 * 8

    def program(self, what: str) -> Program:
        """Its program for trials, or for how they are ``"judged"``, ready to run."""
        plan = self.plans[what]
        kind = type(plan.policy)
        functions: list[Any] = [kind.score]
        if issubclass(kind, Design):
            functions += [kind.weigh, kind.remember]
        settings: list[Any] = [
            what,
            self._estimator,
            plan.at_once,
            plan.one_factor,
            plan.one_context,
            plan.deals_first,
            plan.team.size,
            plan.share,
        ]
        settings += [self._registers(what), plan.known if what == "trials" else ()]
        key = *map(lasting_fingerprint, functions), *map(str, settings), *_kinds(self.groups, plan.places)
        return _program(self._device, key, lambda: self.ptx(what), stored=all(map(is_stamped, functions)))


class _Arrangement(NamedTuple):
    places: dict[str, Places]
    share: Share
    teams: int
    """Trials that a block of threads works on."""
    blocks: int
    """Blocks on a processor."""


def _arranged(
    groups: Groups,
    choices: Sequence[dict[str, Places]],
    team: Team,
    device: Device,
    most_blocks: int,
    *,
    cost_of_distance: float = _COST_OF_DISTANCE,
) -> _Arrangement:
    """Where arrays lie, and how many trials run at once."""
    found = []
    for rank, places in enumerate(choices):
        share = share_of(groups, places, team)
        fitting = device.shared_bytes // max(share.size, 1)
        teams = min(_THREADS_A_BLOCK // team.size, fitting)
        teams -= teams % (WARP // team.size)
        if teams:
            blocks = min(most_blocks, fitting // teams)
            worth = teams * blocks * cost_of_distance**rank
            found.append((worth, _Arrangement(places, share, teams, blocks)))
    return max(found, key=lambda each: each[0])[1]


def _has_small_numbers(state: State, draws: Draws) -> bool:
    """Whether half a word is enough for whatever is counted of arms."""
    unlimited = not state.trial["limited"][0] and not draws.world.closures.size
    return bool(unlimited and len(state.rows) < _FEW_UNITS)


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


def _kinds(groups: Mapping[str, Any], places: Mapping[str, Places]) -> list[str]:
    """All of a program's arrays that it is compiled for, and where they lie."""
    kinds = [str(numba.typeof(arrays)) for arrays in groups.values()]
    for group, name, array in all_arrays(groups):
        lies = "near" if name in places[group].near else "far"
        kinds.append(f"{places[group].constants(name, array.shape)} {lies}")
    return kinds


def _of_many(shape: tuple[int, ...], block: int) -> tuple[int, ...]:
    """The shape of an array of that many trials; what is empty stays so."""
    return (block, *shape[1:]) if math.prod(shape) else shape


def drawing(world: World, device: Device) -> Program:
    """The program that draws such a world."""
    groups = {"world": world}
    return _program(
        device, ("draws", *_kinds(groups, PLACES)), lambda: to_ptx(draw_program(groups), WORDS, device.target)
    )


def compile_program(scenario: Scenario, policy: Policy, what: str) -> None:
    """Have a program on disk that runs ``"trials"`` of a policy, or with which they are ``"judged"``.

    Or, for any policy, one that ``"draws"`` them.
    """
    device, draws = open_device(), Draws(scenario, 0, block=1)
    if what != "draws":
        Seat(scenario, policy, 0, draws, device).program(what)
    elif _is_drawn_there(scenario):
        drawing(draws.world, device)


_PROGRAMS: dict[tuple[Any, ...], Program] = {}


def _program(
    device: Device, key: tuple[str, ...], make: Callable[[], str], *, stored: bool = True
) -> Program:
    """A program for a GPU, compiled once a process, and kept on disk as machine code."""
    whole = (device.description, *key)
    if whole not in _PROGRAMS:
        name = f"GPU {whole}"
        code = storage.read(name) if stored else None
        if code is None:
            code = device.assemble(make())
            if stored:
                storage.write(name, code)
        _PROGRAMS[whole] = device.load(code)
    return _PROGRAMS[whole]
