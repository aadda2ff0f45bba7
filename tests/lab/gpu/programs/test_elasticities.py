"""What intervals need of a policy has a program of its own: for whom, and what it does not depend on."""

import pytest

import equipoise as eq
from equipoise.lab.gpu import seat as seats
from equipoise.lab.gpu.kept import array_kinds
from equipoise.lab.gpu.programs.elasticities import measuring_team
from equipoise.lab.trial.world import Draws

SCENARIO = eq.GaussianScenario(noise=[0.3, 0.7, 2.0], dim=3, budget=60, estimator="ridge")


class Processor:
    """What programs need to know of a GPU."""

    processors, shared_bytes, name, target = 4, 100_000, "none", "sm_80"


def seat(policy, **changes):
    scenario = SCENARIO.replace(**changes)
    return seats.Seat(scenario, eq.parse_policy(policy), 0, Draws(scenario, 0, block=1), Processor())


def key(mine, what):
    layout = mine.plans[what].layout
    places = array_kinds(layout.groups, layout.places)
    return mine._drafted(what), layout.team.size, layout.share, layout.known, places


@pytest.mark.parametrize(
    ("policy", "changes", "needed"),
    [
        ("trace-ucb", {}, True),
        ("trace-gain", {"estimator": "pooled"}, True),
        ("wei-urn", {}, True),
        ("uniform", {}, False),  # counts alone decide, in turns that are known
        ("uniform", {"delay": eq.Delay(mean=5)}, True),  # and in others
        ("trace-ucb", {"noise": [1.0] * 50, "budget": 400}, True),
        ("trace-ucb", {"noise": [1.0] * 51, "budget": 400}, False),  # no intervals are judged
    ],
)
def test_who_needs_it(policy, changes, needed):
    assert ("elasticities" in seat(policy, **changes).plans) == needed


@pytest.mark.parametrize("policy", ["trace-ucb", "trace-gain", "var-ucb"])
@pytest.mark.parametrize("changes", [{"dim": 15, "budget": 90}, {"dim": 1}, {"budget": 200}])
def test_it_serves_all_numbers_of_features_and_units(policy, changes):
    assert key(seat(policy), "elasticities") == key(seat(policy, **changes), "elasticities")


def test_it_is_the_policys_own():
    policies = "trace-ucb", "var-ucb", "trace-gain", "wei-urn"
    keys = [key(seat(policy), "elasticities") for policy in policies]
    assert all(one != other for k, one in enumerate(keys) for other in keys[:k])
    assert key(seat("trace-ucb"), "elasticities") == key(seat("trace-ucb:width=0.5"), "elasticities")
    assert key(seat("trace-ucb"), "elasticities") != key(seat("trace-ucb", noise=[1.0] * 4), "elasticities")


def test_judging_knows_no_policy():
    policies = "trace-ucb", "trace-ucb:width=theory:bound=3", "var-ucb", "uniform", "oracle"
    assert all(key(seat(each), "judged") == key(seat("trace-ucb"), "judged") for each in policies)


def test_a_thread_for_every_arm():
    assert [measuring_team(arms).size for arms in (1, 4, 5, 8, 17, 50)] == [4, 4, 8, 8, 32, 32]
