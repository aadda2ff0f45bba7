"""Forecast: the rest of an experiment, simulated from where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equipoise.core.arms.state import PENDING
from equipoise.core.arrays import Matrix
from equipoise.core.estimates.defaults import DEFAULT
from equipoise.core.estimates.estimators import check_estimator
from equipoise.core.experiment.record import Record
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.real import real_number
from equipoise.errors import InvalidArgument
from equipoise.lab.forecast.belief import (
    check_models,
    check_outcomes,
    contexts_to_come,
    error_root,
    settled,
)
from equipoise.lab.forecast.losses import SEEN, checked_losses, draw_fates
from equipoise.lab.forecast.result import Forecast, Origin
from equipoise.lab.forecast.runner import Runner
from equipoise.lab.forecast.start import check_policy, record_of, seeing_all, with_budget
from equipoise.lab.forecast.target import target_budgets
from equipoise.lab.forecast.truths import (
    SPARSE,
    Truths,
    checked_truth,
    draw_sparse_truths,
    draw_truths,
)
from equipoise.lab.running.simulate import Progress, check_counts, named_policies
from equipoise.lab.trial.ending import Ending

_MOST_LOOKS, _LONGEST_LAG = 1_000, 2**53


def forecast(
    experiment: Any,
    *,
    policies: Sequence[Policy | str] | Policy | str | None = None,
    budgets: Sequence[float] | float | None = None,
    target: float | None = None,
    trials: int = 1_000,
    seed: int = 0,
    contexts: Any = None,
    losses: Mapping[str, float] | float | str = SEEN,
    lag: int | None = None,
    truth: str | None = None,
    estimator: str = DEFAULT,
    ridge: float | None = None,
    looks: int = 4,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Forecast:
    """Simulate the rest of an experiment from where it stands: the errors that it may end with.

    Every trial draws a truth from what the outcomes so far leave open (noise variances and coefficients),
    lets the outcomes come that are awaited, or be lost, and goes on to the end of the budget by the code that
    the experiment runs. The experiment itself is not changed.

    Parameters
    ----------
    experiment
        An experiment in memory or in a store. Every arm must have a model, closed ones too; three outcomes
        where truths are sparse.
    policies
        Others that might take over from here, beside the one that allocates now. They start from the same
        units. An oracle without numbers is told the noise of every trial. Where the one that allocates now
        is not at hand, these are forecast alone, and without any there is an error.
    budgets
        Other budgets, in all and not from here; smaller ones too, down to what is spent. Every policy is
        forecast with every budget.
    target
        A value of the objective that is good enough: which budgets reach it, for every policy, with
        probabilities of 0.5 and 0.9 and in mean.
    trials, seed
        Trials of every course, and what they are drawn by. All courses share their draws.
    contexts
        A table of contexts to come, as ``ask_many`` takes them, drawn from with replacement. None: those
        seen.
    losses
        The share of outcomes to come that is lost, today's awaited ones included: ``"seen"``, drawn from what
        the experiment has lost so far, arm by arm as far as the data tell arms apart; or a number for all
        arms, or numbers by arm, 0 where none are named. With 0 none is lost.
    lag
        Further units that are assigned before an outcome comes or is given up, awaited ones too; 0: at once.
        None: drawn from the waits seen so far.
    truth
        What truths are drawn from: ``"pooled"``, where arms may have something in common, as far as the data
        say so; ``"unshrunk"``, every arm for itself; or ``"sparse"``, where few features matter. With one
        arm, or less than three features, the first is the second. None: sparse where the experiment's policy
        chooses features, else pooled.
    estimator, ridge
        How models will be estimated, as :meth:`equipoise.Experiment.estimates` takes them.
    looks
        Moments on the way at which errors are looked at, evenly spaced, the last one at the end.
    workers
        Threads; all cores unless given.
    progress
        Called with the number of trials done and expected, after every chunk.

    Examples
    --------
    >>> import numpy as np
    >>> import equipoise as eq
    >>> problem = eq.Problem(arms=["placebo", "drug"], dim=2, budget=60, moment=np.eye(2))
    >>> experiment, rng = eq.Experiment(problem, seed=7), np.random.default_rng(1)
    >>> for _ in range(20):
    ...     x = rng.normal(size=2)
    ...     experiment.tell(experiment.ask(x).id, float(x.sum() + rng.normal()))
    >>> found = eq.forecast(experiment, policies=["uniform"], budgets=[100], trials=50)
    >>> [(course.policy, course.budget) for course in found.courses]
    [('trace-gain', 60), ('trace-gain', 100), ('uniform', 60), ('uniform', 100)]
    """
    check_counts(trials=trials, seed=seed, workers=workers)
    check_estimator(estimator, ridge)
    goal = _goal(target)
    _check_number("looks", looks, 1, _MOST_LOOKS)
    if lag is not None:
        _check_number("lag", lag, 0, _LONGEST_LAG)
    record = record_of(experiment)
    kind, rates = checked_truth(truth, record.policy), checked_losses(record.problem, losses)
    chosen = _policies(record, policies)
    problems = [record.problem, *(with_budget(record, budget) for budget in _budgets(budgets))]
    problems = list({problem.budget: problem for problem in problems}.values())
    ending = Ending(record.problem, record.policy, seed, estimator=estimator, ridge=ridge)
    truths, coefs_now = _known(record, ending, kind, trials=int(trials), seed=int(seed))
    fates = draw_fates(record, rates, None if lag is None else int(lag), trials=int(trials), seed=int(seed))
    pool = contexts_to_come(record, contexts)
    # A policy that is told the noise begins with what is likely; every trial then tells it its own.
    noise = np.median(truths.deviations * truths.deviations, axis=0).tolist()
    informed = {name: policy.informed(noise) for name, policy in chosen.items()}
    for policy in informed.values():
        for problem in problems:
            policy.check(problem)
    runner = Runner(
        record=record,
        truths=truths,
        fates=fates,
        contexts=pool,
        error_root=error_root(record.problem, pool, singular=kind == SPARSE),
        coefs_now=coefs_now,
        policies=chosen,
        informed=informed,
        estimator=estimator,
        ridge=ridge,
        trials=int(trials),
        seed=int(seed),
        workers=workers,
        progress=progress,
    )
    courses = runner.courses([(name, problem) for name in chosen for problem in problems], looks)
    targets = () if goal is None else target_budgets(runner, courses, goal)
    rows = record.state.rows["status"]
    origin = Origin(
        arms=record.problem.arms,
        budget=record.problem.budget,
        objective=record.problem.objective,
        weights=tuple(record.problem.weights.tolist()),
        policy=next(iter(chosen)),
        seed=record.seed,
        asked=record.step,
        awaited=int(np.count_nonzero(rows[: record.step] == PENDING)),
        has_mean=truths.has_mean,
        has_error=truths.has_error,
        truth=truths.kind,
        losses=fates.origin,
        loss_rates=tuple((fates.rates.mean(axis=0) if rates is None else rates).tolist()),
        lost=fates.seen[0],
        ended=fates.seen[1],
        lag=fates.lag,
        median_wait=fates.told.median,
        late=fates.told.late,
        contexts="seen" if contexts is None else "given",
    )
    return Forecast(origin, courses, goal, targets, int(seed), estimator, ridge)


def _check_number(name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= value <= most:
        raise InvalidArgument(f"{name}={value!r} is not a whole number from {least} to {most}")


def _known(record: Record, ending: Ending, kind: str, *, trials: int, seed: int) -> tuple[Truths, Matrix]:
    """Truths, and the estimates of now, if every arm has outcomes enough."""
    if kind == SPARSE:
        check_outcomes(record)
        coefs = ending.estimated(settled(record.stage), record.contexts).copy()
        return draw_sparse_truths(record, coefs, trials=trials, seed=seed), coefs
    stage = settled(seeing_all(record))
    check_models(stage)
    coefs = ending.estimated(settled(record.stage), record.contexts).copy()
    return draw_truths(stage, kind, trials=trials, seed=seed), coefs


def _policies(record: Record, policies: Any) -> dict[str, Policy]:
    """The experiment's own policy if it is at hand, then the others, by name."""
    current, others = record.policy, {} if policies is None else named_policies(policies)
    # What stands for a policy that is not at hand has its name and not its rule, and refuses to be simulated.
    left_out = isinstance(current, AbsentPolicy) and others
    chosen = {} if left_out else {current.label: current}
    chosen |= {name: policy for name, policy in others.items() if left_out or policy != current}
    for name, policy in chosen.items():
        if isinstance(policy, AbsentPolicy):
            raise policy.refuse_to_simulate()
        check_policy(policy, name, record)
    return chosen


def _budgets(budgets: Any) -> list[Any]:
    if budgets is None:
        return []
    if isinstance(budgets, int | float | np.number):
        return [budgets]
    if isinstance(budgets, str) or not isinstance(budgets, Sequence | np.ndarray):
        raise InvalidArgument(f"budgets={budgets!r} is not a list of numbers", hint="e.g. budgets=[400, 500]")
    return list(budgets)


def _goal(target: Any) -> float | None:
    if target is None:
        return None
    try:
        goal = np.nan if isinstance(target, bool) else real_number(target)
    except (TypeError, ValueError, OverflowError):
        goal = np.nan
    if not 0.0 < goal < np.inf:
        raise InvalidArgument(f"target={target!r} is not a positive number", hint="e.g. target=0.1")
    return float(goal)
