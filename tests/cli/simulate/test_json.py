"""The object that ``--json`` prints."""

import json

import pytest

BASE = ("simulate", "--noise", "0.1,1,3", "--dim", 3, "--budget", 50, "--trials", 40, "--seed", 11)
NOISE, DIM, BUDGET, TRIALS, SEED = [0.1, 1.0, 3.0], 3, 50, 40, 11
SPEC = "trace-ucb:width=theory:bound=3:delta=0.05"


def test_json_is_one_object_of_the_promised_shape(run):
    result = run(*BASE, "--policy", "uniform", "--policy", SPEC, "--json")
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert found["scenario"] == {"noise": NOISE, "dim": DIM, "budget": BUDGET}
    assert (found["trials"], found["seed"]) == (TRIALS, SEED)
    assert list(found)[:3] == ["command", "version", "numerics"]
    assert found["arms"] == ["arm-1", "arm-2", "arm-3"]
    assert list(found["policies"]) == ["uniform", SPEC]  # as typed
    for policy in found["policies"].values():
        for loss in ("expected_max", "median_max", "mean"):
            assert policy[loss]["value"] > 0
            assert policy[loss]["stderr"] > 0
            assert policy["difference"][loss]["stderr"] >= 0
        assert policy["difference"]["to"] == "uniform"
        assert sum(policy["pulls"]) == pytest.approx(BUDGET)
        assert max(error["value"] for error in policy["errors"]) == policy["expected_max"]["value"]
        assert policy["regret"]["value"] < policy["expected_max"]["value"]
        assert policy["decisions_per_second"] > 1_000
