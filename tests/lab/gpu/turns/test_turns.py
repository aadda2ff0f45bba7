"""Trials whose turns are known run arm by arm, with the processor's bits; others do not."""

from dataclasses import dataclass

import numpy as np
import pytest
from emulation.device import EmulatedDevice, emulated_gpu
from emulation.programs import why_not

import equipoise as eq
from equipoise.core.policies.base.policy import Policy, known_policies
from equipoise.lab.gpu import places, planning
from equipoise.lab.gpu.ahead.tasks import tasks_of
from equipoise.lab.gpu.seat import Seat
from equipoise.lab.gpu.turns import known
from equipoise.lab.gpu.turns.known import are_turns_known, is_by_counts
from equipoise.lab.trial.world import Draws

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

SCENARIO = eq.GaussianScenario(noise=[0.3, 0.7, 8.0], dim=3, budget=40, estimator="ridge")
NOT_PLAIN = [
    {"costs": (1.0, 2.0, 1.0)},
    {"floors": (5, 5, 5)},
    {"caps": (None, 20, None)},
    {"closures": (eq.Closure(arm="arm-1", after=10, until=20),)},
    {"delay": eq.Delay(mean=5)},
    {"lost": 0.1},
    {"moment": "learned"},
    {"contexts": eq.BinaryContexts()},
    {"noise_shape": eq.StudentNoise(dof=5)},
    {"heteroscedasticity": 0.5},
    {"noise_drift": 0.5},
    {"coef_drift": 0.5},
    {"curvature": 0.5},
]


def plans(scenario, policy, **device):
    return Seat(scenario, eq.parse_policy(policy), 0, Draws(scenario, 0, block=1), gpu(**device)).plans


def gpu(shared_bytes=232_448):
    return EmulatedDevice(1, False, shared_bytes)


def assert_same(scenario, policies, trials=6, **options):
    """On a processor and on a GPU, in each of two orders of its threads; what ran last on it."""
    run = {"trials": trials, "seed": 7}
    here = eq.simulate(scenario, policies, **run)
    for lot in (1, 2):
        with emulated_gpu(lot=lot, **options) as device:
            there = eq.simulate(scenario, policies, device="cuda", **run)
        for policy in policies:
            for one, other in zip(here[policy].ledger, there[policy].ledger, strict=True):
                np.testing.assert_array_equal(one, other)
    return here, device


@pytest.mark.parametrize(
    ("policy", "changes"),
    [
        ("uniform", {}),
        ("oracle", {}),
        ("best-allocation", {"estimator": "pooled"}),
        ("oracle", {"noise": [0.5, 0.5, 0.5, 0.5], "budget": 50}),  # whose turn it is follows from the order
        ("oracle", {"noise": [2.0, 2.0, 0.5], "intercept": True, "estimator": "empirical-bayes"}),
        ("uniform", {"noise": [0.4], "dim": 1, "budget": 9}),
        ("uniform", {"noise": [0.3, 0.7, 2.0] * 6, "budget": 110}),  # judged eight arms at a time
        ("uniform", {"dim": 15, "budget": 61}),  # eight threads a trial
        pytest.param("oracle", {"dim": 15, "budget": 70}, marks=pytest.mark.slow),
        pytest.param("oracle", {"dim": 22, "budget": 120}, marks=pytest.mark.slow),
        pytest.param("uniform", {"dim": 30, "budget": 110}, marks=pytest.mark.slow),  # a warp
        pytest.param("oracle", {"dim": 36, "budget": 130}, marks=pytest.mark.slow),  # two columns a thread
        ("uniform", {"noise": [0.3, 2.0], "dim": 41, "budget": 100}),  # no tiles
    ],
)
def test_the_same_bits(policy, changes):
    scenario = SCENARIO.replace(**changes)
    assert "turns" in plans(scenario, policy)
    assert_same(scenario, [policy])


