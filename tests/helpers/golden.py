"""Decisions, scores, estimates and trials whose every bit is pinned by tests/golden/decisions.json.

``python tests/helpers/golden.py`` prints them, ``… --write`` writes the file; names pick some of them, and
the others stay as they are. The file changes only together with ``equipoise.NUMERICS``. Inputs come from
Python's own generator and plain products, so nothing but Equipoise decides what is printed.
"""

from __future__ import annotations

import json
import random
import sys
import warnings
from pathlib import Path

import numpy as np

import equipoise as eq
from equipoise.lab import pieces
from equipoise.lab.running.simulate import run_chunk

FILE = Path(__file__).parent.parent / "golden" / "decisions.json"

ARMS = ("a", "b", "c")
NOISE = {"a": 0.2, "b": 1.0, "c": 2.5, "d": 0.6}
SKEWED = [[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.5]]
TOLD = {"oracle": {"noise": (0.2, 1.0, 2.5)}, "static-lasso": {"noise": (0.2, 1.0, 2.5)}}
TOLD["best-allocation"] = TOLD["oracle"]
TOLD["sparse-oracle"] = {"noise": (0.2, 1.0, 2.5), "support": (0, 2)}
POLICIES = (
    *("b-as", "best-allocation", "ch-as", "gafs-max", "gfsp-max", "oracle", "sparse-oracle"),
    *("sparse-trace-ucb", "static-lasso"),
    *("trace-gain", "trace-ucb", "uniform", "uniform-lasso", "var-ucb"),
    *("balancing-walk", "complete", "da-optimal", "efron", "minimisation", "neyman-balanced"),
    *("permuted-blocks", "wei-urn"),
)
AR1 = pieces.GaussianContexts(covariance="ar1:0.6")


class World:
    """Contexts and outcomes that need no mathematical library."""

    def __init__(self, seed: int, dim: int) -> None:
        self._draw = random.Random(seed)
        self.truth = {arm: [self._bell() for _ in range(dim)] for arm in NOISE}

    def _bell(self) -> float:
        # Not by sum(), which adds otherwise since Python 3.12.
        total = 0.0
        for _ in range(12):
            total += self._draw.random()
        return total - 6.0

    def context(self, dim: int) -> list[float]:
        return [1.0, *(self._bell() for _ in range(dim - 1))]

    def outcome(self, x: list[float], arm: str) -> float:
        total = NOISE[arm] * self._bell()
        for value, coef in zip(x, self.truth[arm], strict=True):
            total += value * coef
        return total

    def chance(self) -> float:
        return self._draw.random()


def hexed(values):
    return [float(value).hex() for value in np.ravel(values)]


class Run:
    """An experiment with what it decided."""

    def __init__(self, policy, *, dim=3, budget=60, seed=11, **problem):
        self.dim, self.world = dim, World(seed, dim)
        problem = {"arms": ARMS, "dim": dim, "budget": budget, "moment": np.eye(dim), **problem}
        self.experiment = eq.Experiment(eq.Problem(**problem), policy, seed=seed)
        self.units, self.contexts, self.scores = [], {}, []

    def ask(self):
        return self.take(self.experiment.ask(self.new_context()))

    def new_context(self):
        x = self.world.context(self.dim)
        self.contexts[len(self.contexts) + 1] = x
        return x

    def take(self, unit):
        self.units.append(unit)
        if len(self.units) % 8 == 0:
            self.scores.append(hexed(list(unit.scores.values())))
        return unit

    def tell(self, unit):
        self.experiment.tell(unit.id, self.world.outcome(self.contexts[unit.id], unit.arm))

    def found(self, methods=("pooled",)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eq.errors.SupportWarning)
            estimates = {
                str(method): [
                    [
                        *hexed(arm.coef),
                        *hexed([arm.noise_variance, arm.least_squares_error, arm.expected_error]),
                    ]
                    for arm in self.experiment.estimates(**_estimator(method))
                ]
                for method in methods
            }
        return {
            "arms": "".join(unit.arm for unit in self.units),
            "scores": self.scores,
            "estimates": estimates,
        }


def _estimator(method):
    """What a word of the file stands for: an estimator, or the λ of a ridge."""
    return {"estimator": method} if isinstance(method, str) else {"estimator": "ridge", "ridge": method}


def prompt(policy, methods=("pooled",), **options):
    """Every outcome at once."""
    run = Run(policy, **options)
    while run.experiment.remaining:
        run.tell(run.ask())
    return run.found(methods)


