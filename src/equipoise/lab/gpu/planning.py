"""Which programs the trials of a policy run in, on which arrays, and how many trials run at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from equipoise.core.arrays import Vector
from equipoise.core.estimates.estimators import RIDGE, new_workspace
from equipoise.core.jit.nvptx import TABLE_WORDS
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.gpu.driver import Device
from equipoise.lab.gpu.layout import COLUMNS, Groups, Layout, Places, all_arrays, share_of
from equipoise.lab.gpu.places import (
    PLACES,
    Arrangement,
    arranged,
    judging_placements,
    known_of,
    narrowed,
    opening_placement,
    placements,
    with_far_settings,
    with_one_factor,
    with_one_row,
)
from equipoise.lab.gpu.programs.elasticities import measuring_team, records_of
from equipoise.lab.gpu.programs.trials import Order, Plan
from equipoise.lab.gpu.shortcuts import Shortcuts, shortcuts_of
from equipoise.lab.gpu.teams.inverses import LARGEST
from equipoise.lab.gpu.teams.judging.abreast import with_room
from equipoise.lab.gpu.teams.judging.ridges import judging_team
from equipoise.lab.gpu.teams.lanes import LANES, WARP, Team
from equipoise.lab.gpu.teams.looking import new_coming
from equipoise.lab.gpu.teams.opening import Room, new_room
from equipoise.lab.gpu.teams.pipeline import numbers_held, passing_team
from equipoise.lab.gpu.teams.products import new_told
from equipoise.lab.gpu.teams.tiles import new_bands
from equipoise.lab.gpu.turns.by_arm import by_arm_places
from equipoise.lab.gpu.turns.sequence import new_choice, new_turns
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.bench import ScenarioSeat
from equipoise.lab.trial.ledger import new_ledger
from equipoise.lab.trial.rule import rule_of
from equipoise.lab.trial.world import Draws, World

_MOST_BLOCKS, _MOST_BLOCKS_OF_LARGE_TEAMS = 2, 3
"""On a processor: more threads would have too few registers for an arm's factor, and factors no room in
caches, where an arm has two."""
_COST_OF_JUDGING_FAR_AWAY = 0.1
_BLOCKS_THAT_JUDGE = 4
_OPENING_BLOCKS = (48, 4), (64, 3)
"""How many numbers a thread may have in which trials begin, for so many blocks to be on a processor."""
_CHOOSING_BLOCKS = 4
_JUDGED = "state", "world", "judge", "ledger", "work"
"""Groups of arrays that judging needs."""


class Planning:
    """All programs of one policy in a scenario, by what they are for."""

    def __init__(self, scenario: Scenario, policy: Policy, seed: int, draws: Draws, device: Device) -> None:
        seat = ScenarioSeat(scenario, policy, seed, draws)
        self._device, self._estimator = device, scenario.estimator
        self._shortcuts = shortcuts_of(scenario, policy, seat.stage.state, draws.world)
        self.groups = _groups_of(seat, draws.world, self._estimator, self._shortcuts)
        """Arrays that have memory of the GPU."""
        self.plans: dict[str, Plan] = {}
        self.arrangements: dict[str, Arrangement] = {}
        plan = self._plan_trials(seat.policy)
        trials = self.arrangements["trials"]
        self.trials_at_once = trials.teams * trials.blocks * device.processors
        self._plan_judging(plan)
        if plan.forgets_rows and plan.one_factor and plan.layout.dim <= LARGEST:
            self._plan_beginning(plan, seat)
        # Where counts alone decide, units follow no variance.
        if self.groups["judge"].intervals[0] and "turns" not in self.plans:
            self._plan_elasticities(plan)

    def _plan_trials(self, policy: Policy) -> Plan:
        """Let units be allocated."""
        short = self._shortcuts
        choices = placements(
            at_once=short.at_once, one_context=short.one_context, forgets_rows=short.forgets_rows
        )
        many = short.team.size > LANES and short.one_factor
        blocks = _MOST_BLOCKS_OF_LARGE_TEAMS if many else _MOST_BLOCKS
        found = arranged(self.groups, self._as_rule_fits(choices), short.team, self._device, blocks)
        plan = Plan(
            Layout(self.groups, found.places, short.team, found.share, known_of(self.groups)),
            policy,
            at_once=short.at_once,
            one_factor=short.one_factor,
            one_context=short.one_context,
            looks_ahead=short.looks_ahead,
            deals_first=False,
            forgets_rows=short.forgets_rows,
            notes_first=short.notes_first,
        )
        self.plans["trials"], self.arrangements["trials"] = plan, found
        return plan

    def _as_rule_fits(self, choices: list[dict[str, Places]]) -> list[dict[str, Places]]:
        """The same placements, without a rule's numbers among constants where there is no room for them."""
        arrays = sum(1 for _ in all_arrays(self.groups)) + len(Room._fields)
        there_is = _is_room(arrays, self.groups["rule"].settings)
        return choices if there_is else [with_far_settings(each) for each in choices]

    def _plan_judging(self, plan: Plan) -> None:
        """Let models be judged when trials are over."""
        groups = {name: self.groups[name] for name in _JUDGED if name in self.groups}
        team, choices = Team(LANES), judging_placements()[-1:]
        if self._estimator == RIDGE:
            team, choices = judging_team(groups["state"], groups["judge"]), judging_placements()
        found = arranged(
            *(groups, self._as_rule_fits(choices), team, self._device, _BLOCKS_THAT_JUDGE),
            cost_of_distance=_COST_OF_JUDGING_FAR_AWAY,
        )
        layout = Layout(groups, found.places, team, found.share)
        self.plans["judged"], self.arrangements["judged"] = replace(plan, layout=layout), found

    def _plan_beginning(self, plan: Plan, seat: ScenarioSeat) -> None:
        """Let programs of their own do what can be done before units are allocated."""
        arms, units = len(self.groups["state"].arms), len(self.groups["world"].contexts[0])
        if not self._shortcuts.turns_are_known:
            self._plan_opening(plan, {})
            return
        turns = {"turns": new_turns(arms, units, self._shortcuts.unit)}
        if self._plan_opening(plan, turns):
            choice = new_choice(seat.stage.state, self.groups["rule"].settings, seat.ties)
            self._plan_turns(plan, {**turns, "choice": choice})
            self._plan_arms(plan, turns)

    def _plan_opening(self, plan: Plan, known: Groups) -> bool:
        """Let first units be dealt at once, if there is room for that; whether there is."""
        dim, arms = plan.layout.dim, len(self.groups["state"].arms)
        own = {group: self.groups[group] for group in ("state", "world", "order")}
        groups = {**own, **known, "room": new_room(arms, dim, self._shortcuts.unit)}
        team, places = passing_team(dim), opening_placement(plan.layout.places)
        if share_of(groups, places, team).size * (WARP // team.size) > self._device.shared_bytes:
            return False
        held = numbers_held(dim, team.size)
        blocks = next((blocks for most, blocks in _OPENING_BLOCKS if held <= most), _MOST_BLOCKS)
        found = arranged(groups, [places], team, self._device, blocks)
        self.arrangements["opened"] = found
        self.plans["trials"] = replace(plan, deals_first=True)
        self.plans["opened"] = replace(plan, layout=Layout(groups, places, team, found.share))
        return True

    def _plan_turns(self, plan: Plan, groups: dict[str, Any]) -> None:
        """Let all turns be worked out beforehand."""
        near, far = _near_and_far(groups, "choice", groups["choice"].settings)
        found = arranged(groups, [near, far], Team(1), self._device, _CHOOSING_BLOCKS)
        known = {"choice": {"trial": dict.fromkeys(("limited", "forced_start", "looks"), 0)}}
        layout = Layout(groups, found.places, Team(1), found.share, known)
        self.groups = {**self.groups, **groups}
        self.plans["turns"], self.arrangements["turns"] = replace(plan, layout=layout), found

    def _plan_arms(self, plan: Plan, turns: Groups) -> None:
        """Let arms take in their units one arm after the other, by turns."""
        groups = {**{group: self.groups[group] for group in ("state", "world", "bands")}, **turns}
        team, places = plan.layout.team, dict(plan.layout.places)
        places |= {group: by_arm_places(group, places[group]) for group in ("state", "world")}
        blocks = self.arrangements["trials"].blocks
        found = arranged(groups, [places], team, self._device, blocks)
        layout = replace(plan.layout, groups=groups, places=places, share=found.share)
        self.arrangements["trials"] = found
        self.plans["trials"] = replace(self.plans["trials"], layout=layout, by_arm=True)
        self.plans["opened"] = replace(self.plans["opened"], by_arm=True)

    def _plan_elasticities(self, plan: Plan) -> None:
        """Let what intervals need of the policy be worked out when trials are over."""
        state, rule, judge = (self.groups[group] for group in ("state", "rule", "judge"))
        groups = {"records": records_of(state, rule.settings, judge)}
        near, far = _near_and_far(groups, "records", rule.settings)
        team = measuring_team(len(state.arms))
        found = arranged(groups, [near, far], team, self._device, _BLOCKS_THAT_JUDGE)
        # The same program serves all numbers of features.
        known = {name: value for name, value in plan.layout.known["state"]["trial"].items() if name != "dim"}
        layout = Layout(groups, found.places, team, found.share, {"records": {"trial": known}})
        self.groups = {**self.groups, **groups}
        self.plans["elasticities"], self.arrangements["elasticities"] = replace(plan, layout=layout), found


def _groups_of(seat: ScenarioSeat, world: World, estimator: str, shortcuts: Shortcuts) -> dict[str, Any]:
    """The arrays that trials run on, and are judged on."""
    state, judge, team = seat.stage.state, seat.judge, shortcuts.team
    work = {} if estimator == RIDGE else {"work": new_workspace(state, seat.ridge)}
    if shortcuts.one_factor:
        state = with_one_factor(state)
    if shortcuts.forgets_rows:
        state = with_one_row(state)
    if shortcuts.is_narrow:
        state = state._replace(arms=narrowed(state.arms))
        judge = judge._replace(probe=narrowed(judge.probe))
    if estimator == RIDGE:
        judge = with_room(state, judge)
    arms, (dim, width) = len(state.arms), state.factors.shape[2:]
    groups: dict[str, Any] = {
        "state": state,
        "rule": rule_of(seat.stage),
        "world": world,
        "judge": judge,
        "ledger": new_ledger(1, arms),
        "order": Order(seat.ties),
        "told": new_told(dim, team),
        "bands": new_bands(width, team, looks=bool(state.trial["looks"][0])),
    }
    if shortcuts.looks_ahead:
        groups["coming"] = new_coming(arms, dim, width, team)
    if shortcuts.notes_first:
        groups["room"] = new_room(arms, dim, shortcuts.unit)
    return {**groups, **work}


def _near_and_far(
    groups: Groups, group: str, settings: Vector
) -> tuple[dict[str, Places], dict[str, Places]]:
    """Where groups lie, beside the processors or far; a rule's numbers, in one, are constants if they can."""
    near = {each: PLACES[each] for each in groups}
    if not _is_room(sum(1 for _ in all_arrays(groups)), settings):
        near[group] = replace(near[group], constant=frozenset())
    return near, {each: replace(places, near=frozenset()) for each, places in near.items()}


def _is_room(arrays: int, settings: Vector) -> bool:
    """Whether a rule's numbers find room behind the rows of so many arrays."""
    return COLUMNS * arrays + len(settings) <= TABLE_WORDS
