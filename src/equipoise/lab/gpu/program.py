"""What every group of threads does: the lab's own trials, put together for a GPU.

Nothing of a trial is written here but what differs: a policy's functions are called by their names, not by
their addresses, and a trial in which outcomes come at once has one factor an arm, not two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
from numba.extending import intrinsic

from equipoise.core.arms import factor
from equipoise.core.choice import scoring, weighing
from equipoise.core.choice.ties import Ties
from equipoise.core.draws.streams import fill_normals
from equipoise.core.estimates.estimators import ESTIMATORS, RIDGE
from equipoise.core.jit.bounded import ADDRESS, open_bounded
from equipoise.core.jit.handles import handled
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.core.policies.base.design import Design
from equipoise.core.policies.base.policy import Policy
from equipoise.lab.gpu.lanes import THREADS, number_of, use_threads, wait
from equipoise.lab.gpu.memory import Groups, Known, Places, assembler, copier, fetch, keeper
from equipoise.lab.gpu.tiles import use_tiles
from equipoise.lab.pieces.contexts.gaussian import address_of
from equipoise.lab.trial.judge import judge_arm, judge_coefs, judge_intervals, prepare_judgement
from equipoise.lab.trial.run import run_stage, show_context, start_trial
from equipoise.lab.trial.world import draw_normal_truth


@handled
class Order(NamedTuple):
    """Who goes first when scores tie."""

    ties: Ties


PLACES = {
    "state": Places(
        own=frozenset(
            (
                *(
                    "arms",
                    "trial",
                    "factors",
                    "coefs",
                    "gains",
                    "seen_factor",
                    "outcomes",
                    "rows",
                ),
                *("z", "f", "g", "scratch", "lots", "memory", "plan", "spreads"),
            )
        ),
        near=frozenset(("arms", "trial", "coefs", "z", "f", "g")),
        held=frozenset(("trial",)),
        drawn=frozenset(("contexts",)),
        long={"contexts": (0,), "outcomes": (0,), "rows": (0,)},
    ),
    "rule": Places(own=frozenset(("scores",)), near=frozenset(("scores",)), held=frozenset(("terms",))),
    "world": Places(
        own=frozenset(("outcome", "normals", "at_hand", "clock", "pulls", "stream")),
        near=frozenset(("outcome", "normals", "at_hand", "clock", "pulls")),
        held=frozenset(("setting", "clock")),
        long={
            **dict.fromkeys(("contexts", "delays", "fates"), (0, 1)),
            **dict.fromkeys(("coefs", "drifts", "closures"), (0,)),
            "shocks": (0, 2),
        },
    ),
    "judge": Places(
        own=frozenset(("probe", "elasticities")),
        apart=frozenset(("root", "system", "coef", "least_squares", "along")),
        long={"quantiles": (0,)},
    ),
    "ledger": Places(
        long=dict.fromkeys(("errors", "counts", "coverage", "plain_coverage", "course", "support"), (0,))
    ),
    "order": Places(own=frozenset(("ties",))),
    "work": Places(
        own=frozenset(
            (
                *(
                    "coefs",
                    "centers",
                    "ridges",
                    "noise_errors",
                    "biases",
                    "roots",
                    "bases",
                    "spectra",
                    "fits",
                ),
                *("weights", "noise", "mean_noise", "precision", "system", "pull", "middle", "solution"),
                *("rotated", "told", "residuals", "slacks"),
            )
        ),
        long={"rotated": (1,), "told": (0,), "residuals": (0,), "slacks": (0,)},
    ),
}
"""Where the arrays of a trial lie."""

_FARTHER: tuple[dict[str, tuple[str, ...]], ...] = (
    {},
    {"state": ("coefs",)},
    {"state": ("coefs",), "world": ("normals", "at_hand", "pulls")},
    {"state": ("coefs", "arms"), "world": ("normals", "at_hand", "pulls")},
    {group: tuple(places.near) for group, places in PLACES.items()},
)
"""What gives way, by group, where arms or features are many: the more trials at once, the better."""


def placements() -> list[dict[str, Places]]:
    """Where arrays may lie: first what is fastest for each trial, last what lets most trials run at once."""
    return [
        {group: places.without(moved.get(group, ())) for group, places in PLACES.items()}
        for moved in _FARTHER
    ]


_FLAGS: dict[str, dict[str, tuple[str, ...]]] = {
    "state": {"trial": ("limited", "forced_start", "learns_moment", "looks", "pools", "chance")},
    "rule": {"terms": ("ends",)},
    "world": {
        "setting": (
            "intercept",
            "late",
            "link",
            "heteroscedasticity",
            "curvature",
            "coef_drift",
            "noise_drift",
        )
    },
}
"""What a trial either has or has not, by group, array and field."""


def known_of(groups: Groups) -> dict[str, dict[str, dict[str, Any]]]:
    """What programs are made for: what a trial has not is left out of them, and no program tests for it."""
    return {
        group: {
            name: {
                field: value
                for field in fields
                if (value := getattr(groups[group], name)[field][0].item()) in (0, 1)
            }
            for name, fields in arrays.items()
        }
        for group, arrays in _FLAGS.items()
    }


WORDS = 5
"""Numbers that a program takes: the table, the size of a share of the near memory, and three of its own."""


def trial_program(
    groups: Groups,
    places: Mapping[str, Places],
    known: Mapping[str, Known],
    policy: Policy,
    estimator: str,
    *,
    at_once: bool,
) -> Callable[..., None]:
    """Trials of a policy: takes the number of the first, how many there are, and the first row of the ledger.

    ``at_once``: outcomes come at once, and the policy does not look at contexts. ``known``: see
    :func:`known_of`.
    """
    relink = Relinker()
    use_threads(relink)
    use_tiles(relink, *groups["state"].factors.shape[2:])
    # A trial's contexts are where they were drawn.
    relink.replace(show_context, Kernel(_fetch_next_context, inline=True))
    relink.replace(scoring.call_score, Kernel(_score_caller(policy), inline=True))
    if isinstance(policy, Design):
        relink.replace(weighing.call_design, Kernel(_design_caller(policy), inline=True))
    if at_once:
        relink.replace(factor.beside, Kernel(_itself, inline=True))
    copy_in = copier(groups, places)
    assemblers, holders, keepers, first = {}, {}, {}, 0
    for group, arrays in groups.items():
        assemblers[group] = assembler(arrays, first, places[group])
        holders[group] = assembler(arrays, first, places[group], known.get(group, {}))
        keepers[group] = keeper(arrays, first, places[group])
        first += len(arrays)
    # What happens once a trial is apart from the loop over its units, and finds its arrays by itself.
    begin = Kernel(_beginning(assemblers, relink))
    units = Kernel(_middle(holders, keepers, relink), inline=True)
    end = Kernel(_end(assemblers, relink, estimator))
    thread, block, block_threads, blocks = map(number_of, ("tid", "ctaid", "ntid", "nctaid"))

    def run(table: int, share: int, first: int, count: int, row: int) -> None:
        local, groups = thread() // THREADS, block_threads() // THREADS
        slot = block() * groups + local
        copy_in(table, local, share)
        for place in range(slot, count, groups * blocks()):
            begin(table, slot, local, share, place, first + place)
            units(table, slot, local, share, place)
            end(table, slot, local, share, place, row + place)

    return run


def _beginning(assemblers: Mapping[str, Any], relink: Relinker) -> Callable[..., None]:
    state_of, world_of, order_of = (assemblers[group] for group in ("state", "world", "order"))
    start = relink(start_trial)

    def apart_begin(table: int, slot: int, local: int, share: int, place: int, number: int) -> None:
        state, world = state_of(table, slot, local, share, place), world_of(table, slot, local, share, place)
        start(state, order_of(table, slot, local, share, place).ties, world, place, number)

    return apart_begin


def _middle(holders: Mapping[str, Any], keepers: Mapping[str, Any], relink: Relinker) -> Callable[..., None]:
    state_of, rule_of, world_of = (holders[group] for group in ("state", "rule", "world"))
    keep_state, keep_world = keepers["state"], keepers["world"]
    stage = relink(run_stage)

    def run_units(table: int, slot: int, local: int, share: int, place: int) -> None:
        state, rule = state_of(table, slot, local, share, place), rule_of(table, slot, local, share, place)
        world = world_of(table, slot, local, share, place)
        stage(state, rule, world)
        keep_state(state, table, slot, local, share)
        keep_world(world, table, slot, local, share)

    return run_units


def _end(assemblers: Mapping[str, Any], relink: Relinker, estimator: str) -> Callable[..., None]:
    state_of, rule_of, world_of = (assemblers[group] for group in ("state", "rule", "world"))
    judge_of, ledger_of = assemblers["judge"], assemblers["ledger"]
    if estimator == RIDGE:
        prepare, judged, thread = relink(prepare_judgement), relink(judge_arm), number_of("tid")

        def apart_end(table: int, slot: int, local: int, share: int, place: int, row: int) -> None:
            state, rule = (
                state_of(table, slot, local, share, place),
                rule_of(table, slot, local, share, place),
            )
            judge, ledger = (
                judge_of(table, slot, local, share, place),
                ledger_of(table, slot, local, share, place),
            )
            truth = world_of(table, slot, local, share, place).coefs[place]
            wait()
            prepare(state, rule, judge)
            # Each thread has arms of its own.
            for i in range(thread() % THREADS, ledger.counts.shape[1], THREADS):
                judged(state, judge, i, truth, ledger, row)
            wait()
            ledger.course[row, 0] = state.trial[0].step

        return apart_end

    work_of, fitted = assemblers["work"], relink(Kernel(_judge_fitted(estimator), inline=True))

    def apart_fitted_end(table: int, slot: int, local: int, share: int, place: int, row: int) -> None:
        state, rule = state_of(table, slot, local, share, place), rule_of(table, slot, local, share, place)
        judge, ledger = (
            judge_of(table, slot, local, share, place),
            ledger_of(table, slot, local, share, place),
        )
        work, truth = (
            work_of(table, slot, local, share, place),
            world_of(table, slot, local, share, place).coefs[place],
        )
        fitted(state, rule, judge, truth, ledger, work, row)
        ledger.course[row, 0] = state.trial[0].step

    return apart_fitted_end


def draw_program(groups: Groups) -> Callable[..., None]:
    """Normal contexts and truths of trials: takes the seed, the number of the first and how many."""
    relink = Relinker()
    draw = relink(Kernel(_draw_unit, inline=True))
    world_of = assembler(groups["world"], 0, Places(long=PLACES["world"].long))
    thread, block, block_threads, blocks = map(number_of, ("tid", "ctaid", "ntid", "nctaid"))

    def run(table: int, share: int, seed: int, first: int, count: int) -> None:
        world = world_of(table, 0, 0, share, 0)
        units = world.contexts.shape[1]
        for number in range(block() * block_threads() + thread(), count * units, block_threads() * blocks()):
            draw(world, seed, first, number // units, number % units)

    return run


def _draw_unit(world: Any, seed: int, first: int, place: int, t: int) -> None:
    """The context of a unit; the first one brings the truth."""
    contexts, varying = world.contexts[place], world.setting[0].intercept
    for c in range(varying):
        contexts[t, c] = 1.0
    fill_normals(address_of(seed, first + place, t), 0, contexts, t, varying)
    if t == 0:
        draw_normal_truth(world.coefs[place : place + 1], seed, first + place)


def _judge_fitted(estimator: str) -> Callable[..., None]:
    """What a trial is worth whose models are estimated otherwise than by ridge."""
    fit = ESTIMATORS[estimator].fit

    def judge_fitted(state: Any, rule: Any, judge: Any, truth: Any, ledger: Any, work: Any, row: int) -> None:
        judge_intervals(state, rule, judge, truth, ledger.coverage[row], ledger.plain_coverage[row])
        fit(state, work)
        judge_coefs(judge, work.coefs, truth, ledger.errors[row])
        for i in range(ledger.counts.shape[1]):
            ledger.counts[row, i] = state.arms[i].count + state.arms[i].set_aside

    return judge_fitted


def _score_caller(policy: Policy) -> Callable[..., None]:
    """What takes the place of a call through an address: see choice/scoring.py."""
    score = Kernel(type(policy).score, inline=True)

    def call_score(address: int, arms: Any, trial: Any, settings: Any, scores: Any) -> None:
        numbers = open_bounded(_first_of(settings))
        starts = trial.forced_start and not trial.looks
        for i in range(arms.shape[0]):
            if starts and not arms[i].design_ready:
                scores[i] = np.inf
            else:
                scores[i] = score(arms[i], trial, numbers)

    return call_score


def _design_caller(design: Design) -> Callable[..., None]:
    """The same for a design: see choice/weighing.py."""
    weigh, remember = Kernel(type(design).weigh, inline=True), Kernel(type(design).remember, inline=True)

    def call_design(state: Any, row: int, arm: int, settings: Any, weights: Any) -> None:
        numbers, trial, context = open_bounded(_first_of(settings)), state.trial[0], state.contexts[row]
        if arm >= 0:
            remember(trial, numbers, context, state.memory, state.lots, row, arm)
        else:
            weigh(state.arms, trial, numbers, context, state.memory, state.plan[1:], weights)

    return call_design


def _itself(b: int) -> int:
    return b


def _fetch_next_context(state: Any, rule: Any, world: Any, t: int) -> None:
    """The context stands there already; the next one, which is far away, is asked for."""
    if t + 1 < world.contexts.shape[1]:
        context = world.contexts[world.clock[0].place, t + 1]
        fetch(context, 0)
        fetch(context, context.shape[0] - 1)


@intrinsic
def _address_of(typing_context, array):
    def generate(context, builder, signature, arguments):
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return ADDRESS(array), generate


# Typed as the function it is inside compiled code, not as the code generator above.
_first_of: Callable[[Any], Any] = cast(Any, _address_of)
"""The address of an array's first number."""
