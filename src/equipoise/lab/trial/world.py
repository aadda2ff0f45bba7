"""The world of a scenario in compiled form: what is drawn for a block of trials, and outcomes from it.

Policies are compared on common random numbers, so a block is drawn once for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.exponential import exp
from equipoise.core.arithmetic.linear import root_of, solve_upper
from equipoise.core.arithmetic.products import inner
from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Counts, Matrix, Vector
from equipoise.core.draws.streams import (
    BLOCK,
    NOISE,
    TRUTH,
    Address,
    Stream,
    fill_normals,
    new_stream,
)
from equipoise.core.jit.decorators import compiled, inlined, only_where
from equipoise.core.jit.handles import Handle, handled
from equipoise.lab.pieces.outcomes.links import outcome_of, rate_of
from equipoise.lab.pieces.piece import Block
from equipoise.lab.trial.calendar.course import Course, depends_on_arm, is_late

if TYPE_CHECKING:
    from equipoise.lab.scenario import Scenario

# Contexts of this many bytes stay near the processor while all policies run on them.
_BLOCK_BYTES = 2**20
_NEVER = 2**62

SETTING = np.dtype(
    [
        ("seed", "i8"),
        ("units", "i8"),
        ("intercept", "i8"),
        ("late", "i8"),  # whether outcomes may come late or never
        ("link", "i8"),  # of outcomes that are no real numbers
        ("heteroscedasticity", "f8"),
        ("curvature", "f8"),
        ("coef_drift", "f8"),
        ("noise_drift", "f8"),
        ("feature_variance", "f8"),  # of the first varying feature
    ],
    align=True,
)

# Where a trial stands. All of it is kept when a stage ends, for the next one to go on from.
CLOCK = np.dtype(
    [
        ("place", "i8"),  # of the trial in the block
        ("number", "i8"),  # of the trial
        ("unit", "i8"),  # the next one
        ("units", "i8"),  # that will be asked for
        ("end", "i8"),  # time at which nothing is left to wait for
        ("pause", "i8"),  # time at which somebody wants to look
        ("last", "i8"),  # the sooner of the two
        ("oldest", "i8"),  # every unit before it is closed
    ],
    align=True,
)


@handled
class World(NamedTuple):
    """A block of trials as drawn, and the trial at hand."""

    setting: npt.NDArray[Any]  # SETTING[1]
    deviations: Vector  # [m] √σ²
    contexts: Block  # [block, n, d]
    coefs: Block  # [block, m, d] the truth
    drifts: Block  # [block, m, d] how far it moves during the trial; empty without drift
    squares: Matrix  # [3, d] weights and means of features' squares, slopes of the best linear fit to them
    curves: Matrix  # [m, 4] of outcomes that are no real numbers, see links.py; [0] of others
    outcome: Vector  # [2] what is predicted for the unit at hand, and its noise
    shocks: Block  # [block, m, n] noise of unit variance; empty where it is normal, and drawn when needed
    normals: Matrix  # [m, at once] some of each arm's normal noise
    at_hand: Counts  # [m, 2] of which trial that is, and from which pull on
    delays: Counts  # [block, n] units until an outcome arrives, −1 − delay: never; [0] if all arrive at once
    fates: Counts  # [block, n, m] the same for every arm that a unit may get; [0] if arms make no difference
    closures: Counts  # [block, closures, 3] arm, first unit that finds it closed, first that does not; [0]
    clock: npt.NDArray[Any]  # CLOCK[1]
    pulls: Counts  # [m] noise values used up
    stream: Stream


class Draws:
    """Draws blocks of trials of a scenario."""

    def __init__(
        self, scenario: Scenario, seed: int, block: int | None = None, noise_at_once: int = BLOCK
    ) -> None:
        self.scenario, self.seed = scenario, seed
        varying = scenario.dim - scenario.intercept
        covariance = scenario.contexts.covariance_matrix(varying)
        mixes = scenario.contexts.mixes and not np.array_equal(covariance, np.eye(varying))
        self._root = root_of(covariance) if mixes else None
        self.world = _new_world(scenario, seed, covariance, self._root, block, noise_at_once)
        self.course = Course(scenario, seed, self.world)
        self._slopes = self.world.squares[2] if np.any(self.world.squares[2]) else None

    @property
    def block(self) -> int:
        """How many trials are drawn at once, at most."""
        return len(self.world.contexts)

    def draw(self, first: int, count: int) -> None:
        """Draw trials ``first``, …."""
        scenario, seed, world = self.scenario, self.seed, self.world
        contexts, coefs = world.contexts[:count], world.coefs[:count]
        scenario.contexts.fill(contexts, int(scenario.intercept), seed, first)
        if self._root is not None:
            _mix(contexts, self._root)
        if scenario.truth is not None:
            scenario.truth.fill(coefs, seed, first)
        elif scenario.coef is None:
            draw_normal_truth(coefs, seed, first)
        else:
            coefs[:] = scenario.coef
        if self._slopes is not None:
            coefs += self._slopes
        if scenario.coef_drift > 0.0:
            _draw_drifts(world.drifts[:count], seed, first, scenario.coef_drift)
        if scenario.outcomes is not None:
            _fit_truth(coefs, self._root if self._root is not None else np.zeros((0, 0)), world.curves)
            scenario.outcomes.fill(world.shocks[:count], seed, first)
        elif scenario.noise_shape.at_hand:
            scenario.noise_shape.fill(world.shocks[:count], seed, first)
        self.course.draw(first, count)


def _new_world(
    scenario: Scenario,
    seed: int,
    covariance: Matrix,
    root: Matrix | None,
    block: int | None,
    noise_at_once: int,
) -> World:
    m, units, dim = len(scenario.noise), scenario.units, scenario.dim
    block = block or max(1, min(64, _BLOCK_BYTES // (8 * units * dim)))
    late, closures = is_late(scenario), len(scenario.closures)
    linked = scenario.outcomes
    setting = np.zeros(1, SETTING)
    setting["seed"], setting["units"], setting["late"] = seed, units, late
    setting["link"] = 0 if linked is None else linked.code
    setting["feature_variance"] = covariance[0, 0] if len(covariance) else 1.0
    for name in ("intercept", "heteroscedasticity", "curvature", "coef_drift", "noise_drift"):
        setting[name] = getattr(scenario, name)
    at_hand = linked is not None or scenario.noise_shape.at_hand
    return World(
        setting=setting,
        deviations=np.sqrt(scenario.noise) if linked is None else np.ones(m),
        contexts=np.ones((block, units, dim)),  # the intercept stays
        coefs=np.zeros((block, m, dim)),
        drifts=np.zeros((block, m, dim) if scenario.coef_drift > 0.0 else (0, 0, 0)),
        squares=_squares(scenario, covariance, root),
        curves=np.zeros(0) if linked is None else linked.curves(scenario.noise),
        outcome=np.zeros(2),
        shocks=np.zeros((block, m, units) if at_hand else (0, 0, 0)),
        normals=np.zeros((m, noise_at_once)),
        at_hand=np.full((m, 2), -1),
        delays=np.zeros((block, units) if late else 0, np.int64),
        fates=np.zeros((block, units, m) if depends_on_arm(scenario) else 0, np.int64),
        closures=np.zeros((block, closures, 3) if closures else 0, np.int64),
        clock=np.zeros(1, CLOCK),
        pulls=np.zeros(m, np.int64),
        stream=new_stream(),
    )


def _squares(scenario: Scenario, covariance: Matrix, root: Matrix | None) -> Matrix:
    """Weights and means of the squares in a quadratic truth, and the slopes of the best linear fit to it.

    With x = Lz and independent z of skewness s, E[x·q] = L·h for q = c·Σⱼ wⱼ(xⱼ²/vⱼ − 1) and
    hₖ = c·s·Σⱼ (wⱼ/vⱼ)·Lⱼₖ². Its slopes Σ⁻¹Lh solve Lᵀδ = h.
    """
    first, varying = int(scenario.intercept), len(covariance)
    squares = np.zeros((3, scenario.dim))
    squares[1] = 1.0
    if scenario.curvature == 0.0:
        return squares
    squares[1, first:] = np.diag(covariance)
    if scenario.curved == "all":
        squares[0, first:] = 1.0 / np.sqrt(varying)
    else:
        squares[0, first] = 1.0
    size = scenario.curvature * scenario.contexts.skewness
    if size != 0.0:
        lower = np.eye(varying) if root is None else root
        shares = squares[0, first:] / squares[1, first:]
        along = np.array([exact_sum(shares * lower[:, k] * lower[:, k]) for k in range(varying)])
        squares[2, first:] = solve_upper(np.ascontiguousarray(lower.T), size * along)
    return squares


@inlined
def start_clock(world: World, place: int, number: int) -> None:
    """Begin the trial at some place of the block."""
    clock, units = world.clock[0], world.setting[0].units
    clock.place, clock.number = place, number
    clock.unit = clock.oldest = 0
    clock.units = clock.end = clock.last = units
    clock.pause = _NEVER
    for i in range(world.pulls.shape[0]):
        world.pulls[i] = 0


def hold_clock(world: World, time: int) -> None:
    """Let the trial at hand run until so many units have been asked for."""
    world.clock["pause"] = time
    world.clock["last"] = np.minimum(world.clock["end"], time)


def release_clock(world: World) -> None:
    """Let it run to its end."""
    hold_clock(world, _NEVER)


@inlined
def draw_outcome(world: World, context: Vector, coef: Vector, t: int, i: int) -> float:
    """The outcome of unit t, with its context, at arm i, with its truth; uses up one of its noise values."""
    setting, clock = world.setting[0], world.clock[0]
    pull = world.pulls[i]
    world.pulls[i] += 1
    if world.shocks.shape[0] == 0:
        _keep_at_hand(world, i, pull)
        shock = world.normals[i, pull - world.at_hand[i, 1]]
    else:
        shock = world.shocks[clock.place, i, pull]
    y = inner(context, coef)
    if setting.heteroscedasticity > 0.0 or setting.curvature != 0.0:
        feature = context[setting.intercept]
        square = feature * feature / setting.feature_variance
        strength = setting.heteroscedasticity
        shock *= np.sqrt((1.0 + strength * square) / (1.0 + strength))
        if setting.curvature != 0.0:
            y += _bend(world, context)
    if setting.coef_drift > 0.0 or setting.noise_drift != 0.0:
        # The truth at the end of the trial is the one that counts.
        age = (t + 1.0) / setting.units
        shock *= exp(0.5 * setting.noise_drift * (age - 0.5))
        if setting.coef_drift > 0.0:
            for c in range(context.shape[0]):
                y += (age - 1.0) * world.drifts[clock.place, i, c] * context[c]
    world.outcome[0], world.outcome[1] = y, world.deviations[i] * shock
    _answer(world, i)
    return world.outcome[0] + world.outcome[1]


@compiled
def _bend(world: World, context: Vector) -> float:
    """The quadratic term, less the best linear fit to it, which the coefficients have."""
    squares, bend, fit = world.squares, 0.0, 0.0
    for c in range(context.shape[0]):
        bend += squares[0, c] * (context[c] * context[c] / squares[1, c] - 1.0)
        fit += squares[2, c] * context[c]
    return world.setting[0].curvature * bend - fit


def _is_linked(world: Handle) -> bool:
    """Whether worlds of this type have outcomes that are no real numbers."""
    return bool(world.field("curves").ndim == 2)


@only_where(_is_linked)
@compiled
def _answer(world: World, i: int) -> None:
    """Make an answer or a count of arm i's best linear fit and of noise that is uniform on (0, 1)."""
    link, curve = world.setting[0].link, world.curves[i]
    level, effect, mean, slope = curve[0], curve[1], curve[2], curve[3]
    predictor = level
    if slope > 0.0:
        predictor += effect * (world.outcome[0] - mean) / slope
    world.outcome[0] = outcome_of(link, rate_of(link, predictor), world.outcome[1])
    world.outcome[1] = 0.0


