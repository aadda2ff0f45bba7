"""Where everything lives: the arrays that one trial reads and writes.

A policy sees two records, ``arm`` and ``trial``. Neither holds a coefficient, so no policy can let
the estimates steer the allocation, which is what keeps intervals honest.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.lanes import aligned_zeros, padded
from equipoise.core.arrays import Matrix, Vector
from equipoise.core.draws.streams import STREAM_WORDS
from equipoise.core.jit.handles import handled
from equipoise.core.problem.costs import NO_CAP

# One record per arm. "Design" means every context assigned to the arm, outcomes pending included;
# "data" means the rows whose outcome is known. What every choice reads of every arm comes first.
ARM = np.dtype(
    [
        ("dof", "i8"),  # degrees of freedom of noise_variance, k − d; 0 while unknown
        ("noise_variance", "f8"),  # σ̂² = RSS/dof; the arms' mean while dof is 0
        ("inverse_root_dof", "f8"),  # 1/√dof, 1 while dof is 0
        ("trace", "f8"),  # Tr(Σ S⁻¹) of the design
        ("leverage", "f8"),  # xᵀS⁻¹x of the context at hand and the design; kept if the policy looks
        ("spread", "f8"),  # what noise that depends on x does to the error; 1 unless the policy asks for it
        ("weight", "f8"),  # w of the objective, over c^(1/p) where arms have costs, see objective.py
        ("design_ready", "i8"),  # S of the design is invertible
        ("count", "i8"),  # k: units assigned and neither lost nor set aside
        ("order", "i8"),  # place of the arm when everything else ties
        ("position", "i8"),  # place of the arm in the problem
        ("observed", "i8"),  # of these, outcomes known
        ("pending", "i8"),  # of these, outcomes awaited
        ("assigned", "i8"),  # units ever assigned, lost and withdrawn ones included
        ("set_aside", "i8"),  # units whose outcome has chosen features and serves no estimate, see stages/
        ("design_tried", "i8"),  # count when inverting it was last tried, −1: never
        ("data_ready", "i8"),  # S of the data is invertible
        ("rss", "f8"),  # residual sum of squares of the data
        ("buffer", "i8"),  # which of the arm's two factors belongs to the data
        ("last_row", "i8"),  # newest row of the arm, −1: none
        ("gain_row", "i8"),  # the row whose gain is cached, −1: none
        ("gain_scale", "f8"),  # h of the cached gain
        ("trace_sum", "f8"),  # Tr(M S⁻¹) before division by the contexts seen
        ("trace_checked", "f8"),  # trace_sum when it was last computed from the factor
        ("trace_age", "i8"),  # rank-one updates of trace_sum since then
        ("provisional", "i8"),  # the design's factor stands for S + prior, see provisional.py
        ("provisional_sum", "f8"),  # trace_sum of that
        ("log_variance", "f8"),  # log σ̂² without its bias; kept if the policy pools
        ("log_spread", "f8"),  # variance of log_variance
        ("log_weight", "f8"),  # 1/(1 + log_spread): what it counts for in the pool
        ("cost", "f8"),  # c: what a unit takes from the budget
        ("floor", "i8"),  # count that the arm must reach
        ("cap", "i8"),  # assigned that it must not pass
        ("open", "i8"),  # whether it takes further units
        ("eligible", "i8"),  # whether it may get the unit at hand; read where arms are limited
    ],
    align=True,
)

TRIAL = np.dtype(
    [
        ("arms", "i8"),  # m
        ("dim", "i8"),  # d
        ("budget", "i8"),  # n: the most units that the money buys
        ("money", "f8"),  # the budget in the unit of the costs
        ("limited", "i8"),  # whether costs, floors, caps or closed arms matter, see choice/eligible.py
        ("step", "i8"),  # units assigned so far, lost ones included
        ("mean_variance", "f8"),  # mean of the arms' σ̂²; 1 while nothing is known
        ("exponent", "f8"),  # p/(p+1) of the objective, 1 for "max"
        ("forced_start", "i8"),  # whether arms without an invertible S go first
        ("learns_moment", "i8"),  # whether Σ is learned from the contexts
        ("seen", "i8"),  # contexts that entered the learned Σ
        ("looks", "i8"),  # whether the policy reads leverage
        ("pools", "i8"),  # whether the policy reads the two below
        ("pooled_dof", "f8"),  # how much one arm's σ² tells of another's, in degrees of freedom
        ("pooled_variance", "f8"),  # centre of the arms' σ²
        ("seed", "i8"),  # of the experiment; draws are addressed by it
        ("number", "i8"),  # of the trial in the lab, 0 in an experiment
        ("chance", "f8"),  # share of units whose arm is drawn by lot
        ("top", "i8"),  # the arm with the highest score
        ("chosen", "i8"),  # the same, unless another one was drawn by lot
        ("propensity", "f8"),  # probability with which it was chosen, known before the draw
        ("likeliest", "f8"),  # the highest probability of any arm
        ("possible", "i8"),  # arms with a probability above 0
        ("moment_ready", "i8"),  # the learned Σ is invertible; kept if the policy looks
    ],
    align=True,
)

# One record per unit: what is kept besides its context and its outcome.
ROW = np.dtype(
    [
        ("arm", "i8"),
        ("status", "i8"),
        ("previous", "i8"),  # row of the arm's unit before, −1: none
        ("propensity", "f8"),  # probability with which it got its arm; not a number if a person gave it
        ("likeliest", "f8"),  # highest probability that any arm had of getting it
        ("possible", "i8"),  # arms that might have got it
        ("closed_at", "i8"),  # units assigned when an experiment got its outcome or gave it up; 0: not yet
        ("lot", "i8"),  # what addresses its draws where it has a key, see choice/lots.py; 0: its place
        ("top", "i4"),  # the arm that had the highest score; kept by experiments
        ("meant", "i4"),  # the arm it was assigned to, whichever it received; kept by experiments
    ],
    align=True,
)

# What redacted units have left: a record of all of them, then one an arm. Their factors are in the state.
BASELINE = np.dtype(
    [
        ("count", "i8"),  # of an arm: outcomes that it keeps; of all: contexts that count in a learned Σ
        ("rss", "f8"),  # residual sum of squares of these outcomes alone
        ("mean", "f8"),  # their mean
        ("squares", "f8"),  # their squares around it
    ],
    align=True,
)

PENDING, TOLD, LOST, WITHDRAWN, SET_ASIDE, REDACTED = range(6)
KNOWN = (TOLD, SET_ASIDE)  # rows whose outcome is there
GONE = (WITHDRAWN, REDACTED)  # rows whose context is not, or no longer counts
NO_ARM_YET = -1
"""Arm of a row that was redacted, while a log is folded that has yet to say it."""


@handled
class State(NamedTuple):
    """All arrays of one trial; compiled functions take it whole."""

    arms: npt.NDArray[Any]  # ARM[m]
    trial: npt.NDArray[Any]  # TRIAL[1]
    factors: npt.NDArray[np.float64]  # [m, 2, d, padded d], see least_squares.py
    coefs: Matrix  # [m, d] in whitened coordinates
    gains: Matrix  # [m, d] cached S⁻¹x of the pending row
    whitener: Matrix  # L with Σ = LLᵀ, lower; empty when contexts are used as they are
    seen_factor: Matrix  # R with RᵀR = Σ xxᵀ over contexts seen, upper; empty when Σ is given
    contexts: Matrix  # [capacity, d] as they came
    outcomes: Vector  # [capacity]
    rows: npt.NDArray[Any]  # ROW[capacity]
    z: Vector  # [d] scratch: the whitened context at hand
    f: Vector  # [padded d] scratch, see factor.py
    g: Vector  # [d] scratch, see factor.py
    scratch: npt.NDArray[np.float64]  # [1, 1, d, padded d] scratch factor
    lots: npt.NDArray[np.uint64]  # [words] stream for assignment by lot; [0, 0]: neither looks nor weighs
    memory: npt.NDArray[np.float64]  # what a policy that weighs remembers of assignments; [0] if it does not
    plan: npt.NDArray[np.int64]  # [1 + m] the address of such a policy's weights, and arms in order; [0]
    spreads: npt.NDArray[np.float64]  # [m, 2], see spread.py; [0] if the policy does not read arm.spread
    baselines: npt.NDArray[Any]  # BASELINE[1 + m], see baseline.py; [0] until redacted units leave something
    baseline_factors: npt.NDArray[np.float64]  # [1 + m, d, d] R with RᵀR = Σ zzᵀ over them, upper
    baseline_coefs: Matrix  # [1 + m, d] rotated outcomes q with Rβ = q; of all: as if every outcome were 1


def new_state(
    *,
    dim: int,
    budget: int,
    money: float,
    exponent: float,
    weights: Vector,
    costs: Vector,
    floors: Vector,
    caps: Vector,
    order: npt.NDArray[np.int64],
    whitener: Matrix | None,
    learns_moment: bool,
    forced_start: bool,
    looks: bool,
    pools: bool,
    chance: float,
    seed: int,
    capacity: int,
    memory: tuple[int, int] | None = None,
    weights_address: int = 0,
    keeps_spread: bool = False,
) -> State:
    """Arrays of a trial that has seen nothing yet; a policy that weighs says how much it remembers."""
    m = len(weights)
    arms = np.zeros(m, ARM)
    arms["position"] = np.arange(m)
    arms["weight"] = weights
    arms["order"] = order
    arms["noise_variance"] = 1.0
    arms["inverse_root_dof"] = 1.0
    arms["last_row"] = -1
    arms["gain_row"] = -1
    arms["design_tried"] = -1
    arms["trace"] = np.inf
    arms["trace_sum"] = np.inf
    arms["open"] = arms["eligible"] = 1
    arms["spread"] = 1.0
    trial = np.zeros(1, TRIAL)
    trial["arms"], trial["dim"], trial["budget"] = m, dim, budget
    trial["money"], trial["mean_variance"], trial["exponent"] = money, 1.0, exponent
    trial["forced_start"], trial["learns_moment"] = forced_start, learns_moment
    trial["looks"], trial["pools"] = looks, pools
    trial["chance"], trial["seed"] = chance, seed
    trial["pooled_variance"] = trial["pooled_dof"] = 1.0
    set_limits(arms, trial, costs, floors, caps)
    return State(
        arms=arms,
        trial=trial,
        factors=aligned_zeros((m, 2, dim, padded(dim))),
        coefs=np.zeros((m, dim)),
        gains=np.zeros((m, dim)),
        whitener=np.zeros((0, 0)) if whitener is None else np.ascontiguousarray(whitener),
        seen_factor=np.zeros((dim, dim) if learns_moment else (0, 0)),
        contexts=np.zeros((capacity, dim)),
        outcomes=np.zeros(capacity),
        rows=np.zeros(capacity, ROW),
        z=np.zeros(dim),
        f=aligned_zeros((padded(dim),)),
        g=np.zeros(dim),
        scratch=aligned_zeros((1, 1, dim, padded(dim))),
        lots=np.zeros(STREAM_WORDS if looks or memory is not None else (0, 0), np.uint64),
        memory=np.zeros(0 if memory is None else memory),
        plan=np.array([] if memory is None else [weights_address, *range(m)], np.int64),
        spreads=np.zeros((m, 2) if keeps_spread else 0),
        baselines=np.zeros(0, BASELINE),
        baseline_factors=np.zeros((0, dim, dim)),
        baseline_coefs=np.zeros((0, dim)),
    )


def set_limits(
    arms: npt.NDArray[Any], trial: npt.NDArray[Any], costs: Vector, floors: Vector, caps: Vector
) -> None:
    """Write what arms cost and how many units they must and may get; ``caps`` may be infinite."""
    arms["cost"], arms["floor"] = costs, floors
    arms["cap"] = np.minimum(caps, NO_CAP)
    unequal = np.any(costs != 1.0) or np.any(floors > 0) or np.any(caps < NO_CAP)
    trial["limited"] = bool(unequal) or not np.all(arms["open"])


def with_another_arm(state: State, fresh: State) -> State:
    """The same trial with one more arm, the last one of ``fresh``, in arrays of its own."""
    m = len(state.arms)
    state = copied(state, len(state.rows))
    arms, factors = fresh.arms.copy(), aligned_zeros(fresh.factors.shape)
    arms[:m], factors[:m] = state.arms, state.factors
    for name in ("weight", "order"):
        arms[name] = fresh.arms[name]
    coefs, gains = np.zeros_like(fresh.coefs), np.zeros_like(fresh.gains)
    coefs[:m], gains[:m] = state.coefs, state.gains
    spreads = np.zeros_like(fresh.spreads)
    spreads[:m] = state.spreads
    trial = state.trial.copy()
    trial["arms"], trial["budget"] = m + 1, fresh.trial["budget"]
    if trial["learns_moment"][0]:
        # The prior of a design that is not invertible yet is a share 1/(2m) of the contexts seen.
        arms["provisional"] = 0
    set_limits(arms, trial, fresh.arms["cost"], fresh.arms["floor"], fresh.arms["cap"])
    # What a policy that weighs remembers is gone through again afterwards, see stages/stage.py.
    return state._replace(
        arms=arms,
        trial=trial,
        factors=factors,
        coefs=coefs,
        gains=gains,
        memory=fresh.memory,
        plan=fresh.plan,
        spreads=spreads,
        **{name: _with_one_more(getattr(state, name)) for name in BASELINES},
    )


BASELINES = ("baselines", "baseline_factors", "baseline_coefs")


def _with_one_more(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array with room for one arm more; an empty one stays empty."""
    return np.concatenate([array, np.zeros_like(array[:1])])


def copied(state: State, capacity: int, *, share_rows: bool = False) -> State:
    """The same trial in arrays of its own, with room for ``capacity`` rows.

    Contexts stay shared if there is room enough: those of assigned units never change. With ``share_rows``
    so do rows and outcomes, for whoever only writes to rows that are not assigned yet.
    """
    used = int(state.trial["step"][0])
    arrays: dict[str, Any] = {"whitener": state.whitener}
    for name in ("contexts", "outcomes", "rows"):
        rows = getattr(state, name)
        if capacity <= len(rows) and (share_rows or name == "contexts"):
            arrays[name] = rows
        else:
            arrays[name] = np.zeros((capacity, *rows.shape[1:]), rows.dtype)
            arrays[name][:used] = rows[:used]
    for name in ("factors", "f", "scratch"):
        arrays[name] = aligned_zeros(getattr(state, name).shape)
        arrays[name][...] = getattr(state, name)
    others = (name for name in State._fields if name not in arrays)
    return State(**arrays, **{name: getattr(state, name).copy() for name in others})
