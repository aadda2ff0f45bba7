"""What is done when NVIDIA's driver fails, with a stand-in for it: see ``emulation/failing.py``."""

import gc
import os
import threading

import numpy as np
import pytest
from emulation.failing import Status, failing_driver
from full_disk import full_disk

import equipoise as eq
from equipoise.core.jit import storage
from equipoise.errors import DeviceUnavailable
from equipoise.lab.gpu import bench, driver, kept
from equipoise.lab.gpu.driver import CodeRefused, open_device
from equipoise.lab.gpu.offers import split
from equipoise.lab.running import simulate as running

SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=30, estimator="ridge")
FULL, BROKEN = Status.CUDA_ERROR_OUT_OF_MEMORY, Status.CUDA_ERROR_ILLEGAL_ADDRESS
KEPT_FOR_REAL = storage.read, storage.write
REFUSED, FINE = Status.CUDA_ERROR_INVALID_IMAGE, Status.CUDA_SUCCESS


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr(bench.Seat, "ptx", lambda seat, what: "no program")
    monkeypatch.setattr(bench, "to_ptx", lambda *arguments, **options: "no program")
    kept = {}
    monkeypatch.setattr(storage, "read", kept.get)
    monkeypatch.setattr(storage, "write", kept.__setitem__)
    with failing_driver() as stand_in:
        stand_in.kept = kept
        yield stand_in


def simulate():
    return running._run_chunk_there(SCENARIO, [eq.TraceUCB()], 0, 0, 5)


def test_nothing_is_kept_of_the_gpu_when_trials_are_over(fake):
    simulate()
    assert fake.calls.count("cuLaunchKernel") == 5  # draws, opened, trials, elasticities, judged
    assert not fake.lent
    assert not fake.events
    assert not fake.links


@pytest.mark.parametrize("place", [0, 3, 9, 20, 40])
def test_memory_that_is_full_in_between_is_given_back_while_somebody_holds_the_error(fake, place):
    fake.failing["cuMemAlloc"] = [FINE] * place + [FULL]
    with pytest.raises(DeviceUnavailable, match="memory is full") as error:
        simulate()
    assert fake.calls.count("cuMemAlloc") == place + 1
    assert not fake.lent
    del error
    simulate()


@pytest.mark.parametrize("name", ["cuLaunchKernel", "cuEventSynchronize", "cuEventCreate", "cuMemcpyDtoH"])
def test_a_failure_that_passes_leaves_nothing_behind(fake, name):
    fake.failing[name] = [FINE, Status.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES]
    with pytest.raises(DeviceUnavailable, match=f"{name} says CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"):
        simulate()
    assert not fake.events
    assert not fake.lent
    simulate()


@pytest.mark.parametrize("name", ["cuLaunchKernel", "cuEventSynchronize", "cuMemcpyDtoH"])
def test_a_gpu_that_stays_broken_is_named_with_what_to_do(fake, name):
    fake.failing[name] = [BROKEN]
    # What is tidied up afterwards fails in the same way, and does not speak over the first.
    with pytest.raises(DeviceUnavailable, match=f"{name} says CUDA_ERROR_ILLEGAL_ADDRESS") as error:
        simulate()
    assert "start it again" in error.value.hint
    with pytest.raises(DeviceUnavailable, match="ILLEGAL_ADDRESS") as error:
        simulate()
    assert "start it again" in error.value.hint


def test_a_broken_assembler_is_what_is_named(fake):
    fake.failing["cuLinkAddData"] = [BROKEN]
    with pytest.raises(DeviceUnavailable, match="cuLinkAddData"):
        simulate()


def test_machine_code_that_is_refused_is_made_anew_once(fake):
    simulate()
    assembled = fake.calls.count("cuLinkComplete")
    for name in fake.kept:
        fake.kept[name] = b"another driver's"
    kept.PROGRAMS.clear()
    fake.failing["cuModuleLoadData"] = [REFUSED, FINE] * assembled
    simulate()
    assert fake.calls.count("cuLinkComplete") == 2 * assembled
    assert set(fake.kept.values()) == {b"machine code"}
    kept.PROGRAMS.clear()
    simulate()
    assert fake.calls.count("cuLinkComplete") == 2 * assembled


def test_code_without_the_program_is_refused_and_unloaded(fake):
    simulate()
    kept.PROGRAMS.clear()
    before = len(fake.modules)
    fake.failing["cuModuleGetFunction"] = [REFUSED]
    simulate()
    assert len(fake.modules) == before + 5