def late(policy, **options):
    """Outcomes late, lost, corrected and withdrawn, with looks in between."""
    run = Run(policy, **options)
    waiting = []
    while run.experiment.remaining:
        waiting.append(run.ask())
        while len(waiting) > 6:
            unit = waiting.pop(int(run.world.chance() * len(waiting)))
            fate = run.world.chance()
            if fate < 0.1:
                run.experiment.lose(unit.id)
                continue
            run.tell(unit)
            if fate > 0.92:
                run.experiment.correct(unit.id, 0.5)
            elif fate > 0.86:
                run.experiment.withdraw(unit.id)
    return run.found()


def batches(policy, **options):
    """Ten units at a time."""
    run = Run(policy, **options)
    while run.experiment.remaining:
        many = [run.new_context() for _ in range(min(10, run.experiment.remaining))]
        units = run.experiment.ask_many(many)
        run.contexts.update((unit.id, x) for x, unit in zip(many, units, strict=True))
        for unit in sorted(units, key=lambda unit: unit.id):
            run.tell(run.take(unit))
    return run.found()


def limits(policy):
    """Costs, floors and caps; arms that close, reopen and join."""
    run = Run(
        policy,
        budget=120.0,
        costs={"b": 2.0},
        floors={"a": 9},
        caps={"c": 25},
        weights={"a": 2.0},
        objective="mean",
    )
    while run.experiment.remaining:
        asked = len(run.units)
        if asked == 20:
            run.experiment.close_arm("b")
        elif asked == 30:
            run.experiment.reopen_arm("b")
            run.experiment.add_arm("d", cost=0.5, floor=5)
        run.tell(run.ask())
    return run.found()


def trials(scenario, policies, count=2):
    """What simulated trials end with."""
    found = {}
    for policy in policies:
        [(ledger, _)] = run_chunk(scenario, [eq.parse_policy(policy)], 5, 0, count)
        found[policy] = {
            "errors": hexed(ledger.errors),
            "counts": ledger.counts.ravel().tolist(),
            "coverage": hexed(ledger.coverage),
        }
    return found


def scenario(**changes):
    return eq.Scenario(**{"noise": [0.2, 1.0, 2.5], "dim": 3, "budget": 60, "estimator": "ridge", **changes})


def replayed():
    world = World(3, 4)
    rows = []
    for _ in range(150):
        x = world.context(4)
        rows.append([*x[1:], *(world.outcome(x, arm) for arm in ARMS)])
    policies = ["uniform", "oracle", "trace-gain"]
    found = eq.replay(
        np.array(rows),
        policies,
        targets=[3, 4, 5],
        scale="none",
        budget=40,
        trials=3,
        seed=2,
        estimator="ridge",
    )
    return {
        name: {"errors": hexed(policy.ledger.errors), "counts": policy.ledger.counts.ravel().tolist()}
        for name, policy in found.policies.items()
    }


METHODS = ("pooled", "empirical-bayes", "leave-one-out", None, 0.0)
SPARSE = {"dim": 12, "budget": 90, "allow_small_budget": True}

