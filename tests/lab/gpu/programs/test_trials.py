"""Programs for a GPU, looked at without one, and tried where there is one."""

import itertools
import re

import numpy as np
import pytest
from emulation.drafts import keep_no_draft
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

import equipoise as eq
from equipoise.core.arithmetic.bits import float_of
from equipoise.core.arithmetic.lanes import padded
from equipoise.core.arms import factor
from equipoise.core.draws import normal
from equipoise.core.jit import ways
from equipoise.core.jit.decorators import compiled
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.nvptx import ENTRY, new_draft
from equipoise.core.jit.plain import Plain
from equipoise.core.jit.relinking import Relinker
from equipoise.errors import DeviceUnavailable
from equipoise.lab.gpu import kept, places
from equipoise.lab.gpu import seat as seats
from equipoise.lab.gpu.driver import devices
from equipoise.lab.gpu.layout import share_of
from equipoise.lab.gpu.places import PLACES
from equipoise.lab.gpu.programs.trials import use_no_delays
from equipoise.lab.gpu.teams.lanes import Team
from equipoise.lab.gpu.teams.tiles import best_team
from equipoise.lab.trial.bench import ScenarioBench
from equipoise.lab.trial.ledger import new_ledger
from equipoise.lab.trial.opening import room_for
from equipoise.lab.trial.rule import rule_of
from equipoise.lab.trial.trials import run_trials
from equipoise.lab.trial.world import Draws

SCENARIO = eq.GaussianScenario(noise=[0.3, 0.7, 2.0], dim=3, budget=60, estimator="ridge")


class Processor:
    """What programs need to know of a GPU."""

    processors, shared_bytes, name, target = 4, 100_000, "none", "sm_80"


def seat(policy, scenario=SCENARIO):
    return seats.Seat(scenario, eq.parse_policy(policy), 0, Draws(scenario, 0, block=1), Processor())


def layout_of(policy, scenario):
    return seat(policy, scenario).plans["trials"].layout


@pytest.mark.parametrize("what", ["opened", "trials", "elasticities", "judged"])
def test_a_trial_compiles_for_a_gpu_without_one(what):
    ptx = seat("trace-ucb").ptx(what)
    assert ".target sm_80" in ptx
    assert f".entry {ENTRY}" in ptx
    # Nothing is called that the GPU does not have, and nothing is fused but what is written so.
    assert re.findall(r"^\.extern \.func.*$", ptx, re.M) == []
    assert "mul.rn.f64" in ptx
    assert "mul.f64" not in ptx
    assert "div.rn.f64" in ptx
    assert ".approx" not in ptx


def test_what_is_left_out_changes_no_bit_where_outcomes_come_at_once():
    relink = Relinker()
    relink.replace(factor.beside, Kernel(lambda b: b, inline=True))
    use_no_delays(relink)
    trials = 20
    found = []
    for run, whole in ((run_trials, True), (relink(run_trials), False)):
        here = ScenarioBench(SCENARIO, [eq.TraceUCB()], 5)
        mine, ledger = here.seats[0], new_ledger(trials, 3)
        state = mine.stage.state
        if not whole:
            state = places.with_one_factor(state)
        here.draws.draw(0, trials)
        judged = mine.judge, ledger, slice(0, trials), 0
        run(state, rule_of(mine.stage), mine.ties, here.draws.world, *judged, room_for(state))
        found.append(ledger)
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_one_normal_at_a_time_has_the_bits_of_four():
    @intrinsic
    def generated_one(typing_context, table, number):
        def generate(context, builder, signature, arguments):
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            return normal.generate_one(builder, data, builder.bitcast(arguments[1], ir.IntType(64)))

        return types.float64(table, types.float64), generate

    table = normal.TABLE_BY_TERMS

    @compiled
    def draw(words, ones, fours):
        for k in range(words.shape[0]):
            ones[k] = generated_one(table, float_of(words[k]))
            fours[k] = normal.normal_of(words[k])

    words = np.random.default_rng(0).integers(0, 2**64, 5_000, np.uint64)
    words[:4] = 0, 2**64 - 1, 2**63, 2**63 - 1
    ones, fours = np.zeros(len(words)), np.zeros(len(words))
    draw(words.view(np.int64), ones, fours)
    np.testing.assert_array_equal(ones, fours)


