"""Replay: what would policies have done on a table that is complete?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from equipoise.core.estimates.estimators import DEFAULT
from equipoise.core.policies import Uniform
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.objective import Objective
from equipoise.errors import InvalidArgument
from equipoise.lab.replay.arena import ReplayArena, new_arena
from equipoise.lab.replay.result import ReplayResult
from equipoise.lab.replay.saved import UniformCurve, UnitsSaved
from equipoise.lab.replay.table import as_table
from equipoise.lab.results.estimate import Estimate
from equipoise.lab.results.policy import PolicyResult
from equipoise.lab.running.simulate import Progress, check_policies, named_policies, run_policies
from equipoise.version import __version__

_UNIFORM = Uniform().spec


def replay(
    data: Any,
    policies: Sequence[Policy | str],
    *,
    budget: int,
    contexts: Sequence[str | int] | None = None,
    targets: Sequence[str | int] | None = None,
    moment: str = "table",
    center: str = "intercept",
    missing: str = "drop",
    one_hot: bool = False,
    estimator: str = DEFAULT,
    ridge: float | None = None,
    objective: Objective = "max",
    weights: Mapping[str, float] | None = None,
    trials: int = 1_000,
    seed: int = 0,
    saved: bool = True,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    name: str | None = None,
) -> ReplayResult:
    """Run policies on a complete table and measure what each would have reached.

    Every trial feeds ``budget`` random rows in random order to the policy, which reads one target of
    each; the other rows measure the error of every arm's model. All policies meet the same rows in
    the same order. Results depend on the table, the settings and the seed alone.

    Parameters
    ----------
    data
        A file, a data frame, an array, …: see :func:`equipoise.as_table`.
    policies
        Policies or their text forms.
    budget
        Rows that a trial feeds to the policy.
    contexts, targets
        Columns that are known of every unit (all others unless given) and columns to learn, one an arm.
    moment
        ``"table"``: policies are told Σ = E[xxᵀ] of the whole table, as if the population's contexts were
        known. ``"online"``: they learn it from the contexts they meet.
    center
        ``"intercept"``: every arm learns an intercept of its own from the outcomes it has read.
        ``"table"``: contexts and targets are centred by the whole table, as in the paper, held-out
        outcomes included. ``"none"``: columns as they are.
    estimator, ridge
        How models are estimated from what was read, as :meth:`equipoise.Experiment.estimates` takes them.
    missing, one_hot, name
        See :func:`equipoise.as_table`.
    saved
        Whether uniform sampling is replayed at further budgets to say how many units each policy saved.
    workers, executor, progress, checkpoint
        As in :func:`equipoise.simulate`.

    Examples
    --------
    >>> import numpy as np
    >>> import equipoise as eq
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(400, 2))
    >>> y = x @ rng.normal(size=(2, 3)) + rng.normal(size=(400, 3)) * [0.1, 0.5, 2.0]
    >>> columns = {"age": x[:, 0], "dose": x[:, 1], "a": y[:, 0], "b": y[:, 1], "c": y[:, 2]}
    >>> result = eq.replay(columns, ["uniform", "trace-ucb"], targets=["a", "b", "c"], budget=60, trials=50)
    >>> result.table.contexts, result.table.rows, sorted(result.policies)
    (('age', 'dose'), 400, ['trace-ucb', 'uniform'])
    """
    results = replay_budgets(
        data,
        policies,
        budgets=[budget],
        contexts=contexts,
        targets=targets,
        moment=moment,
        center=center,
        missing=missing,
        one_hot=one_hot,
        estimator=estimator,
        ridge=ridge,
        objective=objective,
        weights=weights,
        trials=trials,
        seed=seed,
        saved=saved,
        workers=workers,
        executor=executor,
        progress=progress,
        checkpoint=checkpoint,
        name=name,
    )
    return results[0]


def replay_budgets(
    data: Any,
    policies: Sequence[Policy | str],
    *,
    budgets: Sequence[int],
    contexts: Sequence[str | int] | None = None,
    targets: Sequence[str | int] | None = None,
    moment: str = "table",
    center: str = "intercept",
    missing: str = "drop",
    one_hot: bool = False,
    estimator: str = DEFAULT,
    ridge: float | None = None,
    objective: Objective = "max",
    weights: Mapping[str, float] | None = None,
    trials: int = 1_000,
    seed: int = 0,
    saved: bool = True,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    checkpoint: str | Path | None = None,
    name: str | None = None,
) -> tuple[ReplayResult, ...]:
    """The same at several budgets, one result each; the table is read once.

    A trial's rows at a small budget are the first of those at a larger one.
    """
    if not budgets or len(set(budgets)) < len(budgets):
        raise InvalidArgument(f"budgets={list(budgets)!r}", hint="give several different numbers")
    table = as_table(data, contexts=contexts, targets=targets, missing=missing, one_hot=one_hot, name=name)
    arena = new_arena(
        table,
        budgets[0],
        moment=moment,
        center=center,
        estimator=estimator,
        ridge=ridge,
        objective=objective,
        weights=weights,
    )
    arenas = [arena.with_budget(budget) for budget in budgets]
    for one in arenas:  # before the first trial, not after those of another budget
        check_policies(one, named_policies(policies), trials, seed, workers)
    runner = _Runner(arena, trials, seed, workers, executor, progress, checkpoint)
    return tuple(runner.result(one, policies, saved) for one in arenas)


class _Runner:
    """What all budgets of a replay have in common."""

    def __init__(
        self,
        arena: ReplayArena,
        trials: int,
        seed: int,
        workers: int | None,
        executor: Executor | None,
        progress: Progress | None,
        checkpoint: str | Path | None,
    ) -> None:
        self.arena, self.trials, self.seed = arena, trials, seed
        self.workers, self.executor, self.progress = workers, executor, progress
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        self.loss = "median_max" if arena.objective == "max" else "mean"
        self.curve = UniformCurve(
            replay=self._uniform_loss,
            loss=self.loss,
            rows=arena.rows.rows,
            least=len(arena.arms) * (arena.dim + 2),
        )

    def result(self, arena: ReplayArena, policies: Sequence[Policy | str], saved: bool) -> ReplayResult:
        found = self._run(arena, policies, f"budget-{arena.budget}")
        return ReplayResult(
            arena.scenario,
            int(self.seed),
            __version__,
            found,
            saved=self._saved(arena, found) if saved else {},
            columns=arena.rows.columns,
            file=arena.rows.file,
        )

    def _saved(self, arena: ReplayArena, found: Mapping[str, PolicyResult]) -> dict[str, UnitsSaved]:
        for policy in found.values():
            if policy.spec == _UNIFORM:
                self.curve.points.setdefault(arena.budget, self._estimate(policy))
        if arena.budget < self.curve.least:
            return {}
        return {
            name: self.curve.saved(arena.budget, self._estimate(policy))
            for name, policy in found.items()
            if policy.spec != _UNIFORM
        }

    def _uniform_loss(self, budget: int) -> Estimate:
        found = self._run(self.arena.with_budget(budget), [_UNIFORM], f"uniform-{budget}")
        return self._estimate(found[_UNIFORM])

    def _estimate(self, policy: PolicyResult) -> Estimate:
        estimate: Estimate = getattr(policy, self.loss)()
        return estimate

    def _run(
        self, arena: ReplayArena, policies: Sequence[Policy | str], folder: str
    ) -> dict[str, PolicyResult]:
        return run_policies(
            arena,
            policies,
            trials=self.trials,
            seed=self.seed,
            workers=self.workers,
            executor=self.executor,
            progress=self.progress,
            checkpoint=None if self.checkpoint is None else self.checkpoint / folder,
        )
