"""Trials that end when their estimates pass a target."""

from __future__ import annotations

from equipoise.core.estimates.estimates import Fitted, estimate_arms
from equipoise.core.problem.objective import combine
from equipoise.core.stages.stage import Stage
from equipoise.lab.pieces import Stops
from equipoise.lab.trial.rule import rule_of
from equipoise.lab.trial.run import run_stage
from equipoise.lab.trial.student import CONFIDENCE
from equipoise.lab.trial.world import World, hold_clock, release_clock


def run_with_looks(stage: Stage, world: World, stop: Stops, *, estimator: str, ridge: float | None) -> bool:
    """Run a trial of one stage that has been started; whether the target ended it."""
    problem, clock = stage.problem, world.clock
    stopped = False
    for time in stop.looks(len(problem.arms), problem.dim, problem.units):
        hold_clock(world, time)
        run_stage(stage.state, rule_of(stage), world)
        if clock["unit"][0] >= clock["units"][0]:
            break
        stopped = _reached(stage, stop, estimator, ridge)
        if stopped:
            clock["units"] = clock["unit"]
            break
    release_clock(world)
    run_stage(stage.state, rule_of(stage), world)
    return stopped


def _reached(stage: Stage, stop: Stops, estimator: str, ridge: float | None) -> bool:
    """Whether what an experiment would estimate now passes the target."""
    problem = stage.problem
    if stop.by == "bound":
        arms = estimate_arms(stage, estimator=estimator, ridge=ridge, confidence=CONFIDENCE)
        errors = [arm.error_bound for arm in arms]
    else:
        errors = Fitted(stage, estimator, ridge).expected_errors().tolist()
    return combine(errors, problem.weights, problem.objective) <= stop.target