@pytest.mark.parametrize(
    ("policy", "changes", "counts"),
    [
        ("uniform", {"budget": 12}, [4, 4, 4]),  # no arm gets more than its first units
        ("uniform", {"budget": 13}, None),  # and one of them
        ("uniform", {"budget": 11}, None),  # too few for all arms to begin with
        ("uniform", {"budget": 2}, None),  # one arm gets nothing
        ("oracle", {"budget": 11}, [1, 1, 9]),  # one arm begins, and the others do not
        ("oracle", {"noise": [0.0, 0.7, 8.0], "budget": 11}, [0, 1, 10]),
        ("oracle:noise=0.0,0.7,8.0", {"budget": 17}, [4, 4, 9]),
    ],
)
def test_the_same_bits_of_few_units(policy, changes, counts):
    here, _ = assert_same(SCENARIO.replace(**changes), [policy])
    if counts is not None:
        assert here[policy].ledger.counts[0].tolist() == counts


def test_the_same_bits_where_nothing_lies_near():
    device = {"shared_bytes": 4_000}
    assert not plans(SCENARIO, "oracle", **device)["turns"].layout.places["choice"].near
    assert_same(SCENARIO, ["oracle"], **device)


def test_the_same_bits_where_first_units_have_no_room():
    device = {"shared_bytes": 2_000}
    assert "turns" not in plans(SCENARIO, "oracle", **device)
    assert_same(SCENARIO, ["oracle"], **device)


def test_the_same_bits_of_many_units_and_settings(monkeypatch):
    monkeypatch.setattr(places, "_FEW_UNITS", 30)
    monkeypatch.setattr(planning, "TABLE_WORDS", 60)
    plan = plans(SCENARIO, "oracle")["turns"].layout
    assert plan.groups["turns"].units.dtype == np.int32
    assert not plan.places["choice"].constant
    assert_same(SCENARIO, ["oracle"])


def test_policies_share_what_does_not_depend_on_them():
    _, device = assert_same(SCENARIO, ["uniform", "oracle"])
    # Draws, the trials' beginning, themselves and their judgement once; turns for each.
    assert len(device.programs) == 4 + 2
    with emulated_gpu():
        tasks = [task["what"] for task in tasks_of(SCENARIO, ["uniform", "oracle"], "cuda")]
    assert sorted(tasks) == ["draws", "judged", "opened", "trials", "turns", "turns"]


@pytest.mark.parametrize("changes", NOT_PLAIN, ids=lambda changes: next(iter(changes)))
def test_where_turns_are_not_known(changes):
    scenario = SCENARIO.replace(**changes)
    assert not are_turns_known(scenario, eq.Uniform())
    assert "turns" not in plans(scenario, "uniform")


def test_whose_turns_are_known():
    kinds = {name: kind for name, kind in known_policies().items() if kind.counts_alone}
    assert sorted(kinds) == ["best-allocation", "oracle", "uniform"]
    assert all(is_by_counts(kind()) for kind in kinds.values())
    assert not is_by_counts(eq.VarUCB())


def test_claims_of_others_count_for_nothing():
    @dataclass(frozen=True, kw_only=True)
    class Claims(Policy):
        forced_start = False
        counts_alone = True

        @staticmethod
        def score(arm, trial, settings):
            return -float(arm.count)

    @dataclass(frozen=True, kw_only=True)
    class Inherits(eq.Oracle):
        @staticmethod
        def score(arm, trial, settings):
            return arm.noise_variance / (1.0 + arm.count)

    @dataclass(frozen=True, kw_only=True)
    class Repeats(Inherits):
        counts_alone = True

    @dataclass(frozen=True, kw_only=True)
    class StartsOtherwise(eq.Uniform):
        forced_start = True

    @dataclass(frozen=True, kw_only=True)
    class Keeps(eq.Uniform):
        pass

    others = Claims(), Inherits(), Repeats(), StartsOtherwise()
    assert [is_by_counts(each) for each in others] == [False] * 4
    assert is_by_counts(Keeps())


def test_a_score_that_reads_more_than_it_says_is_not_compiled(monkeypatch):
    @eq.register("reads-more-than-it-says")
    class ReadsMore(Policy):
        forced_start = False
        counts_alone = True

        @staticmethod
        def score(arm, trial, settings):
            return arm.noise_variance / (1.0 + arm.count)

    # Somebody else's is run as any other policy.
    assert_same(SCENARIO, ["reads-more-than-it-says"])
    monkeypatch.setattr(known, "is_stamped", lambda function: True)
    with emulated_gpu(), pytest.raises(Exception, match="noise_variance"):
        eq.simulate(SCENARIO, ["reads-more-than-it-says"], trials=2, device="cuda")
