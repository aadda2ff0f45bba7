"""The contract of a policy, as checks that any policy can be run through.

>>> import equipoise as eq
>>> from equipoise.checks import check_policy
>>> check_policy(eq.TraceUCB(width=0.5))[:3]
['pure choice', 'reproducible', 'relabelling']

In a test suite, run them one by one:

    @pytest.mark.parametrize("name, check", checks_for(MyPolicy()))
    def test_contract(name, check):
        check()
"""

from __future__ import annotations

import copy
import functools
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from equipoise.core.arms.least_squares import is_settled, settle
from equipoise.core.arms.state import copied
from equipoise.core.arrays import Matrix
from equipoise.core.choice.by_weights import choose
from equipoise.core.estimates.estimates import Estimates
from equipoise.core.estimates.intervals import unreadable_arms
from equipoise.core.experiment.experiment import Experiment
from equipoise.core.policies.base.policy import Policy, parse_policy, policy_fields
from equipoise.core.problem.problem import Problem
from equipoise.errors import CheckFailed, InvalidPolicy, SupportWarning

_ARMS = ("alpha", "beta", "gamma")
_DIM, _BUDGET = 3, 90
_DEVIATIONS = {"alpha": 0.2, "beta": 1.0, "gamma": 1.7}
_MIXING = np.array([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-1.0, 3.0, 0.1]])
_SCALING = np.diag([2.0, 0.3, 10.0])


def checks_for(policy: Policy) -> list[tuple[str, Callable[[], None]]]:
    """Every check as (name, function without arguments); policies for three arms are expected."""
    return [(name, functools.partial(check, policy)) for name, check in _CHECKS.items()]


def check_policy(policy: Policy) -> list[str]:
    """Run all checks; return their names, or raise :class:`~equipoise.errors.CheckFailed`."""
    passed = []
    for name, check in checks_for(policy):
        check()
        passed.append(name)
    return passed


