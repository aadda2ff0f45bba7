"""Replay: what would policies have done on a table that is complete?"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Unpack, overload

from equipoise.core.estimates.defaults import DEFAULT
from equipoise.core.policies import Uniform
from equipoise.core.policies.base.policy import Policy
from equipoise.core.problem.objective import Objective
from equipoise.errors import InvalidArgument, ScaleWarning
from equipoise.lab.replay.arena import ReplayArena, new_arena
from equipoise.lab.replay.reading.options import ReadingOptions
from equipoise.lab.replay.result import NOT_ASKED, ReplayResult, ReplayResults
from equipoise.lab.replay.saved import UniformCurve, UnitsSaved
from equipoise.lab.replay.scale import decision_words
from equipoise.lab.replay.split import most_read
from equipoise.lab.replay.table import as_table
from equipoise.lab.results.estimate import Estimate
from equipoise.lab.results.policy import PolicyResult
from equipoise.lab.running.simulate import Progress, check_policies, named_policies, run_policies
from equipoise.version import __version__

_UNIFORM = Uniform().spec


class ReplayOptions(ReadingOptions, total=False):
    """The arguments of :func:`replay` besides the table, the policies and the budget."""

    scale: str
    moment: str
    center: str
    estimator: str
    ridge: float | None
    objective: Objective
    weights: Mapping[str, float] | None
    trials: int
    seed: int
    saved: bool
    workers: int | None
    executor: Executor | None
    progress: Progress | None
    checkpoint: str | Path | None


@overload
def replay(
    data: Any, policies: Sequence[Policy | str], *, budget: int, **options: Unpack[ReplayOptions]
) -> ReplayResult: ...
@overload
def replay(
    data: Any, policies: Sequence[Policy | str], *, budget: Sequence[int], **options: Unpack[ReplayOptions]
) -> ReplayResults: ...
def replay(
    data: Any,
    policies: Sequence[Policy | str],
    *,
    budget: int | Sequence[int],
    scale: str = "auto",
    moment: str = "table",
    center: str = "intercept",
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
    **reading: Unpack[ReadingOptions],
) -> ReplayResult | ReplayResults:
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
        Rows that a trial feeds to the policy; of several, one result each. A trial's rows at a small budget
        are among those at a larger one.
    scale
        ``"targets"``: every target is divided by its standard deviation in the table, for policies and losses
        alike, so that errors are shares of each target's variance. ``"none"``: targets as they are, for
        targets in one unit. ``"auto"``: ``"targets"``, with a :class:`~equipoise.errors.ScaleWarning`, if the
        standard deviations differ more than twofold, else ``"none"``.
    moment
        ``"table"``: policies are told Σ = E[xxᵀ] of the whole table, as if the population's contexts were
        known. ``"online"``: they learn it from the contexts they meet.
    center
        ``"intercept"``: every arm learns an intercept of its own from the outcomes it has read.
        ``"table"``: contexts and targets are centred by the whole table, as in the paper, held-out
        outcomes included. ``"none"``: columns as they are.
    estimator, ridge
        How models are estimated from what was read, as :meth:`equipoise.Experiment.estimates` takes them.
    saved
        Whether uniform sampling is replayed at further budgets to say how many units each policy saved.
    workers, executor, progress, checkpoint
        As in :func:`equipoise.simulate`.
    reading
        How the table is read, as :func:`equipoise.as_table` takes it: ``contexts``, ``targets``, ``exclude``,
        ``group``, ``order``, ``missing``, ``one_hot``, ``separator``, ``decimal``, ``na``, ``date_format``,
        ``name``.

    Examples
    --------
    >>> import numpy as np
    >>> import equipoise as eq
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(400, 2))
    >>> y = x @ rng.normal(size=(2, 3)) + rng.normal(size=(400, 3)) * [0.1, 0.5, 2.0]
    >>> columns = {"age": x[:, 0], "dose": x[:, 1], "a": y[:, 0], "b": y[:, 1], "c": y[:, 2]}
    >>> result = eq.replay(
    ...     columns, ["uniform", "trace-ucb"], targets=["a", "b", "c"], scale="none", budget=60, trials=50
    ... )
    >>> result.table.contexts, result.table.rows, sorted(result.policies)
    (('age', 'dose'), 400, ['trace-ucb', 'uniform'])
    >>> both = eq.replay(
    ...     columns, ["uniform"], targets=["a", "b", "c"], scale="none", budget=[60, 90], trials=50
    ... )
    >>> both.losses().columns
    ('budget', 'policy', 'loss', 'value', 'stderr')
    """
    budgets = list(budget) if isinstance(budget, Iterable) else [budget]
    if not budgets or len(set(budgets)) < len(budgets):
        raise InvalidArgument(f"budget={budget!r}", hint="give a number, or several different ones")
    arena = new_arena(
        as_table(data, **reading),
        budgets[0],
        moment=moment,
        center=center,
        scale=scale,
        estimator=estimator,
        ridge=ridge,
        objective=objective,
        weights=weights,
    )
    arenas = [arena.with_budget(one) for one in budgets]
    for one in arenas:  # before the first trial, not after those of another budget
        check_policies(one, named_policies(policies), trials, seed, workers)
    chosen = arena.scenario
    if scale == "auto" and chosen.scale == "targets":
        warnings.warn(decision_words(chosen.targets, chosen.spreads), ScaleWarning, stacklevel=2)
    runner = _Runner(arena, trials, seed, workers, executor, progress, checkpoint)
    results = ReplayResults([runner.result(one, policies, saved) for one in arenas])
    return results if isinstance(budget, Iterable) else results[0]


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
            most=most_read(arena.rows),
        )

    def result(self, arena: ReplayArena, policies: Sequence[Policy | str], saved: bool) -> ReplayResult:
        found = self._run(arena, policies, f"budget-{arena.budget}")
        unsaved = self._unsaved(arena, found, saved)
        return ReplayResult(
            arena.scenario,
            int(self.seed),
            __version__,
            found,
            saved=self._saved(arena, found) if unsaved is None else {},
            unsaved=unsaved,
            reading=arena.rows.reading,
            file=arena.rows.file,
        )

    def _unsaved(self, arena: ReplayArena, found: Mapping[str, PolicyResult], asked: bool) -> str | None:
        """Why units saved cannot be had, if so."""
        if not asked:
            return NOT_ASKED
        if all(policy.spec == _UNIFORM for policy in found.values()):
            return "there is no policy besides uniform"
        if arena.budget < self.curve.least:
            return (
                f"below m(d+2) = {self.curve.least} units uniform sampling leaves arms with too few units "
                "for its error to fall with the budget"
            )
        return None

    def _saved(self, arena: ReplayArena, found: Mapping[str, PolicyResult]) -> dict[str, UnitsSaved]:
        for policy in found.values():
            if policy.spec == _UNIFORM:
                self.curve.points.setdefault(arena.budget, self._estimate(policy))
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
