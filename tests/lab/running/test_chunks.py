"""Chunks of a checkpoint say what they belong to, and are taken for nothing else."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import CheckpointMismatch
from equipoise.lab.running import checkpoint as files
from equipoise.lab.running import simulate as module

SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0], dim=3, budget=50)
POLICIES = ["uniform", "trace-ucb"]
RUN = {"trials": 40, "seed": 3}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(module, "_DECISIONS_A_CHUNK", 10 * SCENARIO.budget)  # four chunks a policy


@pytest.fixture
def ran(monkeypatch):
    """Chunks that were run, not read."""
    chunks, original = [], module.run_chunk

    def run_chunk(*arguments):
        chunks.append(arguments[3])
        return original(*arguments)

    monkeypatch.setattr(module, "run_chunk", run_chunk)
    return chunks


def simulate(folder, scenario=SCENARIO, policies=POLICIES, **changes):
    return eq.simulate(scenario, policies, **{**RUN, **changes}, checkpoint=folder)


def assert_same(result, expected):
    for name, policy in expected.policies.items():
        np.testing.assert_array_equal(result[name].errors, policy.errors)
        np.testing.assert_array_equal(result[name].ledger.counts, policy.ledger.counts)


def chunk(folder, policy, first):
    (path,) = folder.glob(f"{policy}-{'[0-9a-f]' * 16}-{first}-{first + 5}.npz")
    return path


FOREIGN = {
    "another policy": ({}, "uniform"),
    "another argument": ({"policies": ["uniform", "trace-ucb:width=2"]}, "trace-ucb_width_2"),
    "another seed": ({"seed": 4}, "trace-ucb"),
    "another scenario": ({"scenario": SCENARIO.replace(noise=(0.5, 2.5))}, "trace-ucb"),
}


@pytest.mark.parametrize("change", FOREIGN)
def test_chunks_from_another_folder_run_again(change, tmp_path, ran):
    expected = simulate(tmp_path / "here")
    options, policy = FOREIGN[change]
    simulate(tmp_path / "there", **options)
    ran.clear()
    shutil.copy(chunk(tmp_path / "there", policy, 20), chunk(tmp_path / "here", "trace-ucb", 20))
    assert_same(simulate(tmp_path / "here"), expected)
    assert ran == [20]
    assert_same(simulate(tmp_path / "here"), expected)
    assert ran == [20]  # and it is there again


@pytest.mark.parametrize(
    ("source", "target"),
    [(("uniform", 10), ("trace-ucb", 10)), (("trace-ucb", 10), ("trace-ucb", 30))],
    ids=["policy", "first trial"],
)
def test_chunks_under_another_name_run_again(source, target, tmp_path, ran):
    expected = simulate(tmp_path)
    ran.clear()
    shutil.copy(chunk(tmp_path, *source), chunk(tmp_path, *target))
    assert_same(simulate(tmp_path), expected)
    assert ran == [target[1]]


@pytest.mark.parametrize(("name", "value"), [("__version__", "99.0"), ("NUMERICS", 99)])
def test_chunks_of_other_bits_run_again(name, value, tmp_path, ran, monkeypatch):
    expected = simulate(tmp_path / "here")
    with monkeypatch.context() as patch:
        patch.setattr(files, name, value)
        simulate(tmp_path / "there")
        word = {"__version__": "another version", "NUMERICS": "other numerics"}[name]
        with pytest.raises(CheckpointMismatch, match=word):
            simulate(tmp_path / "here")
    ran.clear()
    shutil.copy(chunk(tmp_path / "there", "uniform", 0), chunk(tmp_path / "here", "uniform", 0))
    assert_same(simulate(tmp_path / "here"), expected)
    assert ran == [0]


def test_chunks_that_do_not_say_what_they_are_run_again(tmp_path, ran):
    expected = simulate(tmp_path)
    ran.clear()
    path = chunk(tmp_path, "uniform", 10)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files if name != "belongs"}
    np.savez(path, **arrays)
    assert_same(simulate(tmp_path), expected)
    assert ran == [10]


@pytest.mark.parametrize("damage", [lambda a: a[:, :1], lambda a: a.astype(np.float32), lambda a: a[:-1]])
def test_chunks_of_another_shape_or_type_run_again(damage, tmp_path, ran):
    expected = simulate(tmp_path)
    ran.clear()
    path = chunk(tmp_path, "trace-ucb", 10)
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    np.savez(path, **{**arrays, "errors": damage(arrays["errors"])})
    assert_same(simulate(tmp_path), expected)
    assert ran == [10]


def test_a_chunk_says_what_it_is(tmp_path):
    simulate(tmp_path)
    with np.load(chunk(tmp_path, "trace-ucb", 20)) as archive:
        belongs = json.loads(str(archive["belongs"]))
    fingerprint = files.Codes().fingerprint("trace-ucb")
    assert belongs.pop("scenario")
    assert belongs == {
        "version": eq.__version__,
        "numerics": files.NUMERICS,
        "seed": 3,
        "policy": "trace-ucb",
        "code": fingerprint,
        "first": 20,
        "last": 25,
    }


# Code that changed

FACTOR = 1.0


@eq.register("test-chunks-own")
def own(arm, trial, settings):
    return FACTOR * arm.trace


@eq.register("test-chunks-base")
class Based(eq.TraceUCB):
    """Its score is its parent's."""


def test_a_constant_that_changed_runs_again_and_changes_results(tmp_path, monkeypatch, ran):
    policy = ["test-chunks-own"]
    first = simulate(tmp_path, policies=policy)
    monkeypatch.setitem(globals(), "FACTOR", -1.0)
    ran.clear()
    second = simulate(tmp_path, policies=policy)
    assert ran
    assert np.any(first[policy[0]].ledger.counts != second[policy[0]].ledger.counts)
    monkeypatch.setitem(globals(), "FACTOR", 1.0)
    ran.clear()
    assert_same(simulate(tmp_path, policies=policy), first)
    assert ran == []


def test_a_base_class_that_changed_runs_again(tmp_path, monkeypatch, ran):
    simulate(tmp_path, policies=["test-chunks-base"])
    settings = eq.TraceUCB.settings
    monkeypatch.setattr(eq.TraceUCB, "settings", lambda self, problem: 2.0 * settings(self, problem))
    ran.clear()
    simulate(tmp_path, policies=["test-chunks-base"])
    assert ran
