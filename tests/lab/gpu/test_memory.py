"""How much memory trials take on a GPU, an emulated one, and beside it: the same numbers in any blocks."""

import numpy as np
import pytest
from emulation.device import EmulatedBuffer, EmulatedDevice, emulated_gpu
from emulation.programs import why_not

import equipoise as eq
from equipoise.lab.gpu import bench
from equipoise.lab.trial.world import Draws

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

SCENARIO = eq.GaussianScenario(noise=[0.3, 0.7, 2.0], dim=3, budget=40, estimator="ridge")
DRAWN_HERE = SCENARIO.replace(contexts=eq.StudentContexts(), noise_shape=eq.SkewedNoise())
POLICIES = ["uniform", "trace-ucb"]


def ledgers(scenario, trials, **options):
    found = eq.simulate(scenario, POLICIES, trials=trials, seed=7, **options)
    return [found[policy].ledger for policy in POLICIES]


def assert_same(ones, others):
    for one, other in zip(ones, others, strict=True):
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_array_equal(mine, theirs)


@pytest.fixture
def blocks(monkeypatch):
    """How many trials were drawn at once by the processor."""
    seen, draw = [], Draws.draw

    def watched(draws, first, count):
        seen.append((draws.block, count))
        draw(draws, first, count)

    monkeypatch.setattr(Draws, "draw", watched)
    return seen


def test_what_the_processor_draws_is_bounded(monkeypatch, blocks):
    here = ledgers(DRAWN_HERE, 50)
    each = sum(getattr(Draws(DRAWN_HERE, 0, block=1).world, name).nbytes for name in bench._DRAWN)
    monkeypatch.setattr(bench, "_HOST_BYTES", 20 * each + each // 2)
    blocks.clear()
    with emulated_gpu():
        assert_same(here, ledgers(DRAWN_HERE, 50, device="cuda"))
    assert blocks == [(20, 20), (20, 20), (20, 10)]


def test_one_trial_at_a_time_where_nothing_more_fits(monkeypatch, blocks):
    here = ledgers(DRAWN_HERE, 3)
    monkeypatch.setattr(bench, "_HOST_BYTES", 1)
    blocks.clear()
    with emulated_gpu():
        assert_same(here, ledgers(DRAWN_HERE, 3, device="cuda"))
    assert blocks == [(1, 1)] * 3


def test_what_the_gpu_draws_takes_no_memory_here(monkeypatch, blocks):
    monkeypatch.setattr(bench, "_HOST_BYTES", 1)
    with emulated_gpu():
        ledgers(SCENARIO, 3, device="cuda")
    assert blocks == []


class Account:
    """Memory that an emulated GPU has lent, and the most of it at once."""

    def __init__(self, monkeypatch, free_bytes):
        self.lent = self.most = 0
        monkeypatch.setattr(EmulatedDevice, "allocate", self.allocate)
        monkeypatch.setattr(EmulatedDevice, "free_bytes", lambda device: free_bytes)

    def allocate(self, size):
        account, buffer = self, EmulatedBuffer(size)
        account.lent += buffer.size
        account.most = max(account.most, account.lent)
        give_back = buffer.free

        def free():
            account.lent -= buffer.size
            give_back()

        buffer.free = free
        return buffer


@pytest.mark.parametrize("scenario", [SCENARIO, DRAWN_HERE])
def test_blocks_take_what_was_planned_and_the_last_one_nothing_more(monkeypatch, scenario):
    here, most = [ledgers(scenario, trials) for trials in (20, 24)], {}
    with emulated_gpu():
        seats = bench.GpuBench(scenario, [eq.parse_policy(policy) for policy in POLICIES], 7)._seats
        world = Draws(scenario, 0, block=1).world
        each = sum(getattr(world, name).nbytes for name in bench._DRAWN)
        each += sum(seat.bytes_a_trial for seat in seats)
        for block in (10, 20):
            for expected in here:
                account, trials = Account(monkeypatch, (2 * block + 1) * each), len(expected[0].errors)
                assert_same(expected, ledgers(scenario, trials, device="cuda"))
                assert account.lent == 0
                most[block, trials] = account.most
    # What all trials have in common is in both.
    assert 0.95 * each < (most[20, 20] - most[10, 20]) / 10 <= each
    assert most[10, 24] == most[10, 20]
    assert most[20, 24] == most[20, 20]


@pytest.mark.parametrize("trials", [1, 7, 63, 64, 65])
def test_any_number_of_trials(trials):
    here = ledgers(SCENARIO, trials)
    with emulated_gpu():
        assert_same(here, ledgers(SCENARIO, trials, device="cuda"))
