"""What trials are worth when they are over, judged by the lab's own functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from equipoise.core.estimates import alike
from equipoise.core.estimates.estimators import ESTIMATORS, RIDGE
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.programs.trials import Plan
from equipoise.lab.gpu.teams.judging.ridges import use_rows
from equipoise.lab.gpu.teams.lanes import number_of, team_size, use_threads
from equipoise.lab.trial.judge import judge_coefs, judge_intervals, judge_trial, prepare_judgement

_NO_RULE: Any = None
"""Nobody asks the policy any more."""


def judge_program(plan: Plan, estimator: str) -> Callable[..., None]:
    """What trials are worth: takes what is left free, how many there are, and the first row of the ledger.

    Trials of a policy leave more threads no room; judged by themselves, more of them are at work. Nothing of
    a policy is in it: the elasticities that its intervals need are there (elasticities.py).
    """
    relink = Relinker()
    use_threads(relink)
    relink.replace(prepare_judgement, Kernel(_is_prepared, inline=True))
    if plan.forgets_rows:
        relink.replace(alike.outcomes_alike, Kernel(_differ, inline=True))
    if estimator == RIDGE:
        use_rows(relink)
    handles = {group: each.handle() for group, each in plan.assemblers().items()}
    state_of, world_of = handles["state"], handles["world"]
    judge_of, ledger_of = handles["judge"], handles["ledger"]
    thread, block, block_threads, blocks = map(number_of, ("tid", "ctaid", "ntid", "nctaid"))
    if estimator == RIDGE:
        judged = relink(judge_trial)

        def judge_by_ridge(free: int, count: int, row: int) -> None:
            size = team_size()
            local, teams = thread() // size, block_threads() // size
            for place in range(block() * teams + local, count, teams * blocks()):
                state, ledger = state_of(place, local), ledger_of(place, local)
                judge = judge_of(place, local)
                judged(state, _NO_RULE, judge, world_of(place, local).coefs[place], ledger, row + place)
                ledger.course[row + place, 0] = state.trial[0].step

        return judge_by_ridge

    work_of, fitted = handles["work"], relink(Kernel(_judge_fitted(estimator), inline=True))

    def judge_by_fits(free: int, count: int, row: int) -> None:
        size = team_size()
        local, teams = thread() // size, block_threads() // size
        for place in range(block() * teams + local, count, teams * blocks()):
            state, ledger = state_of(place, local), ledger_of(place, local)
            truth, judge = world_of(place, local).coefs[place], judge_of(place, local)
            fitted(state, judge, truth, ledger, work_of(place, local), row + place)
            ledger.course[row + place, 0] = state.trial[0].step

    return judge_by_fits


def _is_prepared(state: Any, rule: Any, judge: Any) -> None:
    """Elasticities have been worked out before."""


def _differ(state: Any, i: int) -> bool:
    """Outcomes of units with normal contexts are never all alike."""
    return False


def _judge_fitted(estimator: str) -> Callable[..., None]:
    """What a trial is worth whose models are estimated otherwise than by ridge."""
    fit = ESTIMATORS[estimator].fit

    def judge_fitted(state: Any, judge: Any, truth: Any, ledger: Any, work: Any, row: int) -> None:
        judge_intervals(state, _NO_RULE, judge, truth, ledger.coverage[row], ledger.plain_coverage[row])
        fit(state, work)
        judge_coefs(judge, work.coefs, truth, ledger.errors[row])
        for i in range(ledger.counts.shape[1]):
            ledger.counts[row, i] = state.arms[i].count + state.arms[i].set_aside

    return judge_fitted
