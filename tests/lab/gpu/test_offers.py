"""Which trials a GPU runs; what is said where there is none."""

import numpy as np
import pytest
from built_in import BUILT_IN

import equipoise as eq
from equipoise.core.policies.base.policy import parse_policy
from equipoise.errors import DeviceUnavailable, InvalidArgument, NotOnDevice
from equipoise.lab.gpu.driver import devices
from equipoise.lab.gpu.offers import obstacle, split

SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=40)

needs_none = pytest.mark.skipif(devices() > 0, reason="there is a GPU here")


def test_every_policy_of_one_stage_can_run_there():
    refused = {
        name for name, kind in BUILT_IN.items() if obstacle(SCENARIO, _default(name, kind)) is not None
    }
    assert refused == {name for name, kind in BUILT_IN.items() if kind.staged}


def _default(name, kind):
    return parse_policy("sparse-oracle:support=0") if name == "sparse-oracle" else kind()


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"intervals": "robust"}, "robust"),
        ({"stop": eq.StopRule(target=0.5)}, "stop"),
        ({"accrual": eq.Accrual(rate=2.0)}, "calendar"),
    ],
)
def test_what_cannot_be_had_is_refused_by_name(changes, word):
    with pytest.raises(NotOnDevice, match=word) as error:
        eq.simulate(SCENARIO.replace(**changes), ["uniform"], trials=2, device="cuda")
    assert "uniform" in str(error.value)
    assert "auto" in error.value.hint


def test_a_policy_that_chooses_features_is_refused():
    with pytest.raises(NotOnDevice, match="chooses features"):
        split(SCENARIO, {"static-lasso": parse_policy("static-lasso")}, "cuda", elsewhere=False)


def test_an_unknown_device():
    with pytest.raises(InvalidArgument, match="device='gpu' is not known") as error:
        eq.simulate(SCENARIO, ["uniform"], trials=2, device="gpu")
    assert "'cuda'" in error.value.hint


@needs_none
def test_without_a_gpu_auto_runs_here_and_cuda_says_what_is_missing():
    scenario = SCENARIO.replace(estimator="ridge")
    here = eq.simulate(scenario, ["uniform"], trials=5, seed=2)
    auto = eq.simulate(scenario, ["uniform"], trials=5, seed=2, device="auto")
    assert np.array_equal(here["uniform"].errors, auto["uniform"].errors)
    with pytest.raises(DeviceUnavailable) as error:
        eq.simulate(SCENARIO, ["uniform"], trials=5, device="cuda")
    assert "cpu" in error.value.hint or "equipoise[gpu]" in error.value.hint


def test_on_a_cluster_only_what_was_asked_for_goes_to_a_gpu():
    policies = {"uniform": parse_policy("uniform")}
    assert split(SCENARIO, policies, "auto", elsewhere=True) == set()
    assert split(SCENARIO, policies, "cuda", elsewhere=True) == {"uniform"}