def test_shares_of_near_memory_do_not_overlap():
    groups = layout_of("trace-gain", SCENARIO).groups
    share = share_of(groups, PLACES, Team(4))
    ends = [
        (start, start + getattr(groups[group], name).nbytes) for (group, name), start in share.offsets.items()
    ]
    ends.sort()
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ends))
    assert ends[-1][1] <= share.size
    assert share.size % 128 == 16
    assert all(start % 16 == 0 for start, _ in ends)  # threads read so many bytes at once


def test_the_more_arms_the_less_lies_near():
    near = [
        sum(len(places.near) for places in layout_of("trace-ucb", many_arms(arms)).places.values())
        for arms in (3, 30, 900)
    ]
    assert near[0] > near[1] > near[2] == 0


def many_arms(arms):
    return eq.GaussianScenario(noise=np.linspace(0.1, 1.0, arms).tolist(), dim=1, budget=1_000)


@pytest.mark.parametrize(("dim", "threads"), [(1, 4), (10, 4), (15, 8), (20, 16), (30, 32), (40, 32)])
def test_the_more_features_the_more_threads(dim, threads):
    assert best_team(dim, padded(dim)).size == threads


def test_trials_with_many_threads_compile():
    ptx = seat("trace-ucb", SCENARIO.replace(dim=15, budget=90)).ptx()
    assert "shfl.sync.idx" in ptx


@pytest.mark.parametrize("what", ["opened", "trials", "elasticities", "judged"])
def test_a_draft_serves_programs_of_other_sizes_as_if_it_were_their_own(what, monkeypatch):
    drafts = []

    def counted(*arguments):
        drafts.append(arguments)
        return new_draft(*arguments)

    monkeypatch.setattr(kept, "new_draft", counted)
    keep_no_draft(monkeypatch)
    # Other numbers of threads, arms and features, and other arrays near.
    others = [
        SCENARIO.replace(dim=15, budget=90),
        SCENARIO.replace(noise=[0.5] * 12, budget=200),
        SCENARIO.replace(dim=40, noise=[0.1, 0.2], budget=150),
    ]
    together = [seat("trace-ucb", scenario).ptx(what) for scenario in (SCENARIO, *others)]
    assert len(drafts) == 1
    # Elasticities have nothing to do with the number of features: 15 of them need no other program than 3.
    assert len(set(together)) == (3 if what == "elasticities" else 4)
    for scenario, ptx in zip(others, together[1:], strict=True):
        kept.DRAFTS.clear()
        alone = seat("trace-ucb", scenario).ptx(what)
        # Numba numbers functions as they come, and LLVM names what is outside in any order.
        assert sorted(re.sub(r"B\dv\d+", "", alone).splitlines()) == sorted(
            re.sub(r"B\dv\d+", "", ptx).splitlines()
        )


@pytest.mark.parametrize(
    ("changes", "drafts"),
    [
        ({"delay": eq.Delay(mean=5)}, 4),
        ({"estimator": "pooled"}, 4),
        ({"dim": 41, "budget": 200}, 3),  # judging is the same: it has no tiles
        ({"noise": [0.5] * 17, "budget": 200}, 2),
        ({"curvature": 0.5}, 4),  # somebody looks at rows
        ({"budget": 40_000}, 4),  # counts of whole words
    ],
)
def test_programs_of_other_functions_or_types_have_drafts_of_their_own(changes, drafts, monkeypatch):
    keep_no_draft(monkeypatch)
    monkeypatch.setattr(kept, "new_draft", lambda make, words: "")
    monkeypatch.setattr(seats, "to_ptx", lambda *arguments, **options: "")
    for scenario in (SCENARIO, SCENARIO.replace(**changes)):
        for what in ("trials", "judged"):
            seat("trace-ucb", scenario).ptx(what)
    assert len(kept.DRAFTS) == drafts


def test_the_plain_way_of_compiling_is_refused(monkeypatch):
    monkeypatch.setattr(ways, "chosen", Plain)
    with pytest.raises(DeviceUnavailable, match="plain"):
        new_draft(lambda word: None, 1)


@pytest.mark.skipif(devices() == 0, reason="there is no NVIDIA GPU here")
@pytest.mark.parametrize("policy", ["uniform", "trace-ucb", "trace-gain", "wei-urn"])
@pytest.mark.parametrize("estimator", ["pooled", "ridge"])
def test_a_gpu_gives_the_same_bits(policy, estimator):
    scenario = SCENARIO.replace(estimator=estimator)
    here, there = (
        eq.simulate(scenario, [policy], trials=500, seed=7, device=device)[policy].ledger
        for device in ("cpu", "cuda")
    )
    for one, other in zip(here, there, strict=True):
        np.testing.assert_array_equal(one, other)