def test_machine_code_that_is_refused_twice_is_an_error(fake):
    fake.failing["cuModuleLoadData"] = [REFUSED]
    with pytest.raises(CodeRefused, match="cuModuleLoadData"):
        simulate()


def test_nothing_is_compiled_anew_because_memory_is_full(fake):
    simulate()
    kept.PROGRAMS.clear()
    assembled = fake.calls.count("cuLinkComplete")
    fake.failing["cuModuleLoadData"] = [FULL]
    with pytest.raises(DeviceUnavailable, match="memory is full"):
        simulate()
    assert fake.calls.count("cuLinkComplete") == assembled


def test_memory_is_given_back_by_threads_that_never_used_the_gpu(fake):
    kept = [open_device().upload(np.ones(9))]
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
    assert not fake.lent
    assert fake.stack == [open_device()._context]


def test_a_thread_keeps_the_context_that_it_has(fake):
    buffer = open_device().upload(np.ones(9))
    fake.stack[:] = ["another library's"]
    del buffer
    gc.collect()
    assert not fake.lent
    assert fake.stack == ["another library's"]


@pytest.mark.parametrize("name", ["cuCtxPushCurrent", "cuMemFree"])
@pytest.mark.parametrize("how", [Status.CUDA_ERROR_DEINITIALIZED, RuntimeError("the driver is gone")])
def test_memory_that_cannot_be_given_back_is_nobodys_worry(fake, name, how, capfd):
    buffer = open_device().upload(np.ones(9))
    before = list(fake.stack)
    fake.failing[name] = [how]
    buffer.free()
    buffer.free()
    assert fake.stack == before
    assert capfd.readouterr() == ("", "")


def test_where_a_gpu_cannot_be_used_auto_takes_the_processor(fake, monkeypatch):
    policies = {"uniform": eq.parse_policy("uniform")}
    assert split(SCENARIO, policies, "auto", elsewhere=False) == {"uniform"}
    with monkeypatch.context() as patch:
        patch.setattr(driver, "_process", lambda: os.getppid())  # whoever was forked from it
        assert split(SCENARIO, policies, "auto", elsewhere=False) == set()
        with pytest.raises(DeviceUnavailable, match="forked"):
            split(SCENARIO, policies, "cuda", elsewhere=False)
    fake.broken = BROKEN
    assert split(SCENARIO, policies, "auto", elsewhere=False) == set()
    with pytest.raises(DeviceUnavailable, match="ILLEGAL_ADDRESS") as error:
        eq.simulate(SCENARIO, ["uniform"], trials=2, device="cuda")
    assert "start it again" in error.value.hint
    here, auto = (eq.simulate(SCENARIO, ["uniform"], trials=2, device=device) for device in ("cpu", "auto"))
    np.testing.assert_array_equal(here["uniform"].errors, auto["uniform"].errors)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Where machine code is kept."""
    monkeypatch.setattr(storage, "_folders", lambda: [tmp_path / "kernels"])
    storage.writable_folder.cache_clear()
    yield tmp_path / "kernels"
    storage.writable_folder.cache_clear()


def test_trials_run_where_the_disk_is_full(folder, fake, monkeypatch):
    monkeypatch.setattr(storage, "read", KEPT_FOR_REAL[0])
    monkeypatch.setattr(storage, "write", KEPT_FOR_REAL[1])
    with full_disk():
        simulate()
    assert list(folder.iterdir()) == []
    kept.PROGRAMS.clear()
    simulate()
    assert len(list(folder.iterdir())) == 5
    assembled = fake.calls.count("cuLinkComplete")
    assert assembled == 10
    kept.PROGRAMS.clear()
    simulate()
    assert fake.calls.count("cuLinkComplete") == assembled


def test_trials_run_where_nothing_can_be_kept(folder, fake, monkeypatch):
    monkeypatch.setattr(storage, "read", KEPT_FOR_REAL[0])
    monkeypatch.setattr(storage, "write", KEPT_FOR_REAL[1])
    folder.touch()  # a file: not even an administrator can write there
    simulate()
    assert storage.writable_folder() is None
    folder.unlink()
    storage.writable_folder.cache_clear()
    assert storage.writable_folder() == folder
    folder.rmdir()  # somebody tidies up meanwhile
    kept.PROGRAMS.clear()
    simulate()


def test_a_forked_process_leaves_memory_to_its_parent(fake):
    buffer = open_device().upload(np.ones(9))
    child = os.fork()
    if child == 0:
        try:
            del buffer
        finally:
            os._exit("cuMemFree" in fake.calls)
    assert os.waitpid(child, 0)[1] == 0
    assert fake.lent
