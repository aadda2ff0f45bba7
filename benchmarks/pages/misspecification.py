"""What intervals, effects and tests are worth when outcomes are not linear: coverage of the best linear fit.

python benchmarks/pages/misspecification.py --write docs/tables/misspecification.md

Every arm has the same curve in all features, so there is no effect of the arms to be found. Single worlds and
policies can be named: --worlds curved --policies trace-gain.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small

import numpy as np

import equipoise as eq
from scenarios import markdown, show

CURVE = 0.3
POLICIES = ["uniform", "trace-ucb", "trace-gain", "trace-gain:chance=0.1", "trace-gain:chance=0.3"]


@dataclass(frozen=True)
class World:
    """A truth that all arms share: the sum of the features, and of their squares."""

    words: str
    noise: tuple[float, ...]
    dim: int
    units: int
    draw: Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
    skewness: float = 0.0
    """E[x³] of a feature: what a square looks like to a line."""
    curve: float = CURVE

    def outcomes(self, contexts: np.ndarray) -> np.ndarray:
        """Expected outcomes; the curve has mean 0 and does not grow with the number of features."""
        squares = contexts[:, 1:] ** 2 - 1.0
        outcomes: np.ndarray = contexts.sum(axis=1) + self.curve * squares.sum(axis=1) / np.sqrt(self.dim - 1)
        return outcomes

    def best_fit(self) -> np.ndarray:
        """β* of every arm: 1, and what the squares add to the slopes."""
        fit = np.ones(self.dim)
        fit[1:] += self.curve * self.skewness / np.sqrt(self.dim - 1)
        return fit


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.normal(size=shape)


def _exponential(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.exponential(size=shape) - 1.0


TWO, FOUR = (0.1, 2.0), (0.01, 0.1, 1.0, 3.0)
WORLDS = {
    "linear": World("linear, normal contexts, two arms", TWO, 11, 1000, _normal, curve=0.0),
    "curved": World("curved, normal contexts, two arms", TWO, 11, 1000, _normal),
    "skewed": World("curved, exponential contexts, two arms", TWO, 11, 1000, _exponential, skewness=2.0),
    "four": World("curved, normal contexts, four arms", FOUR, 6, 2000, _normal),
}


def run(world: World, policy: str, trial: int) -> eq.Experiment:
    """One trial, told at once."""
    rng = np.random.default_rng([trial, world.dim, world.units])
    contexts = np.ones((world.units, world.dim))
    contexts[:, 1:] = world.draw(rng, (world.units, world.dim - 1))
    expected, shocks = world.outcomes(contexts), rng.normal(size=world.units)
    deviation = {str(i): variance**0.5 for i, variance in enumerate(world.noise)}
    problem = eq.Problem(list(deviation), world.dim, budget=world.units, moment=np.eye(world.dim))
    experiment = eq.Experiment(problem, policy, seed=trial)
    for context, mean, shock in zip(contexts, expected.tolist(), shocks.tolist(), strict=True):
        unit = experiment.ask(context)
        experiment.tell(unit.id, mean + deviation[unit.arm] * shock)
    return experiment


def covered(arms: eq.Estimates | eq.WeightedEstimates, truth: np.ndarray) -> np.ndarray:
    """[m, d] whether intervals cover."""
    return np.array([(arm.intervals[:, 0] <= truth) & (truth <= arm.intervals[:, 1]) for arm in arms])


def false_effects(estimates: eq.Estimates) -> float:
    """Share of pairs of arms whose intercepts differ at the 5 % level, by what their intervals rest on."""
    from scipy.stats import norm

    found = []
    for pair in combinations(estimates, 2):
        gap = variance = 0.0
        for arm, sign in zip(pair, (1.0, -1.0), strict=True):
            assert arm.least_squares is not None
            assert arm.inverse_root is not None
            gap += sign * arm.least_squares[0]
            variance += arm.noise_variance * arm.inflation * np.sum(arm.inverse_root[0] ** 2)
        found.append(abs(gap) > norm.ppf(0.975) * variance**0.5)
    return float(np.mean(found))


def measure(world: World, policy: str, trials: int, seed: int) -> list[str]:
    """Cells of one line of the table, in percent."""
    truth, usual, weighted, other = world.best_fit(), [], [], []
    for trial in range(seed * 1_000_000, seed * 1_000_000 + trials):
        experiment = run(world, policy, trial)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eq.errors.FitWarning)
            estimates = experiment.estimates()
        usual.append(covered(estimates, truth))
        fit = experiment.lack_of_fit()
        other.append([false_effects(estimates), fit.p_value < 0.05])
        if "chance" in policy:
            fits = experiment.weighted_estimates()
            pairs = combinations([arm.arm for arm in fits], 2)
            effects = np.mean([fits.difference(*pair).p_values[0] < 0.05 for pair in pairs])
            weighted.append((covered(fits, truth), effects))
    cells = [*_worst(np.array(usual)), *(f"{100 * share:.0f}" for share in np.mean(other, axis=0))]
    if not weighted:
        return [*cells, "–", "–", "–"]
    effects = np.mean([share for _, share in weighted])
    return [*cells, *_worst(np.array([inside for inside, _ in weighted])), f"{100 * effects:.0f}"]


def _worst(inside: np.ndarray) -> list[str]:
    """Coverage of the intercept and of the slopes, of the arm where it is lowest."""
    intercept, slopes = inside[:, :, 0].mean(axis=0), inside[:, :, 1:].mean(axis=(0, 2))
    return [f"{100 * intercept.min():.0f}", f"{100 * slopes.min():.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--policies", nargs="+", default=POLICIES)
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args()
    rows = []
    for name in options.worlds:
        for policy in options.policies:
            cells = measure(WORLDS[name], policy, options.trials, options.seed)
            rows.append([WORLDS[name].words, f"`{policy}`", *cells])
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    header = ["world", "policy", "intercept", "slopes", "false effects", "lack of fit"]
    header += ["weighted: intercept", "slopes", "false effects"]
    caption = (
        "Percent. Coverage of the best linear fit by 95 % intervals, of the arm where it is lowest; pairs of "
        "arms whose intercepts differ at the 5 % level, though no arm has an effect; trials in which lack of "
        "fit was found at the 5 % level. Two arms: noise 0.1 and 2, "
        "d = 11, n = 1,000; four arms: noise 0.01, 0.1, 1 and 3, d = 6, n = 2,000; curved: "
        f"0.3·Σ(xⱼ² − 1)/√(d − 1) added. {options.trials:,} trials: a share p has standard error "
        f"√(p(1 − p)/{options.trials:,}), "
        f"{100 * (0.05 * 0.95 / options.trials) ** 0.5:.1f} points at 5 and 95 %. Seed {options.seed}, "
        f"equipoise {eq.__version__}, NUMERICS {eq.NUMERICS}. "
        "Printed by `python benchmarks/pages/misspecification.py`."
    )
    show(markdown(header, rows, caption), options.write)


if __name__ == "__main__":
    main()