ENTRIES = {
    **{
        f"prompt {name}": lambda name=name: prompt(
            _told(name), **({"dim": 3} if name != "uniform-lasso" else SPARSE)
        )
        for name in POLICIES
        if name not in ("sparse-trace-ucb", "static-lasso", "sparse-oracle")
    },
    **{
        f"sparse {name}": lambda name=name: prompt(_told(name), **SPARSE)
        for name in ("sparse-oracle", "static-lasso")
    },
    **{
        # Written when all arms shared their features.
        f"sparse {spec}": lambda spec=spec: prompt(f"{spec}:shared=true", **SPARSE)
        for spec in (
            "sparse-trace-ucb:screen=12",
            "sparse-trace-ucb:screen=10:sparsity=2:reuse=true:look=true",
            "sparse-trace-ucb:screen=10:criterion=ebic:reuse=true:refresh=2",
            "sparse-trace-ucb:screen=14:criterion=cross-validation",
            "sparse-trace-ucb:screen=14:criterion=stability",
        )
    },
    **{
        f"width {width}": lambda width=width: prompt(f"trace-ucb:width={width}")
        for width in ("0", "theory:bound=3", "chi-square:delta=0.1")
    },
    "estimators": lambda: prompt("trace-ucb", METHODS, moment=SKEWED),
    "estimators, learned": lambda: prompt("trace-gain", METHODS, moment=None),
    "objective 3": lambda: prompt("trace-gain", objective=3.0, weights={"b": 1.7}),
    "objective mean": lambda: prompt("var-ucb", objective="mean"),
    **{
        f"late {policy}{', learned' if moment is None else ''}": lambda policy=policy, moment=moment: late(
            policy, moment=moment
        )
        for policy in ("trace-ucb", "trace-gain", "uniform")
        for moment in (SKEWED, None)
    },
    "late sparse": lambda: late("sparse-trace-ucb:screen=12:shared=true", **SPARSE),
    "batches trace-gain": lambda: batches("trace-gain"),
    "batches trace-gain, learned": lambda: batches("trace-gain", moment=None),
    "batches trace-ucb": lambda: batches("trace-ucb"),
    "lots": lambda: prompt("trace-gain:chance=0.3", moment=SKEWED),
    "limits trace-ucb": lambda: limits("trace-ucb"),
    "limits trace-gain": lambda: limits("trace-gain"),
    "limits permuted-blocks:per_arm=1,2:columns=1,2": lambda: limits(
        "permuted-blocks:per_arm=1,2:columns=1,2"
    ),
    "limits da-optimal": lambda: limits("da-optimal"),
    "late neyman-balanced, learned": lambda: late("neyman-balanced:gamma=3", moment=None),
    "batches balancing-walk": lambda: batches("balancing-walk"),
    "trials": lambda: trials(scenario(), ["uniform", "oracle", "trace-ucb", "trace-gain"]),
    "trials, designs": lambda: trials(
        scenario(intercept=True),
        ["minimisation:measure=range", "neyman-balanced", "permuted-blocks:columns=1"],
    ),
    "trials, ten features": lambda: trials(
        scenario(noise=[0.01, 0.02, 0.75, 1, 2, 2, 3], dim=10, budget=150), ["trace-ucb", "trace-gain"]
    ),
    "trials, unusual": lambda: trials(
        scenario(
            contexts=pieces.StudentContexts(dof=5, covariance="ar1:0.6"),
            noise_shape=pieces.SkewedNoise(shape=0.7),
            intercept=True,
            heteroscedasticity=0.5,
            curvature=0.3,
            coef_drift=0.4,
            noise_drift=0.5,
        ),
        ["trace-gain"],
    ),
    "trials, discrete": lambda: trials(
        scenario(contexts=pieces.DiscreteContexts(levels=4), noise_shape=pieces.StudentNoise(dof=4)),
        ["trace-ucb"],
    ),
    "trials, one-hot": lambda: trials(
        scenario(contexts=pieces.OneHotContexts(probabilities=(0.5, 0.3, 0.2))), ["trace-ucb"]
    ),
    "trials, curved": lambda: trials(
        scenario(
            contexts=pieces.SkewedContexts(covariance="ar1:0.6"), intercept=True, curvature=0.3, curved="all"
        ),
        ["trace-ucb"],
    ),
    "trials, answers": lambda: trials(
        scenario(
            noise=[0.05, 0.1, 0.2], intercept=True, contexts=AR1, outcomes=pieces.YesNoOutcomes(effect=0.8)
        ),
        ["trace-ucb"],
    ),
    "trials, late": lambda: trials(
        scenario(delay=pieces.Delay(mean=4.0), lost=0.1, moment="learned"), ["trace-ucb", "trace-gain"]
    ),
    "trials, limits": lambda: trials(
        scenario(
            budget=90.0, costs=[1.0, 2.0, 0.5], floors=[5, 5, 5], caps=[40, None, None], estimator="pooled"
        ),
        ["trace-ucb"],
    ),
    "trials, sparse": lambda: trials(
        scenario(dim=12, budget=100, truth=pieces.SparseTruth(features=2)),
        ["sparse-trace-ucb:screen=12:shared=true"],
    ),
    "replay": replayed,
}


def _told(name):
    return eq.registered_policies()[name](**TOLD.get(name, {}))


def golden(names):
    """The entries of those names, or all."""
    return {name: ENTRIES[name]() for name in names or ENTRIES}


def main(arguments):
    names = [name for name in arguments if name != "--write"]
    entries = golden(names)
    if "--write" in arguments:
        pinned = json.loads(FILE.read_text(encoding="utf-8"))["entries"] if names else {}
        entries = {name: entries.get(name, pinned.get(name)) for name in ENTRIES}
        FILE.write_text(_text(entries) + "\n", encoding="utf-8")
    else:
        print(_text(entries))


def _text(entries):
    return json.dumps({"numerics": eq.NUMERICS, "entries": entries}, indent=0, ensure_ascii=True)


if __name__ == "__main__":
    main(sys.argv[1:])
