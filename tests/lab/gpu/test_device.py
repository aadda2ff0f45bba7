"""A GPU that is interrupted, full, used by threads, or forked away from: only where there is one."""

import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import DeviceUnavailable
from equipoise.lab.gpu import driver

pytestmark = pytest.mark.skipif(driver.devices() == 0, reason="there is no NVIDIA GPU here")

SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=30, estimator="ridge")


def errors(trials=2_000, seed=3, **options):
    return eq.simulate(SCENARIO, ["trace-ucb"], trials=trials, seed=seed, **options)["trace-ucb"].errors


def test_an_interrupted_run_goes_on_from_its_checkpoint(tmp_path):
    trials, seen = 150_000, []

    def interrupt(done, total):
        seen.append(done)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        errors(trials, device="cuda", checkpoint=tmp_path, progress=interrupt)
    assert 0 < seen[0] < trials
    assert any(tmp_path.rglob("*"))
    whole = errors(trials, device="cuda", checkpoint=tmp_path)
    np.testing.assert_array_equal(whole, errors(trials, device="cuda"))
    np.testing.assert_array_equal(whole[:500], errors(500))


def test_a_checkpoint_may_be_continued_on_the_other_device(tmp_path):
    errors(1_000, device="cuda", checkpoint=tmp_path)
    np.testing.assert_array_equal(errors(2_000, device="cpu", checkpoint=tmp_path), errors(2_000))


def test_memory_that_others_have_filled_is_named_and_nothing_is_left_behind():
    before = errors(device="cuda")
    device = driver.open_device()
    hoard = []
    while device.free_bytes() > 2**22:
        hoard.append(device.allocate(max(2**21, device.free_bytes() // 2)))
    with pytest.raises(DeviceUnavailable, match="memory is full") as error:
        errors(200_000, device="cuda")
    assert "nvidia-smi" in error.value.hint
    hoard.clear()
    np.testing.assert_array_equal(errors(device="cuda"), before)


def test_threads_that_share_a_gpu_get_their_own_numbers():
    alone = [errors(seed=seed, device="cuda") for seed in range(6)]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda seed: errors(seed=seed, device="cuda"), range(6)))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


def _in_a_child(queue):
    try:
        queue.put(errors(device="cuda").sum())
    except DeviceUnavailable as error:
        queue.put(str(error))


def test_a_forked_process_is_told_why_it_gets_none():
    errors(device="cuda")
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_a_child, args=(queue,))
    child.start()
    assert "forked" in queue.get(timeout=60)
    child.join(30)
    assert child.exitcode == 0


def test_auto_sends_the_rest_to_the_processor():
    scenario = SCENARIO.replace(dim=4, budget=60)
    policies = ["trace-ucb", "static-lasso"]
    here, mixed = (eq.simulate(scenario, policies, trials=20, device=device) for device in ("cpu", "auto"))
    for policy in policies:
        np.testing.assert_array_equal(here[policy].errors, mixed[policy].errors)
