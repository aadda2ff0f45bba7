"""Simulated trials as compiled loops over the very functions that :class:`equipoise.Experiment` calls."""

from __future__ import annotations

from equipoise.core.arms.least_squares import is_settled, observe_at_once, settle
from equipoise.core.arms.rebuild import clear
from equipoise.core.arms.state import State
from equipoise.core.arrays import Counts, Vector
from equipoise.core.choice.decide import CHOOSE, assign_next, next_arm
from equipoise.core.choice.ties import Ties, order_arms
from equipoise.core.jit.decorators import compiled, inlined
from equipoise.lab.trial.calendar.arrivals import meet_fate, receive
from equipoise.lab.trial.calendar.closures import close_arms
from equipoise.lab.trial.rule import Rule, next_is_due
from equipoise.lab.trial.world import World, draw_outcome, start_clock


@inlined
def run_stage(state: State, rule: Rule, world: World) -> bool:
    """Run until the next stage is due; False where nothing is left to wait for, or somebody wants to look."""
    clock = world.clock[0]
    while clock.unit < clock.last:
        if clock.unit < clock.units:
            close_arms(world, state)
            if next_is_due(state, rule):
                return True
            assign_unit(state, rule, world, clock.unit)
        clock.unit += 1
        receive(world, state)
    if not is_settled(state):
        settle(state)
    return False


@inlined
def assign_unit(state: State, rule: Rule, world: World, t: int) -> None:
    """The arm of unit t, and its outcome, which may arrive later."""
    show_context(state, rule, world, t)
    arm = next_arm(state, rule.terms[0].score, rule.settings, rule.scores)
    if arm < 0:
        # No further units; outcomes may still arrive.
        world.clock[0].units = t
        return
    # Before the unit enters the arm: neither waits for the other, and a processor works on both at once.
    place = world.clock[0].place
    state.outcomes[t] = draw_outcome(world, world.contexts[place, t], world.coefs[place, arm], t, arm)
    assign_next(state, rule.settings, arm, CHOOSE)
    meet_fate(world, arm)
    if not world.setting[0].late:
        observe_at_once(state, t, arm, state.outcomes[t])


@inlined
def show_context(state: State, rule: Rule, world: World, t: int) -> None:
    """Put the context of unit t where the rule looks for it, in the features that it sees."""
    context, seen = world.contexts[world.clock[0].place, t], state.contexts[t]
    for c in range(rule.columns.shape[0]):
        seen[c] = context[rule.columns[c]]


@compiled
def start_trial(state: State, ties: Ties, world: World, place: int, number: int) -> None:
    """Begin a trial on arrays that have served another."""
    clear(state, number)
    order_arms(state, ties, world.stream)
    start_clock(world, place, number)


@compiled
def draw_outcomes(world: World, arms: Counts, outcomes: Vector) -> None:
    """Outcomes of a trial in which unit t goes to ``arms[t]``, whoever chose so."""
    contexts, coefs = world.contexts[world.clock[0].place], world.coefs[world.clock[0].place]
    for t in range(outcomes.shape[0]):
        outcomes[t] = draw_outcome(world, contexts[t], coefs[arms[t]], t, arms[t])


@compiled
def open_trial(world: World, place: int, number: int) -> None:
    """Point the world at a trial of its block."""
    start_clock(world, place, number)
