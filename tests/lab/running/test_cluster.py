"""A real Dask cluster on loopback: same numbers, also when a worker is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, Future
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from running.clusters import PATIENCE, clusters, end

import equipoise as eq
from equipoise.errors import ClusterUnreachable, MissingExtra
from equipoise.lab.running import cluster, simulate
from equipoise.lab.running.cluster import cluster_executor
from equipoise.lab.trial.ledger import Ledger

# In continuous integration a missing library is a failure, not a reason to skip.
pytestmark = pytest.mark.skipif(
    find_spec("distributed") is None and not os.environ.get("EQUIPOISE_CI"),
    reason="distributed is not installed: pip install 'equipoise[cluster]'",
)

SCENARIO = eq.GaussianScenario(noise=[0.5, 1.0, 2.0], dim=4, budget=100, lost=0.05)
POLICIES = ["uniform", "trace-ucb"]


@pytest.fixture
def cluster_of(tmp_path):
    """A cluster of the test's own."""
    with clusters(tmp_path) as make:
        yield make


@pytest.fixture(scope="module")
def one_worker(tmp_path_factory):
    """A cluster of one worker, for tests that leave it as it is."""
    with clusters(tmp_path_factory.mktemp("cluster")) as make:
        yield make(1)


def small_chunks(monkeypatch, trials: int) -> None:
    monkeypatch.setattr(simulate, "_DECISIONS_A_CHUNK", trials * SCENARIO.budget)


def assert_same(one: eq.SimulationResult, other: eq.SimulationResult) -> None:
    for name in POLICIES:
        for field in Ledger._fields:
            np.testing.assert_array_equal(
                getattr(one[name].ledger, field), getattr(other[name].ledger, field), field
            )


def test_a_worker_killed_in_the_middle_changes_nothing(cluster_of, monkeypatch):
    small_chunks(monkeypatch, 500)
    cluster = cluster_of(workers=2)
    expected = eq.simulate(SCENARIO, POLICIES, trials=8_000, seed=5, workers=2)
    unfinished = []

    def kill_one(done: int, total: int) -> None:
        if not unfinished:
            (doomed,) = (at for at, worker in workers().items() if worker["name"] == "worker-0")
            unfinished.extend(executor._client.processing()[doomed])
            end(cluster.workers[0])

    def workers() -> dict:
        return executor._client.scheduler_info()["workers"]

    with cluster_executor(cluster.address, timeout=PATIENCE) as executor:
        executor._client.wait_for_workers(2, timeout=PATIENCE)
        run = {"trials": 8_000, "seed": 5, "executor": executor, "progress": kill_one}
        result = eq.simulate(SCENARIO, POLICIES, **run)
        assert [worker["name"] for worker in workers().values()] == ["worker-1"]
    assert unfinished  # chunks that the other worker had to do again
    assert cluster.workers[0].returncode == -signal.SIGKILL
    assert_same(result, expected)


@pytest.mark.slow
def test_policies_of_a_file_reach_workers_that_have_no_such_file(cluster_of, tmp_path):
    path = tmp_path / "policies_for_workers.py"
    path.write_text(
        "import equipoise as eq\n\n\n"
        "@eq.register('test-cluster-file')\n"
        "def fewest(arm, trial, settings):\n"
        "    return -float(arm.count)\n"
    )
    eq.import_policies(path)
    path.unlink()
    expected = eq.simulate(SCENARIO, ["uniform", "test-cluster-file"], trials=40, seed=5)
    with cluster_executor(cluster_of(workers=1).address, timeout=PATIENCE) as executor:
        result = eq.simulate(SCENARIO, ["test-cluster-file"], trials=40, seed=5, executor=executor)
    for name in ("uniform", "test-cluster-file"):
        assert result["test-cluster-file"].expected_max() == expected[name].expected_max()