def check_pure_choice(policy: Policy) -> None:
    """Choosing again changes nothing: the state keeps its bytes and the choice repeats itself."""
    trial = _Trial(policy, next(_problems()))
    for _ in range(_BUDGET // 2):
        trial.step()
    experiment = trial.experiment
    stage, scores = experiment._stage, np.zeros(len(_ARMS))
    state = copied(stage.state, len(stage.state.rows))
    if not is_settled(state):
        settle(state)
    # Looking at the context leaves its gains in the state; only then may nothing change.
    choices = {choose(state, stage.score, stage.settings, scores)}
    before = [array.tobytes() for array in state]
    for _ in range(2):
        choices.add(choose(state, stage.score, stage.settings, scores))
    if len(choices) != 1:
        raise _failed(policy, "choosing twice in the same state gave two different arms")
    if before != [array.tobytes() for array in state]:
        raise _failed(policy, "choosing changed the state", "a score must not write to arm or trial")
    if any(np.isnan(score) for score in experiment.ask(trial.contexts[0]).scores.values()):
        raise _failed(policy, "a score is not a number", "infinity is fine, nan is not")


def check_reproducible(policy: Policy) -> None:
    """Same contexts, outcomes and seed: same arms. A copy made half way goes on identically."""
    for problem in _problems():
        first, second = _Trial(policy, problem), _Trial(policy, problem)
        for _ in range(_BUDGET // 2):
            first.step()
            second.step()
        second.experiment = copy.deepcopy(second.experiment)
        _same(policy, problem, first.finish(), second.finish(), "running the same trial twice")


def check_relabelling(policy: Policy) -> None:
    """The order in which arms are listed does not matter."""
    order = [2, 0, 1]
    for problem in _problems():
        moved = _restated(problem, [problem.arms[i] for i in order], problem.moment)
        _same(
            policy,
            problem,
            _Trial(policy, problem).finish(),
            _Trial(policy.reordered(order), moved).finish(),
            "listing the arms in another order",
            "a policy with one number an arm must implement reordered()",
        )


def check_unit_invariance(policy: Policy) -> None:
    """Outcomes in other units give the same allocation."""
    for problem in _problems():
        reference = _Trial(policy, problem).finish()
        for factor in (1e-3, 7.0, 1e4):
            scaled = _Trial(policy.rescaled(factor), problem, unit=factor).finish()
            _same(
                policy,
                problem,
                reference,
                scaled,
                f"multiplying outcomes by {factor:g}",
                "compare variances with trial.mean_variance, or implement rescaled()",
            )


def check_linear_map_invariance(policy: Policy) -> None:
    """x → Ax with Σ → AΣAᵀ gives the same allocation.

    For policies that choose features, or read columns as categories, A is diagonal: other maps would mix
    features. Where categories are cut follows the map, see :meth:`Policy.recut`.
    """
    diagonal = type(policy).staged or type(policy).categorises
    mixing = _SCALING if diagonal else _MIXING
    for problem in _problems():
        moment = None if problem.moment is None else mixing @ problem.moment @ mixing.T
        mapped = _restated(problem, problem.arms, moment)
        _same(
            policy,
            problem,
            _Trial(policy, problem).finish(),
            _Trial(policy.recut(np.diag(mixing).tolist()), mapped, mixing=mixing).finish(),
            "a linear map of the contexts",
        )


def check_signal_invariance(policy: Policy) -> None:
    """Adding a linear signal to the outcomes changes nothing: only residuals may be looked at.

    Policies that choose features do so by the signal, and are not asked.
    """
    if type(policy).staged:
        return
    for problem in _problems():
        _same(
            policy,
            problem,
            _Trial(policy, problem).finish(),
            _Trial(policy, problem, signal=True).finish(),
            "adding a linear function of the context to the outcomes",
        )


def check_interval_correction(policy: Policy) -> None:
    """How the score reacts to σ̂² can be read off it, which is what intervals are corrected by.

    It is positive, rises with ``noise_variance``, and falls as the arm gets units; or it ignores the noise.
    """
    if type(policy).staged or type(policy).weighs:
        return
    for problem in _problems():
        trial = _Trial(policy, problem)
        for _ in range(2 * _BUDGET // 3):
            trial.step()
        stage = trial.experiment._stage
        state = copied(stage.state, len(stage.state.rows))
        if not is_settled(state):
            settle(state)
        if unreadable_arms(state, stage.score, stage.settings):
            raise _failed(
                policy,
                f"its score is not positive, rising with the noise and falling with units on {problem!r}",
                "intervals are then corrected as if units went in proportion to σ̂²; return exp of the score, "
                "or measure the coverage",
            )


def check_picklable(policy: Policy) -> None:
    """The policy survives pickling, its text form, and being pickled inside an experiment."""
    if pickle.loads(pickle.dumps(policy)) != policy:
        raise _failed(policy, "unpickling gave another policy")
    try:
        spec = policy.spec
    except InvalidPolicy as error:
        raise _failed(policy, f"it has no text form: {error.message}", error.hint) from None
    if parse_policy(spec) != policy:
        raise _failed(
            policy, f"the text form {spec!r} gives another policy", "call super().__post_init__() first"
        )
    problem = next(_problems())
    first, second = _Trial(policy, problem), _Trial(policy, problem)
    for _ in range(_BUDGET // 3):
        first.step()
        second.step()
    second.experiment = pickle.loads(pickle.dumps(second.experiment))
    _same(policy, problem, first.finish(), second.finish(), "pickling the experiment half way")


def check_arguments_matter(policy: Policy) -> None:
    """Every constructor argument changes an allocation or an estimate somewhere, as ``contrasts`` shows."""
    kind = type(policy)
    names = [field.name for field in policy_fields(kind)]
    missing = [name for name in names if name not in kind.contrasts]
    if missing:
        raise _failed(
            policy,
            f"no contrast for argument {missing[0]!r}",
            f"add contrasts = {{{missing[0]!r}: (arguments, other arguments)}} to the class",
        )
    for name in names:
        left, right = (kind(**arguments) for arguments in kind.contrasts[name])
        changed = {field for field in names if getattr(left, field) != getattr(right, field)}
        if changed != {name}:
            raise _failed(policy, f"the contrast for {name!r} changes {sorted(changed)}")
        if all(_Trial(left, p).result() == _Trial(right, p).result() for p in _problems()):
            raise _failed(policy, f"argument {name!r} has no effect on any allocation or estimate")


def check_degenerate_contexts(policy: Policy) -> None:
    """Singular, constant, huge or tiny contexts and constant outcomes never stop a trial."""
    rng = np.random.default_rng(20)
    one_hot = np.eye(_DIM)[rng.integers(0, _DIM, _BUDGET)]
    streams = {
        "zero": np.zeros((_BUDGET, _DIM)),
        "constant": np.ones((_BUDGET, _DIM)),
        "duplicate columns": np.repeat(rng.normal(size=(_BUDGET, 1)), _DIM, axis=1),
        "one-hot": one_hot,
        "one-hot, a level that never comes": one_hot * np.array([1.0, 1.0, 0.0]),
        "huge": 1e100 * rng.normal(size=(_BUDGET, _DIM)),
        "tiny": 1e-100 * rng.normal(size=(_BUDGET, _DIM)),
    }
    for title, contexts in streams.items():
        for moment in (None, np.eye(_DIM)):
            for outcomes in (np.zeros(_BUDGET), rng.normal(size=_BUDGET)):
                experiment = Experiment(Problem(_ARMS, _DIM, budget=_BUDGET, moment=moment), policy, seed=3)
                for x, y in zip(contexts, outcomes, strict=True):
                    experiment.tell(experiment.ask(x).id, float(y))
                _estimate(experiment)
                if sum(experiment.counts.values()) != _BUDGET:
                    raise _failed(policy, f"units were lost on {title} contexts")


def check_late_outcomes(policy: Policy) -> None:
    """Outcomes may come late, in any order, or never."""
    for problem in _problems():
        rng = np.random.default_rng(21)
        experiment = Experiment(problem, policy, seed=3)
        waiting: list[int] = []
        while experiment.remaining:
            waiting.append(experiment.ask(rng.normal(size=_DIM)).id)
            while waiting and rng.random() < 0.45:
                unit = waiting.pop(int(rng.integers(len(waiting))))
                if rng.random() < 0.15:
                    experiment.lose(unit)
                else:
                    experiment.tell(unit, float(rng.normal()))
        if experiment.pending != sorted(waiting):
            raise _failed(policy, "pending units were mixed up")
        _estimate(experiment)


class _Trial:
    """One simulated trial; the r-th pull of an arm meets the same noise whoever pulls it when."""

    def __init__(
        self,
        policy: Policy,
        problem: Problem,
        *,
        unit: float = 1.0,
        mixing: Matrix | None = None,
        signal: bool = False,
    ) -> None:
        rng = np.random.default_rng(12)
        self.experiment = Experiment(problem, policy, seed=5)
        self.base = rng.normal(size=(problem.units, problem.dim))
        self.contexts = self.base if mixing is None else self.base @ mixing.T
        self.shocks = {arm: _DEVIATIONS[arm] * rng.normal(size=problem.units) for arm in _ARMS}
        self.slopes = {arm: rng.normal(size=problem.dim) for arm in _ARMS}
        self.unit, self.signal = unit, signal
        self.pulls = dict.fromkeys(_ARMS, 0)
        self.path: list[str] = []

    def step(self) -> None:
        t = len(self.path)
        assignment = self.experiment.ask(self.contexts[t])
        arm = assignment.arm
        outcome = self.shocks[arm][self.pulls[arm]]
        if self.signal:
            outcome += self.base[t] @ self.slopes[arm]
        self.pulls[arm] += 1
        self.path.append(arm)
        self.experiment.tell(assignment.id, self.unit * float(outcome))

    def finish(self) -> list[str]:
        while self.experiment.remaining:
            self.step()
        return self.path

    def result(self) -> tuple[list[str], list[list[float]]]:
        path = self.finish()
        return path, [arm.coef.tolist() for arm in _estimate(self.experiment)]


def _estimate(experiment: Experiment) -> Estimates:
    """Estimates, whatever they complain about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SupportWarning)
        return experiment.estimates(ridge=None)


def _problems() -> Iterator[Problem]:
    """Settings away from the defaults, too."""
    skewed = np.array([[1.0, 0.3, 0.0], [0.3, 2.0, -0.2], [0.0, -0.2, 0.5]])
    yield Problem(_ARMS, _DIM, budget=_BUDGET, moment=np.eye(_DIM))
    yield Problem(_ARMS, _DIM, budget=_BUDGET, moment=skewed, weights={"alpha": 4.0})
    yield Problem(_ARMS, _DIM, budget=_BUDGET, objective="mean")
    yield Problem(_ARMS, _DIM, budget=_BUDGET, moment=skewed, objective=3.0, weights={"gamma": 0.5})
    # Floor and cap lie where no policy would go by itself.
    limits: dict[str, Any] = {"costs": {"beta": 1.7}, "floors": {"alpha": 25}, "caps": {"gamma": 26}}
    yield Problem(_ARMS, _DIM, budget=_BUDGET, moment=skewed, objective="mean", **limits)


def _restated(problem: Problem, arms: Sequence[str], moment: Matrix | None) -> Problem:
    """The same problem with its arms listed, or its contexts measured, in another way."""
    weights, costs, floors, caps = (
        dict(zip(problem.arms, values.tolist(), strict=True))
        for values in (problem.weights, problem.costs, problem.floors, problem.caps)
    )
    return Problem(
        arms,
        problem.dim,
        budget=problem.budget,
        moment=moment,
        objective=problem.objective,
        weights=weights,
        costs=costs,
        floors={arm: int(floor) for arm, floor in floors.items()},
        caps={arm: int(cap) for arm, cap in caps.items() if cap < np.inf},
    )


def _same(
    policy: Policy, problem: Problem, left: list[str], right: list[str], what: str, hint: str | None = None
) -> None:
    for t, (one, other) in enumerate(zip(left, right, strict=True)):
        if one != other:
            raise _failed(
                policy, f"{what} changed unit {t + 1} from {one!r} to {other!r} on {problem!r}", hint
            )


def _failed(policy: Policy, message: str, hint: str | None = None) -> CheckFailed:
    return CheckFailed(f"{policy.label}: {message}", hint=hint)


_CHECKS: dict[str, Callable[[Policy], None]] = {
    "pure choice": check_pure_choice,
    "reproducible": check_reproducible,
    "relabelling": check_relabelling,
    "unit invariance": check_unit_invariance,
    "linear-map invariance": check_linear_map_invariance,
    "signal invariance": check_signal_invariance,
    "interval correction": check_interval_correction,
    "picklable": check_picklable,
    "arguments matter": check_arguments_matter,
    "degenerate contexts": check_degenerate_contexts,
    "late outcomes": check_late_outcomes,
}
