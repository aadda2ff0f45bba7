"""Snapshots make opening fast and are never the truth."""

import numpy as np
import pytest

import equipoise as eq
from equipoise.core.policies.base.policy import known_policies, restore_policies
from equipoise.errors import PolicyNotAtHand
from equipoise.live.experiment.state import snapshots


@pytest.fixture
def often(monkeypatch):
    """A snapshot every sixteen rows."""
    monkeypatch.setattr(snapshots, "spacing", lambda sequence: 16)
    monkeypatch.setattr(snapshots, "_PATIENCE", 0.0)


def work(live, first, count):
    rng = np.random.default_rng(first)
    for i in range(first, first + count):
        live.ask(rng.normal(size=2), unit=f"u{i}")
        live.tell(f"u{i}", float(rng.normal()))


def bits(experiment):
    return {key: array.tobytes() for key, array in experiment.in_memory().snapshot().items()}


def test_opening_folds_only_what_came_after(store, name, problem, often):
    live = eq.create_experiment(store=store, name=name, problem=problem, seed=3)
    work(live, 0, 10)
    snapshot = store.load_snapshot(name)
    assert snapshot.sequence == 16
    fold, began = snapshots.load_fold(store, name)
    assert (began, fold.sequence) == (16, 21)
    again = eq.load_experiment(store=store, name=name)
    assert bits(again) == bits(live)
    assert again.units().records() == live.units().records()
    assert again["u2"] == live["u2"]
    assert again.ask([9.0, 1.0], unit="n") == live.ask([9.0, 1.0], unit="n")


def test_compiled_code_takes_it_for_the_same_types(memory, problem, often):
    """Arrays that may not be written to, or are not aligned, would have everything compiled anew."""
    from numba import typeof

    live = eq.create_experiment(store=memory, name="trial", problem=problem, seed=3)
    work(live, 0, 10)
    fold, began = snapshots.load_fold(memory, "trial")
    assert began
    mine, theirs = (one._current().state for one in (fold.experiment, live._ledger.state.experiment))
    assert [typeof(array) for array in mine] == [typeof(array) for array in theirs]


def test_it_keeps_what_the_experiment_does_not_know(memory, problem, often):
    from datetime import timedelta

    live = eq.create_experiment(
        store=memory, name="trial", problem=problem, mode="practice", deadline=timedelta(days=3)
    )
    work(live, 0, 10)
    live.pause()
    again = eq.load_experiment(store=memory, name="trial")
    assert again.mode == "practice"
    assert again.overdue().metadata["deadline_seconds"] == 3 * 86400
    assert again.paused


@pytest.mark.parametrize("fault", ["label", "blob", "truncated", "hash", "sequence", "name"])
def test_one_that_does_not_fit_is_not_used(memory, problem, often, fault):
    live = eq.create_experiment(store=memory, name="trial", problem=problem, seed=3)
    work(live, 0, 10)
    good = memory.load_snapshot("trial")
    blob, label, link, sequence = good.blob, good.label, good.hash, good.sequence
    if fault == "label":
        label = "1 0.0.1 4"
    elif fault == "blob":
        middle = len(blob) // 2
        blob = blob[:middle] + bytes([blob[middle] ^ 1]) + blob[middle + 1 :]
    elif fault == "truncated":
        blob = blob[: len(blob) // 2]
    elif fault == "hash":
        link = bytes(32)
    elif fault == "sequence":
        sequence += 1
    else:
        arrays, meta = snapshots.unpack(blob)
        blob = snapshots.pack(arrays, {**meta, "name": "other"})
    memory.drop_snapshots("trial")
    memory.save_snapshot("trial", sequence, link, label, blob)
    fold, began = snapshots.load_fold(memory, "trial")
    assert began == 0
    assert bits(fold.experiment) == bits(live.in_memory())


def test_a_store_that_cannot_keep_one_does_not_matter(memory, problem, often, monkeypatch):
    from equipoise.errors import StoreFull

    live = eq.create_experiment(store=memory, name="trial", problem=problem, seed=3)

    def full(*arguments):
        raise StoreFull("no space")

    monkeypatch.setattr(memory, "save_snapshot", full)
    work(live, 0, 10)
    assert live.asked == 10


def test_when_they_are_taken():
    assert snapshots.spacing(1) == snapshots.spacing(8000) == 1024
    assert snapshots.spacing(10**6) == 8192
    assert snapshots.is_crossed(1024, 1024)
    assert snapshots.is_crossed(1000, 1100)
    assert not snapshots.is_crossed(1025, 2047)


def test_whoever_closes_last_leaves_one(file_url, problem, monkeypatch):
    live = eq.create_experiment(store=file_url, name="trial", problem=problem, seed=3)
    work(live, 0, 10)
    monkeypatch.setattr(snapshots, "spacing", lambda sequence: 8)
    live.close()
    with eq.open_store(file_url) as store:
        assert store.load_snapshot("trial").sequence == 21


def test_whoever_has_folded_a_long_tail_leaves_one(memory, problem, monkeypatch):
    live = eq.create_experiment(store=memory, name="trial", problem=problem, seed=3)
    work(live, 0, 10)
    assert memory.load_snapshot("trial") is None
    monkeypatch.setattr(snapshots, "spacing", lambda sequence: 8)
    eq.load_experiment(store=memory, name="trial")
    assert memory.load_snapshot("trial").sequence == 21


def test_who_has_not_the_policy_does_not_keep_others_from_it(store, name, problem, often):
    known = known_policies()
    try:

        @eq.register("test-snapshots")
        def least(arm, trial, settings):
            return -arm.count

        live = eq.create_experiment(store=store, name=name, problem=problem, policy="test-snapshots")
        work(live, 0, 10)
        mine, at_hand = store.load_snapshot(name), known_policies()
        restore_policies(known)
        without = eq.load_experiment(store=store, name=name)
        for unit in range(10):
            without.lose(without.ask([1.0, unit], arm="a", reason="because").id, reason="because")
        with pytest.raises(PolicyNotAtHand):
            without.ask([1.0, 2.0])
        assert store.load_snapshot(name) == mine
        # Nor does one that was saved without the policy.
        arrays, meta, link = snapshots.copied(without._ledger.state)
        store.save_snapshot(name, meta["sequence"], link, snapshots.LABEL, snapshots.pack(arrays, meta))
        restore_policies(at_hand)
        again = eq.load_experiment(store=store, name=name)
        assert again.ask([5.0, 1.0], unit="n") == live.ask([5.0, 1.0], unit="n")
        assert again.verify().units == 21
    finally:
        restore_policies(known)


@pytest.mark.parametrize("end", ["closed", "saved"])
def test_none_is_left_of_a_state_that_an_interrupt_has_torn(memory, problem, monkeypatch, end):
    """A unit that is in the state and in no row: the row that the state says it has come to is there."""
    live = eq.create_experiment(store=memory, name="trial", problem=problem, seed=3)
    work(live, 0, 10)
    monkeypatch.setattr(snapshots, "spacing", lambda sequence: 8)

    def torn(turn):
        turn.experiment.ask([1.0, 2.0], unit="nowhere")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        live._do(torn)
    live.close() if end == "closed" else live._save_snapshot()
    again = eq.load_experiment(store=memory, name="trial")
    assert again.asked == 10
    assert again.verify().units == 10
    assert again.ask([1.0, 2.0], unit="new").id == 11
