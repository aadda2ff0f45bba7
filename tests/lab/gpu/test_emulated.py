"""Programs of a GPU give the processor's bits, on a GPU that is emulated: see ``tests/helpers/emulation``.

What is emulated is what threads do, in the order in which they do it; not how a GPU rounds, which
``programs/test_trials.py`` looks for in the assembly language, and ``benchmarks/gpu/same_bits.py`` on a GPU.
"""

import importlib.util
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from emulation.assembly import parse
from emulation.device import emulated_gpu
from emulation.programs import EmulatedProgram, why_not
from llvmlite import ir

import equipoise as eq
from equipoise.core.jit.nvptx import new_draft, to_ptx
from equipoise.lab.gpu.layout import Layout
from equipoise.lab.gpu.teams.lanes import WARP, Team, number_of, wait
from equipoise.lab.running import simulate

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

SCENARIO = eq.GaussianScenario(noise=[0.3, 0.7, 2.0], dim=3, budget=40, estimator="ridge")
LATE = {"delay": eq.Delay(mean=5), "lost": 0.1, "moment": "learned"}


def ledger(scenario, policy, trials=6, **options):
    return eq.simulate(scenario, [policy], trials=trials, seed=7, **options)[policy].ledger


def assert_same(scenario, policy, lots=(1, 2), **options):
    here = ledger(scenario, policy)
    for lot in lots:
        with emulated_gpu(lot=lot, **options):
            there = ledger(scenario, policy, device="cuda")
        for one, other in zip(here, there, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("policy", "changes"),
    [
        ("trace-ucb", {}),
        ("trace-gain", {"estimator": "pooled"}),
        ("trace-gain:chance=0.3", LATE),
        ("wei-urn", {"costs": (1.0, 2.0, 1.0), "floors": (5, 5, 5)}),
        ("trace-ucb", {"budget": 12}),  # a start and nothing else
        # Starts that leave some arms without an invertible S; trials of a warp part.
        ("trace-ucb", {"contexts": eq.BinaryContexts()}),
        ("trace-ucb", {"dim": 15, "budget": 60}),  # eight threads a trial
        ("trace-ucb", {"noise": [0.3, 0.7, 2.0] * 6, "budget": 110}),  # judged eight arms at a time
        pytest.param("trace-ucb", {"dim": 41, "budget": 140}, marks=pytest.mark.slow),  # and one by one
        pytest.param("trace-gain", {"dim": 30, "budget": 110}, marks=pytest.mark.slow),  # a warp
    ],
)
def test_the_same_bits(policy, changes):
    assert_same(SCENARIO.replace(**changes), policy)


def test_the_same_bits_where_nothing_lies_near():
    assert_same(SCENARIO, "trace-ucb", shared_bytes=2_000)


def test_another_order_of_sums_is_noticed(monkeypatch):
    one, two = ir.IntType(32)(1), ir.IntType(32)(2)

    def in_another_order(team, builder, number):
        pair = builder.fadd(number, team._exchanged(builder, number, "bfly", two, WARP))
        return builder.fadd(pair, team._exchanged(builder, pair, "bfly", one, WARP))

    monkeypatch.setattr(Team, "total", in_another_order)
    monkeypatch.setattr("equipoise.core.jit.storage.read", lambda name: None)
    monkeypatch.setattr("equipoise.core.jit.storage.write", lambda name, code: None)
    here = ledger(SCENARIO, "trace-ucb", trials=40)
    with emulated_gpu():
        there = ledger(SCENARIO, "trace-ucb", trials=40, device="cuda")
    assert not np.array_equal(here.errors, there.errors)


def test_threads_that_wait_for_others_that_have_ended_are_named():
    thread = number_of("tid")

    def some_wait(first, count, free):
        if thread() > 0:
            wait()

    program = EmulatedProgram(to_ptx(new_draft(some_wait, 3), Layout({}, {}, Team(4)), "sm_90"))
    with pytest.raises(AssertionError, match="never come"):
        program.launch(np.zeros(8, np.int64), 1, 32, 0, (0, 0, 0))


def test_what_warps_do_is_counted():
    thread = number_of("tid")

    def some_wait(first, count, free):
        if thread() >= 60:
            wait()

    program = EmulatedProgram(to_ptx(new_draft(some_wait, 3), Layout({}, {}, Team(4)), "sm_90"), counted=True)
    waits = [
        "bar.warp.sync" in (each.opcode for each in block.instructions)
        for function in parse(program.ptx).functions.values()
        for block in function.blocks
    ]
    for launches in (1, 2):
        program.launch(np.zeros(8, np.int64), 3, 64, 0, (0, 0, 0))
        counts = program.counts()
        assert counts.times[waits].tolist() == [3 * launches]  # one of two warps in each of three blocks
        assert counts.threads[waits].tolist() == [12 * launches]
    assert counts.times[0] == 12
    assert counts.sectors == counts.near_accesses == 0


def test_chunks_threads_and_checkpoints(monkeypatch, tmp_path):
    monkeypatch.setattr(simulate, "_TRIALS_ON_GPU", 8)
    here = ledger(SCENARIO, "trace-ucb", trials=24).errors
    with emulated_gpu():
        with ThreadPoolExecutor(3) as pool:
            for there in pool.map(lambda _: ledger(SCENARIO, "trace-ucb", 24, device="cuda"), range(3)):
                np.testing.assert_array_equal(there.errors, here)

        def interrupt(done, total):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ledger(SCENARIO, "trace-ucb", 16, device="cuda", checkpoint=tmp_path, progress=interrupt)
        assert any(tmp_path.rglob("*"))
        half = ledger(SCENARIO, "trace-ucb", 16, device="cuda", checkpoint=tmp_path)
        np.testing.assert_array_equal(half.errors, here[:16])
    whole = ledger(SCENARIO, "trace-ucb", 24, device="cpu", checkpoint=tmp_path)
    np.testing.assert_array_equal(whole.errors, here)


def test_auto_sends_the_rest_to_the_processor():
    policies = ["trace-ucb", "static-lasso"]
    here = eq.simulate(SCENARIO, policies, trials=6, device="cpu")
    with emulated_gpu():
        mixed = eq.simulate(SCENARIO, policies, trials=6, device="auto")
    for policy in policies:
        np.testing.assert_array_equal(here[policy].errors, mixed[policy].errors)


def benchmark():
    path = Path(__file__).parents[3] / "benchmarks" / "gpu" / "same_bits.py"
    spec = importlib.util.spec_from_file_location("same_bits", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["same_bits"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_all_that_a_gpu_is_tried_with():
    same_bits = benchmark()
    with emulated_gpu(lot=3):
        for case in same_bits.cases():
            trials = 1 if case.scene == "very many arms" else 10
            assert same_bits.compare(case, trials)[-1] == "0", case
