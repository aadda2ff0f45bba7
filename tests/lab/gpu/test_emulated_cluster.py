"""A GPU for every worker of a real Dask cluster, emulated: the same numbers."""

import os
from importlib.util import find_spec

import numpy as np
import pytest
from emulation.programs import why_not
from running.clusters import PATIENCE, clusters

import equipoise as eq
from equipoise.errors import DeviceUnavailable
from equipoise.lab.gpu.driver import devices
from equipoise.lab.running import simulate
from equipoise.lab.running.cluster import cluster_executor

pytestmark = [
    pytest.mark.skipif(devices() > 0, reason="workers would find the GPU that is here"),
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
    pytest.mark.skipif(
        find_spec("distributed") is None and not os.environ.get("EQUIPOISE_CI"),
        reason="distributed is not installed: pip install 'equipoise[cluster]'",
    ),
]

SCENARIO = eq.GaussianScenario(noise=[0.3, 0.7, 2.0], dim=3, budget=40, estimator="ridge")
RUN = {"trials": 24, "seed": 7}


def test_every_worker_uses_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(simulate, "_TRIALS_ON_GPU", 4)
    here = eq.simulate(SCENARIO, ["trace-ucb"], **RUN)["trace-ucb"].ledger
    with clusters(tmp_path) as make:
        cluster = make(2, "--preload", "emulation.worker")
        with cluster_executor(cluster.address, timeout=PATIENCE) as executor:
            executor._client.wait_for_workers(2, timeout=PATIENCE)
            found = eq.simulate(SCENARIO, ["trace-ucb"], device="cuda", executor=executor, **RUN)
    for one, other in zip(here, found["trace-ucb"].ledger, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_worker_without_one_says_so(tmp_path):
    with (
        clusters(tmp_path) as make,
        cluster_executor(make(1).address, timeout=PATIENCE) as executor,
        pytest.raises(DeviceUnavailable, match="NVIDIA driver"),
    ):
        eq.simulate(SCENARIO, ["trace-ucb"], device="cuda", executor=executor, **RUN)
