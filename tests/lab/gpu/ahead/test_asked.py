"""Which programs runs ask for ahead: none for trials that are kept."""

import numpy as np
import pytest
from emulation.device import emulated_gpu
from emulation.programs import why_not

import equipoise as eq
from equipoise.lab.gpu.ahead import rounds
from equipoise.lab.gpu.ahead.tasks import tasks_of

pytestmark = pytest.mark.skipif(why_not() is not None, reason=str(why_not()))

SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=30, estimator="ridge")
POLICIES = ["uniform", "trace-ucb"]


@pytest.fixture
def asked(monkeypatch):
    """Policies whose programs were asked for."""
    seen = []

    def watched(arena, policies, device):
        seen.extend((arena.dim, policy.spec) for policy in policies)
        return tasks_of(arena, policies, device)

    monkeypatch.setattr(rounds, "tasks_of", watched)
    with emulated_gpu():
        yield seen


def run(trials, folder, policies=POLICIES, device="cuda"):
    return eq.simulate(SCENARIO, policies, trials=trials, device=device, checkpoint=folder)


def test_a_finished_run_asks_for_no_program(asked, tmp_path):
    here = run(6, tmp_path, device="cpu")
    there = run(6, tmp_path)
    assert asked == []
    for policy in POLICIES:
        np.testing.assert_array_equal(here[policy].errors, there[policy].errors)


def test_only_policies_that_lack_trials_are_asked_for(asked, tmp_path):
    run(6, tmp_path, ["uniform"], device="cpu")
    run(6, tmp_path)
    assert asked == [(2, "trace-ucb")]
    asked.clear()
    run(8, tmp_path)
    assert asked == [(2, "uniform"), (2, "trace-ucb")]


def test_trials_that_are_damaged_run_again(asked, tmp_path):
    here = run(6, tmp_path, ["uniform"], device="cpu")["uniform"].errors
    (file,) = tmp_path.glob("*.npz")
    file.write_bytes(file.read_bytes()[:100])
    np.testing.assert_array_equal(run(6, tmp_path, ["uniform"])["uniform"].errors, here)


def test_trials_between_which_some_are_missing_are_not_all_there(asked, tmp_path):
    from equipoise.lab.running.checkpoint import Part, open_checkpoint
    from equipoise.lab.trial.ledger import new_ledger

    store = open_checkpoint(tmp_path, SCENARIO, {"uniform": eq.parse_policy("uniform")}, 0)
    for first, count in ((0, 4), (6, 4), (2, 2)):
        store.write({0: Part(first, new_ledger(count, 2), 0.0)})
    assert [store.has(0, trials) for trials in (1, 4, 5, 10)] == [True, True, False, False]
    store.write({0: Part(3, new_ledger(3, 2), 0.0)})
    assert [store.has(0, trials) for trials in (10, 11)] == [True, False]


def test_a_finished_sweep_asks_for_no_program(asked, tmp_path):
    points = {"dim": [2, 3], "policies": POLICIES, "checkpoint": tmp_path}
    eq.sweep(SCENARIO, trials=6, **points)
    before = sorted(tmp_path.iterdir())
    eq.sweep(SCENARIO, trials=6, device="cuda", **points)
    assert asked == []
    assert sorted(tmp_path.iterdir()) == before
    eq.sweep(SCENARIO, trials=6, device="cuda", **{**points, "dim": [2, 3, 4]})
    assert set(asked) == {(4, policy) for policy in POLICIES}


def test_without_a_folder_all_is_asked_for(asked):
    eq.sweep(SCENARIO, dim=[2], policies=["uniform"], trials=2, device="cuda")
    assert set(asked) == {(2, "uniform")}