@inlined
def _keep_at_hand(world: World, i: int, pull: int) -> None:
    """Draw the normal noise of some pulls of arm i from this one on, unless it stands there already."""
    number, ahead = world.clock[0].number, pull - world.at_hand[i, 1]
    if world.at_hand[i, 0] != number or ahead < 0 or ahead >= world.normals.shape[1]:
        block = pull // BLOCK
        world.at_hand[i, 0], world.at_hand[i, 1] = number, block * BLOCK
        fill_normals((world.setting[0].seed, number, NOISE, i, 0), block, world.normals, i, 0)


@compiled
def _mix(contexts: Block, root: Matrix) -> None:
    """Features with covariance LLᵀ of uncorrelated ones, from the last to the first, in place."""
    varying = root.shape[0]
    first = contexts.shape[2] - varying
    for b in range(contexts.shape[0]):
        for t in range(contexts.shape[1]):
            for r in range(varying - 1, -1, -1):
                entry = 0.0
                for c in range(r + 1):
                    entry += root[r, c] * contexts[b, t, first + c]
                contexts[b, t, first + r] = entry


@compiled
def draw_normal_truth(coefs: Block, seed: int, trial: int) -> None:
    """Coefficients that are independent standard normals."""
    for b in range(coefs.shape[0]):
        for i in range(coefs.shape[1]):
            fill_normals(truth_address(seed, trial + b, i), 0, coefs[b], i, 0)


