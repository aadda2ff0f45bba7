"""Trials of one stage, in one loop."""

from __future__ import annotations

from equipoise.core.arms import factor
from equipoise.core.arms.state import State
from equipoise.core.choice.ties import Ties
from equipoise.core.jit.decorators import compiled
from equipoise.lab.trial.judge import Judge, judge_trial
from equipoise.lab.trial.ledger import Ledger
from equipoise.lab.trial.opening import deal_first_units
from equipoise.lab.trial.rule import Rule
from equipoise.lab.trial.run import run_stage, start_trial
from equipoise.lab.trial.world import World


@compiled
def run_trials(
    state: State,
    rule: Rule,
    ties: Ties,
    world: World,
    judge: Judge,
    ledger: Ledger,
    numbers: slice,
    row: int,
    room: factor.Stack,
) -> None:
    """Trials ``numbers`` of one stage, which the world's block holds, judged by ridge estimates.

    They fill the ledger from ``row`` on; ``room`` is for their first units. Policies with several stages and
    other estimates go back to Python after every trial; here that would cost more than it does.
    """
    for place in range(numbers.stop - numbers.start):
        start_trial(state, ties, world, place, numbers.start + place)
        deal_first_units(state, rule, world, room)
        run_stage(state, rule, world)
        judge_trial(state, rule, judge, world.coefs[place], ledger, row + place)
        ledger.course[row + place, 0] = state.trial[0].step