@pytest.mark.slow
def test_a_table_is_sent_to_every_worker_once(cluster_of, monkeypatch):
    small_chunks(monkeypatch, 10)
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(40_000, 4))
    settings = {"targets": [2, 3], "budget": 60, "trials": 100, "seed": 5, "saved": False}
    expected = eq.replay(rows, POLICIES, **settings)
    cluster = cluster_of(workers=2)
    shared = []
    with cluster_executor(cluster.address, timeout=PATIENCE) as executor:
        executor._client.wait_for_workers(2, timeout=PATIENCE)
        share = executor.share
        executor.share = lambda arena: shared.append(share(arena)) or shared[-1]
        result = eq.replay(rows, POLICIES, executor=executor, **settings)
        (sent,) = shared
        assert len(executor._client.who_has(sent)[sent.key]) == 2
        assert share("a small thing") == "a small thing"
    assert_same(result, expected)


@pytest.mark.slow
def test_a_clients_own_executor(cluster_of, monkeypatch):
    """``executor=client.get_executor()``, whose futures are those of the standard library."""
    from distributed import Client

    small_chunks(monkeypatch, 100)
    cluster = cluster_of(workers=1)
    expected = eq.simulate(SCENARIO, POLICIES, trials=300, seed=6)
    with Client(cluster.address, timeout=PATIENCE, set_as_default=False) as client:
        executor = client.get_executor()
        assert isinstance(executor.submit(abs, -1), Future)
        assert_same(eq.simulate(SCENARIO, POLICIES, trials=300, seed=6, executor=executor), expected)
        # A second time, on a client that remembers the first.
        assert_same(eq.simulate(SCENARIO, POLICIES, trials=300, seed=6, executor=executor), expected)

        # Stopped in the middle: nothing is left behind on the cluster.
        def stop(done: int, total: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            eq.simulate(SCENARIO, POLICIES, trials=50_000, seed=7, executor=executor, progress=stop)
        deadline = time.monotonic() + PATIENCE
        while any(client.processing().values()):
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_a_policy_of_the_users_own(one_worker):
    """It travels to workers that have never seen it."""

    @eq.register("test-cluster-least-pulled")
    def least_pulled(arm, trial, settings):
        return -arm.count / arm.weight

    policies = ["test-cluster-least-pulled"]
    expected = eq.simulate(SCENARIO, policies, trials=20, seed=1)
    with cluster_executor(one_worker.address, timeout=PATIENCE) as executor:
        result = eq.simulate(SCENARIO, policies, trials=20, seed=1, executor=executor)
    for one, other in zip(result[policies[0]].ledger, expected[policies[0]].ledger, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_command_line_on_a_cluster(one_worker):
    command = [sys.executable, "-m", "equipoise", "simulate", "--noise", "0.5,2", "--dim", "2"]
    command += ["--budget", "40", "--policy", "trace-ucb", "--trials", "60", "--seed", "3", "--json"]
    there, here = (
        json.loads(subprocess.run([*command, *more], capture_output=True, text=True, check=True).stdout)
        for more in (["--cluster", one_worker.address], [])
    )
    for result in (there, here):
        del result["policies"]["trace-ucb"]["decisions_per_second"]
    assert there == here


@pytest.mark.slow
def test_plan_and_reproduce_on_a_cluster(one_worker, tmp_path):
    plan = ["plan", "--noise", "0.5,2", "--dim", "2", "--target", "0.2", "--policy", "trace-ucb"]
    plan += ["--trials", "40", "--seed", "3", "--json"]
    figures = ["reproduce", "b", "rate", "--trials-scale", "0.0002", "--width-trials", "0", "--json"]
    for command in (plan, figures):
        there, here = (
            json.loads(
                subprocess.run(
                    [sys.executable, "-m", "equipoise", *command, *more],
                    capture_output=True,
                    text=True,
                    check=True,
                    cwd=folder,
                ).stdout
            )
            for folder, more in (
                (_made(tmp_path / "there"), ["--cluster", one_worker.address]),
                (_made(tmp_path / "here"), []),
            )
        )
        assert there == here


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def test_a_cluster_that_goes_away(monkeypatch):
    class Client:
        def __init__(self, *arguments, **settings):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *error):
            return False

        def get_executor(self, pure):
            return self

        def shutdown(self, wait):
            assert not wait

    monkeypatch.setattr("distributed.Client", Client)
    monkeypatch.setattr(cluster, "_check_scheduler", lambda address, timeout: None)
    monkeypatch.setattr(cluster, "_check_workers", lambda client, address, timeout: None)
    # This is what waiting futures end with when Dask's client loses its scheduler.
    with pytest.raises(ClusterUnreachable, match="went away"), cluster_executor("tcp://x:1"):
        raise CancelledError


def test_no_workers(cluster_of):
    cluster = cluster_of(workers=0)
    with (
        pytest.raises(ClusterUnreachable, match=f"no workers .*dask worker {cluster.address}"),
        cluster_executor(cluster.address, timeout=2.0),
    ):
        pass


@pytest.mark.parametrize(
    ("there", "message"),
    [
        ({"equipoise": None}, r"worker tcp://\S+ has no equipoise \(install"),
        ({"equipoise": "0.0.1"}, r"has equipoise 0\.0\.1, this machine has"),
        ({"numba": "0.1"}, r"has numba 0\.1, this machine has"),
        ({"Python": "3.1"}, r"has Python 3\.1, this machine has"),
    ],
)
def test_workers_must_have_the_same_versions(there, message):
    versions = cluster._version_reader()()

    class Client:
        def wait_for_workers(self, count, timeout):
            pass

        def run(self, function):
            return {"tcp://127.0.0.1:1": function(), "tcp://127.0.0.1:2": {**function(), **there}}

    assert versions["equipoise"] == eq.__version__
    with pytest.raises(ClusterUnreachable, match=message):
        cluster._check_workers(Client(), "tcp://127.0.0.1:3", 1.0)


def test_versions_are_read_without_equipoise(tmp_path):
    """The function that looks for versions runs where equipoise cannot be imported."""
    import cloudpickle

    (tmp_path / "reader.pickle").write_bytes(cloudpickle.dumps(cluster._version_reader()))
    code = (
        "import sys, pickle, pathlib; sys.modules['equipoise'] = None\n"
        "reader = pickle.loads(pathlib.Path('reader.pickle').read_bytes())\n"
        "print('equipoise' in reader())"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "True"


@pytest.mark.parametrize(
    "address",
    ["tcp://127.0.0.1:1", "tcp://127.0.0.1:99999", "tcp://127.0.0.1:port", "tcp://127.0.0.1", "nowhere", ""],
)
def test_an_unreachable_cluster(address):
    begin = time.monotonic()
    with pytest.raises(ClusterUnreachable, match="dask scheduler"), cluster_executor(address, timeout=1.0):
        pass
    assert time.monotonic() - begin < 15


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n" + b"x" * 64])
def test_something_else_at_the_address(answer):
    with socket.create_server(("127.0.0.1", 0)) as server:
        open_connections = []

        def accept() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                connection.sendall(answer)
                open_connections.append(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        begin = time.monotonic()
        with pytest.raises(ClusterUnreachable), cluster_executor(address, timeout=1.0):
            pass
        assert time.monotonic() - begin < 15
        server.shutdown(socket.SHUT_RDWR)
        thread.join(timeout=PATIENCE)
        for connection in open_connections:
            connection.close()


def test_a_workers_address(one_worker):
    with cluster_executor(one_worker.address, timeout=PATIENCE) as executor:
        (worker,) = executor._client.scheduler_info()["workers"]
    with pytest.raises(ClusterUnreachable, match="a worker, not a scheduler"), cluster_executor(worker):
        pass


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(MissingExtra, match=r"pip install 'equipoise\[cluster\]'"),
        cluster_executor("tcp://127.0.0.1:1"),
    ):
        pass