@inlined
def truth_address(seed: int, trial: int, i: int) -> Address:
    """Where the coefficients of arm i are drawn from."""
    return seed, trial, TRUTH, i, 0


@compiled
def _fit_truth(coefs: Block, root: Matrix, curves: Matrix) -> None:
    """Best linear fits of rates whose predictors have the coefficients' directions; Σ = LLᵀ, empty for I."""
    varying = coefs.shape[2] - 1
    for b in range(coefs.shape[0]):
        for i in range(coefs.shape[1]):
            length = 0.0
            for c in range(varying):
                along = coefs[b, i, 1 + c]
                if root.shape[0] != 0:
                    along = 0.0
                    for r in range(c, varying):
                        along += root[r, c] * coefs[b, i, 1 + r]
                length += along * along
            coefs[b, i, 0] = curves[i, 2]
            for c in range(varying):
                coefs[b, i, 1 + c] *= curves[i, 3] / np.sqrt(length)


@compiled
def _draw_drifts(drifts: Block, seed: int, trial: int, size: float) -> None:
    """Directions of that length."""
    for b in range(drifts.shape[0]):
        for i in range(drifts.shape[1]):
            fill_normals((seed, trial + b, TRUTH, i, 1), 0, drifts[b], i, 0)
            length = 0.0
            for c in range(drifts.shape[2]):
                length += drifts[b, i, c] * drifts[b, i, c]
            for c in range(drifts.shape[2]):
                drifts[b, i, c] *= size / np.sqrt(length)
