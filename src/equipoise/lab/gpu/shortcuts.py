"""What programs of a policy's trials need not do or keep, because nobody would notice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import State
from equipoise.core.estimates.estimators import RIDGE
from equipoise.core.jit.sources import is_stamped
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.gpu.places import has_small_numbers, is_plain
from equipoise.lab.gpu.programs.drawing import is_drawn_there
from equipoise.lab.gpu.teams.lanes import Team
from equipoise.lab.gpu.teams.noting import noting_pays
from equipoise.lab.gpu.teams.tiles import are_tiles, best_team
from equipoise.lab.gpu.teams.units import fits
from equipoise.lab.gpu.turns.known import are_turns_known
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.world import World

_BLIND_TO_UNITS = RIDGE, "pooled", "empirical-bayes"
"""Estimators that do not look at single units once more."""


class Shortcuts(NamedTuple):
    """Which of them are taken, and by whom."""

    team: Team
    """Threads that work on a trial."""
    at_once: bool
    """Outcomes come at once."""
    one_factor: bool
    """An arm has one factor, not two."""
    one_context: bool
    """Only that of the unit at hand is there, where functions look for a whitened one."""
    forgets_rows: bool
    """Nobody looks at what units have left once they are over."""
    turns_are_known: bool
    """Before trials begin."""
    is_narrow: bool
    """Half a word is enough for whatever is counted of arms."""
    looks_ahead: bool
    """At the contexts of some units to come at once."""
    notes_first: bool
    """The first units of an arm enter it when they are enough."""

    @property
    def unit(self) -> npt.DTypeLike:
        """What holds the number of a unit."""
        return np.int16 if self.is_narrow else np.int32


def shortcuts_of(scenario: Scenario, policy: Policy, state: State, world: World) -> Shortcuts:
    """Those of a policy in a scenario, by what its trials begin with."""
    dim, width = state.factors.shape[2:]
    team = best_team(dim, width)
    at_once = not world.setting["late"][0]
    given = not len(state.whitener) and not state.trial["learns_moment"][0]
    one_context = bool(at_once and given and fits(dim, team))
    turns_are_known = are_turns_known(scenario, policy)
    forgets = one_context and _forgets_rows(scenario, policy, world, state, turns_are_known=turns_are_known)
    # A score of one's own may read limits, whose largest number is another one in half a word, and what has
    # not entered an arm yet.
    is_own = is_stamped(type(policy).score)
    looks_ahead = one_context and bool(state.trial["looks"][0]) and are_tiles(dim, width, team)
    enough = len(state.arms) * (dim + 1) <= len(world.contexts[0])
    return Shortcuts(
        team,
        at_once=at_once,
        one_factor=at_once and state.lots.ndim == 2,
        one_context=one_context,
        forgets_rows=forgets,
        turns_are_known=turns_are_known,
        is_narrow=is_own and has_small_numbers(state, world),
        looks_ahead=looks_ahead,
        notes_first=looks_ahead and forgets and enough and noting_pays(team) and is_own,
    )


def _forgets_rows(
    scenario: Scenario, policy: Policy, world: World, state: State, *, turns_are_known: bool
) -> bool:
    """Whether it is sure that nobody looks at what units have left once they are over.

    Lots and designs do, and whoever leaves one out; and whoever doubts that outcomes differ, as those of
    units with normal contexts do. Worlds that are not plain are not looked into.
    """
    differ = is_drawn_there(scenario) and scenario.dim > scenario.intercept
    drawn = isinstance(policy, Design) or state.trial["chance"][0] > 0.0
    if not state.trial["forced_start"][0] and not turns_are_known:
        return False
    return bool(differ and not drawn and scenario.estimator in _BLIND_TO_UNITS and is_plain(state, world))
