"""One policy in a scenario on a GPU: where its arrays lie, its programs, and trials run by them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import State
from equipoise.core.arrays import Counts
from equipoise.core.estimates.estimators import ESTIMATORS, RIDGE, new_workspace
from equipoise.core.jit.fingerprint import lasting_fingerprint
from equipoise.core.jit.nvptx import TABLE_WORDS, to_ptx
from equipoise.core.jit.sources import is_stamped
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.gpu.driver import Buffer, Device, Program
from equipoise.lab.gpu.kept import array_kinds, array_types, kept_draft, kept_program
from equipoise.lab.gpu.layout import COLUMNS, Layout, all_arrays, share_of, table_row, trial_bytes
from equipoise.lab.gpu.places import (
    PLACES,
    arranged,
    has_small_numbers,
    is_plain,
    judging_placements,
    known_of,
    narrowed,
    opening_placement,
    placements,
    with_far_settings,
    with_one_factor,
    with_one_row,
)
from equipoise.lab.gpu.programs.drawing import is_drawn_there
from equipoise.lab.gpu.programs.elasticities import SOURCES, elasticity_program, measuring_team, records_of
from equipoise.lab.gpu.programs.judging import judge_program
from equipoise.lab.gpu.programs.opening import opening_program
from equipoise.lab.gpu.programs.trials import Order, Plan, trial_program
from equipoise.lab.gpu.teams.inverses import LARGEST
from equipoise.lab.gpu.teams.judging.abreast import with_room
from equipoise.lab.gpu.teams.judging.ridges import judging_team
from equipoise.lab.gpu.teams.lanes import LANES, WARP, Team
from equipoise.lab.gpu.teams.looking import new_coming
from equipoise.lab.gpu.teams.noting import noting_pays
from equipoise.lab.gpu.teams.opening import Room, new_room
from equipoise.lab.gpu.teams.pipeline import numbers_held, passing_team
from equipoise.lab.gpu.teams.products import new_told
from equipoise.lab.gpu.teams.tiles import are_tiles, best_team, new_bands
from equipoise.lab.gpu.teams.units import fits
from equipoise.lab.gpu.turns.by_arm import by_arm_places, by_arm_program
from equipoise.lab.gpu.turns.known import are_turns_known
from equipoise.lab.gpu.turns.sequence import Choice, Turns, new_choice, new_turns, sequence_program
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.bench import ScenarioSeat
from equipoise.lab.trial.ledger import Ledger, new_ledger
from equipoise.lab.trial.rule import rule_of
from equipoise.lab.trial.world import Draws, World

_MOST_BLOCKS, _MOST_BLOCKS_OF_LARGE_TEAMS = 2, 3
"""On a processor: more threads would have too few registers for an arm's factor, and factors no room in
caches, where an arm has two."""
REGISTERS = 65_536
"""Of a processor."""
_COST_OF_JUDGING_FAR_AWAY = 0.1
_BLOCKS_THAT_JUDGE = 4
_OPENING_BLOCKS = (48, 4), (64, 3)
"""How many numbers a thread may have in which trials begin, for so many blocks to be on a processor."""
_CHOOSING_BLOCKS = 4
_BLIND_TO_UNITS = RIDGE, "pooled", "empirical-bayes"
"""Estimators that do not look at single units once more."""


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
        seat = ScenarioSeat(scenario, policy, seed, draws)
        self._device, self._estimator = device, scenario.estimator
        self._turns_are_known = are_turns_known(scenario, seat.policy)
        state, judge = seat.stage.state, seat.judge
        at_once = not draws.world.setting["late"][0]
        one_factor = bool(at_once) and state.lots.ndim == 2
        dim, width = state.factors.shape[2:]
        team = best_team(dim, width)
        given = not len(state.whitener) and not state.trial["learns_moment"][0]
        one_context = bool(at_once) and given and fits(dim, team)
        forgets = one_context and self._forgets_rows(scenario, policy, draws.world, state)
        work = None if self._estimator == RIDGE else new_workspace(state, seat.ridge)
        is_own = is_stamped(type(seat.policy).score)
        # A score of one's own may read limits, whose largest number is another one in half a word.
        has_small = has_small_numbers(state, draws.world) and is_own
        if one_factor:
            state = with_one_factor(state)
        if forgets:
            state = with_one_row(state)
        if has_small:
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
            "told": new_told(dim, team),
            "bands": new_bands(width, team, looks=bool(state.trial["looks"][0])),
        }
        looks_ahead = one_context and bool(state.trial["looks"][0]) and are_tiles(dim, width, team)
        if looks_ahead:
            self.groups["coming"] = new_coming(len(state.arms), dim, width, team)
        unit = np.int16 if has_small else np.int32
        enough = len(state.arms) * (dim + 1) <= len(draws.world.contexts[0])
        # A score of one's own might read what has not entered an arm yet.
        notes = looks_ahead and forgets and enough and noting_pays(team) and is_own
        if notes:
            self.groups["room"] = new_room(len(state.arms), dim, unit)
        if work is not None:
            self.groups["work"] = work
        blocks = _MOST_BLOCKS_OF_LARGE_TEAMS if team.size > LANES and one_factor else _MOST_BLOCKS
        self._all_groups = self.groups
        """All that have memory of the GPU, those of turns and elasticities, too."""
        choices = placements(at_once=bool(at_once), one_context=one_context, forgets_rows=forgets)
        judgings = judging_placements() if self._estimator == RIDGE else judging_placements()[-1:]
        settings = self.groups["rule"].settings
        words = COLUMNS * sum(1 for _ in all_arrays(self.groups))
        if words + COLUMNS * len(Room._fields) + len(settings) > TABLE_WORDS:
            choices, judgings = ([with_far_settings(each) for each in some] for some in (choices, judgings))
        running = arranged(self.groups, choices, team, device, blocks)
        own = "state", "world", "judge", "ledger", *(("work",) if work is not None else ())
        judging_groups = {group: self.groups[group] for group in own}
        judged = arranged(
            *(judging_groups, judgings, judges, device, _BLOCKS_THAT_JUDGE),
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
            looks_ahead=looks_ahead,
            deals_first=False,
            forgets_rows=forgets,
            notes_first=notes,
        )
        judging = replace(plan, layout=Layout(judging_groups, judged.places, judges, judged.share))
        self.plans = {"trials": plan, "judged": judging}
        self._buffers: dict[tuple[str, str], Buffer] = {}
        if forgets and one_factor and dim <= LARGEST:
            turns = new_turns(len(state.arms), len(draws.world.contexts[0]), unit)
            known = {"turns": turns} if self._turns_are_known else {}
            opens = self._plan_opening(plan, known, unit)
            if opens and known:
                self._plan_turns(plan, turns, new_choice(seat.stage.state, settings, seat.ties))
        # Where counts alone decide, units follow no variance.
        if judge.intervals[0] and "turns" not in self.plans:
            self._plan_elasticities(plan)

    def _forgets_rows(self, scenario: Scenario, policy: Policy, world: World, state: State) -> bool:
        """Whether it is sure that nobody looks at what units have left once they are over.

        Lots and designs do, and whoever leaves one out; and whoever doubts that outcomes differ, as those of
        units with normal contexts do. Worlds that are not plain are not looked into.
        """
        differ = is_drawn_there(scenario) and scenario.dim > scenario.intercept
        drawn = isinstance(policy, Design) or state.trial["chance"][0] > 0.0
        if not state.trial["forced_start"][0] and not self._turns_are_known:
            return False
        return differ and not drawn and self._estimator in _BLIND_TO_UNITS and is_plain(state, world)

    def _plan_opening(self, plan: Plan, known: Mapping[str, Any], unit: npt.DTypeLike) -> bool:
        """Let first units be dealt at once, if there is room for that; whether there is."""
        dim, arms = plan.layout.dim, len(plan.layout.groups["state"].arms)
        own = {group: self.groups[group] for group in ("state", "world", "order")}
        groups = {**own, **known, "room": new_room(arms, dim, unit)}
        team, places = passing_team(dim), opening_placement(plan.layout.places)
        if share_of(groups, places, team).size * (WARP // team.size) > self._device.shared_bytes:
            return False
        held = numbers_held(dim, team.size)
        blocks = next((blocks for most, blocks in _OPENING_BLOCKS if held <= most), _MOST_BLOCKS)
        found = arranged(groups, [places], team, self._device, blocks)
        self._arrangements["opened"] = found
        self.plans["trials"] = replace(plan, deals_first=True)
        self.plans["opened"] = replace(plan, layout=Layout(groups, places, team, found.share))
        return True

    def _plan_turns(self, plan: Plan, turns: Turns, choice: Choice) -> None:
        """Let all turns be worked out beforehand, and arms run one after the other."""
        self._all_groups = {**self.groups, "turns": turns, "choice": choice}
        groups = {"turns": turns, "choice": choice}
        near = {group: PLACES[group] for group in groups}
        if COLUMNS * sum(1 for _ in all_arrays(groups)) + len(choice.settings) > TABLE_WORDS:
            near = {**near, "choice": replace(near["choice"], constant=frozenset())}
        far = {group: replace(places, near=frozenset()) for group, places in near.items()}
        found = arranged(groups, [near, far], Team(1), self._device, _CHOOSING_BLOCKS)
        known = {"choice": {"trial": dict.fromkeys(("limited", "forced_start", "looks"), 0)}}
        layout = Layout(groups, found.places, Team(1), found.share, known)
        self._arrangements["turns"] = found
        self.plans["turns"] = replace(plan, layout=layout)
        own = {group: self.groups[group] for group in ("state", "world", "bands")}
        groups = {**own, "turns": turns}
        team, places = plan.layout.team, dict(plan.layout.places)
        places |= {group: by_arm_places(group, places[group]) for group in ("state", "world")}
        found = arranged(groups, [places], team, self._device, self._arrangements["trials"].blocks)
        self._arrangements["trials"] = found
        layout = replace(plan.layout, groups=groups, places=places, share=found.share)
        trials = replace(self.plans["trials"], layout=layout, by_arm=True)
        self.plans |= {"trials": trials, "opened": replace(self.plans["opened"], by_arm=True)}

    def _plan_elasticities(self, plan: Plan) -> None:
        """Let what intervals need of the policy be worked out when trials are over."""
        state, rule, judge = (self.groups[group] for group in ("state", "rule", "judge"))
        records = records_of(state, rule.settings, judge)
        places = {"records": PLACES["records"]}
        if COLUMNS * len(records) + len(rule.settings) > TABLE_WORDS:
            places = {"records": replace(places["records"], constant=frozenset())}
        far = {"records": replace(places["records"], near=frozenset())}
        groups, team = {"records": records}, measuring_team(len(state.arms))
        found = arranged(groups, [places, far], team, self._device, _BLOCKS_THAT_JUDGE)
        # The same program serves all numbers of features.
        known = {name: value for name, value in plan.layout.known["state"]["trial"].items() if name != "dim"}
        layout = Layout(groups, found.places, team, found.share, {"records": {"trial": known}})
        self._all_groups = {**self._all_groups, **groups}
        self._arrangements["elasticities"] = found
        self.plans["elasticities"] = replace(plan, layout=layout)

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
        for group, name, array in all_arrays(self._all_groups):
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

    def ptx(self, what: str = "trials") -> str:
        """One of its programs: ``"trials"``, or what else it has plans for."""
        plan = self.plans[what]

        makers: dict[str, Callable[[Plan], Callable[..., None]]] = {
            "turns": sequence_program,
            "opened": opening_program,
            "trials": by_arm_program if plan.by_arm else trial_program,
            "elasticities": elasticity_program,
            "judged": lambda plan: judge_program(plan, self._estimator),
        }
        key = *self._drafted(what), array_types(plan.layout.groups)
        draft = kept_draft(key, lambda: makers[what](plan))
        return to_ptx(draft, plan.layout, self._device.target, registers=self._registers(what))

    def _registers(self, what: str) -> int:
        """How many a thread may have, for as many to be there as were planned."""
        team, arranged = self.plans[what].layout.team, self._arrangements[what]
        return REGISTERS // (arranged.teams * team.size * arranged.blocks) // 8 * 8

    def program(self, what: str) -> Program:
        """The same, ready to run."""
        layout = self.plans[what].layout
        settings = layout.team.size, layout.share, self._registers(what), layout.known
        key = *self._drafted(what), *map(str, settings), *array_kinds(layout.groups, layout.places)
        stored = all(map(is_stamped, self._functions(what)))
        return kept_program(self._device, key, lambda: self.ptx(what), stored=stored)

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
