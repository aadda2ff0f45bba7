"""Events: plain data that fold to the same experiment, and tell what was changed in them."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from inner_state import fingerprint

import equipoise as eq
from equipoise.core.policies.base.policy import known_policies, restore_policies
from equipoise.errors import InvalidEvent, PolicyNotAtHand, ReplayMismatch, StateMismatch

RNG = np.random.default_rng(4)
CONTEXTS, OUTCOMES = RNG.normal(size=(60, 2)), RNG.normal(size=60)


def lived(spec="trace-gain:chance=0.2", units=30, **terms):
    """An experiment, and its events as JSON gives them back."""
    experiment = eq.Experiment(eq.Problem(["a", "b", "c"], 2, budget=60, **terms), spec, seed=9)
    first = experiment.created_event()
    with experiment.recording() as events:
        for t in range(units):
            experiment.ask(CONTEXTS[t], f"P-{t}")
            if t % 4:
                experiment.tell(f"P-{t}", OUTCOMES[t])
        experiment.ask_many(CONTEXTS[50:54], units=[f"B-{j}" for j in range(4)])
    return experiment, json.loads(json.dumps([first, *events], allow_nan=False))


def test_a_log_folds_and_verifies_to_the_same_bits():
    experiment, log = lived()
    for verify in (False, True):
        replayed = eq.Experiment.replay(log, verify=verify)
        assert fingerprint(replayed) == fingerprint(experiment)
        assert replayed.ask(CONTEXTS[55], "next") == eq.Experiment.replay(log).ask(CONTEXTS[55], "next")
    step_by_step = eq.Experiment.replay(log[:1])
    for event in log[1:]:
        step_by_step.apply(event)
    assert fingerprint(step_by_step) == fingerprint(experiment)


@pytest.mark.parametrize("verify", [False, True])
def test_nothing_is_left_of_designs_that_only_a_batch_has_looked_at(verify):
    experiment = eq.Experiment(eq.Problem(["a", "b"], 2, budget=60), "trace-gain", seed=16)
    first = experiment.created_event()
    with experiment.recording() as events:
        experiment.ask((0, 0), arm="b")
        experiment.ask((0, 0))
        experiment.ask_many([(0, 0), (0, 1), (0, 0), (1, 0), (0, 0)])
    assert fingerprint(eq.Experiment.replay([first, *events], verify=verify)) == fingerprint(experiment)


def test_the_fold_follows_what_is_recorded_and_verification_says_where_it_differs():
    _, log = lived("trace-ucb")
    place = next(k for k, event in enumerate(log) if event.get("unit") == "P-21")
    log[place] |= {"arm": "b" if log[place]["arm"] == "a" else "a", "propensity": 0.25}
    folded = eq.Experiment.replay(log)
    assert (folded["P-21"].arm, folded["P-21"].propensity) == (log[place]["arm"], 0.25)
    with pytest.raises(ReplayMismatch, match=r"unit 22 \(P-21\) went to .*, and the rule gives .*scores"):
        eq.Experiment.replay(log, verify=True)


def test_other_scores_are_named_with_both():
    _, log = lived("trace-ucb")
    place = next(k for k, event in enumerate(log) if event.get("unit") == "P-25")
    log[place]["scores"][0] *= 1.0 + 2**-52
    with pytest.raises(ReplayMismatch, match=r"by other scores: scores recorded a .*; now a "):
        eq.Experiment.replay(log, verify=True)


def test_who_goes_first_in_a_batch_is_verified():
    _, log = lived("trace-ucb")
    batch = [event for event in log if event["kind"] == "asked_together"]
    one, other = batch[0], batch[1]
    one["place"], other["place"] = other["place"], one["place"]
    with pytest.raises(ReplayMismatch, match="assigned together with others, and now as unit"):
        eq.Experiment.replay(log, verify=True)


@pytest.mark.parametrize("spec", ["sparse-trace-ucb:screen=4", "sparse-trace-ucb:screen=4:refresh=1.5"])
def test_chosen_features_are_recorded_and_not_chosen_anew(spec):
    experiment = eq.Experiment(eq.Problem(["a", "b"], 6, budget=60), spec, seed=1)
    rng, log = np.random.default_rng(2), [experiment.created_event()]
    with experiment.recording() as events:
        for _ in range(45):
            x = rng.normal(size=6)
            experiment.tell(experiment.ask(x).id, float(2 * x[1] + rng.normal()))
    log = json.loads(json.dumps([*log, *events], allow_nan=False))
    chosen = [event for event in log if event["kind"] == "features_chosen"]
    assert chosen
    for verify in (False, True):
        assert fingerprint(eq.Experiment.replay(log, verify=verify)) == fingerprint(experiment)
    restored = eq.Experiment.restore(experiment.snapshot())
    assert fingerprint(restored) == fingerprint(experiment)
    chosen[0]["columns"] = [0, 1]
    assert eq.Experiment.replay(log[: log.index(chosen[0]) + 1]).support == (0, 1)
    with pytest.raises(ReplayMismatch, match=r"features \[0, 1\] were chosen before unit"):
        eq.Experiment.replay(log, verify=True)
    without = [event for event in log if event["kind"] != "features_chosen"]
    with pytest.raises(ReplayMismatch, match="features were to be chosen"):
        eq.Experiment.replay(without, verify=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda log: log.pop(0),
        lambda log: log.insert(3, {"kind": "sung"}),
        lambda log: log.insert(3, {}),
        lambda log: log.insert(3, "asked"),
        lambda log: log.insert(1, {"kind": "told", "id": 1, "outcome": 1.0}),
        lambda log: log.insert(3, {"kind": "told", "id": 1}),
        lambda log: log.insert(3, {"kind": "told", "id": "1", "outcome": 1.0}),
        lambda log: log[1].update(x=[1.0]),
        lambda log: log[1].update(arm="z"),
        lambda log: log[1].update(id=2),
        lambda log: log[1].pop("scores"),
        lambda log: log[1].update(propensity="often"),
        lambda log: log.insert(4, log[4]),
        lambda log: log.append({"kind": "lost", "id": 2}),
    ],
)
def test_events_that_do_not_fit_are_refused(change):
    _, log = lived("uniform", units=6)
    change(log)
    with pytest.raises(eq.EquipoiseError) as refused:
        eq.Experiment.replay(log)
    assert isinstance(refused.value, InvalidEvent | eq.errors.UnknownArm)


def test_nothing_gives_no_event_and_changes_no_bit():
    experiment, _ = lived()
    before = fingerprint(experiment)
    with experiment.recording() as events:
        experiment.ask(CONTEXTS[3], "P-3")
        experiment.tell("P-3", OUTCOMES[3])
        experiment.correct("P-3", OUTCOMES[3])
        experiment.reopen_arm("a")
        experiment.resume()
        experiment.change_budget(60)
        experiment.received("P-3", experiment["P-3"].arm)
        with pytest.raises(eq.EquipoiseError):
            experiment.tell("P-3", 9.0)
    assert events == []
    assert fingerprint(experiment) == before


def test_remarks_are_events_and_nothing_else():
    experiment, _ = lived()
    before = fingerprint(experiment)
    with experiment.recording() as events:
        experiment.note("the lab moved", unit="P-3")
        experiment.note("all quiet")
    assert events == [
        {"kind": "note", "id": 4, "unit": "P-3", "text": "the lab moved"},
        {"kind": "note", "text": "all quiet"},
    ]
    assert fingerprint(experiment) == before
    with pytest.raises(eq.errors.InvalidArgument):
        experiment.note(" ")


def test_a_snapshot_goes_on_alike_and_is_checked(tmp_path):
    experiment, _ = lived()
    np.savez(tmp_path / "s.npz", **experiment.snapshot())
    with np.load(tmp_path / "s.npz", allow_pickle=False) as arrays:
        restored = eq.Experiment.restore(arrays)
        kept = dict(arrays)
    assert fingerprint(restored) == fingerprint(experiment)
    assert restored.ask(CONTEXTS[56], "n") == experiment.ask(CONTEXTS[56], "n")
    for name in ("contexts", "state.outcomes", "state.factors", "header", "keys"):
        torn = {key: array.copy() for key, array in kept.items()}
        torn[name].reshape(-1).view(np.uint8)[3] ^= 1
        with pytest.raises(StateMismatch):
            eq.Experiment.restore(torn)
    for name in kept:
        with pytest.raises(StateMismatch):
            eq.Experiment.restore({key: array for key, array in kept.items() if key != name})


def test_units_that_are_asked_for_again_where_scores_were_not_kept():
    experiment, log = lived()
    with experiment.recording() as events:
        experiment.ask(CONTEXTS[40], "G", arm="b")
    events = json.loads(json.dumps(events, allow_nan=False))
    for other in (
        eq.Experiment.restore(experiment.snapshot()),
        eq.Experiment.replay([*log, *events], details=False),
    ):
        before = fingerprint(other)
        many = other.ask_many([*CONTEXTS[:3], CONTEXTS[40]], units=["P-0", "P-1", "P-2", "G"])
        units = [other.ask(CONTEXTS[7], "P-7"), other.ask(CONTEXTS[40], "G"), *many]
        for unit in units:
            first = experiment[unit.unit]
            assert (unit.id, unit.arm) == (first.id, first.arm)
            assert unit.given_by_person == first.given_by_person == (unit.unit == "G")
            assert (unit.scores, unit.propensities) == ({}, {})
            assert math.isnan(unit.chance)
            assert math.isnan(unit.propensity)
            assert other[unit.unit].propensity == first.propensity or unit.unit == "G"
        assert fingerprint(other) == before
        with pytest.raises(eq.errors.UnitConflict):
            other.ask(CONTEXTS[8], "P-7")


def test_a_policy_that_is_not_at_hand(tmp_path):
    """The experiment opens, folds and reports; it does not decide, and people still can."""
    known = known_policies()
    try:

        @eq.register("test-absent")
        @dataclass(frozen=True, kw_only=True)
        class Mine(eq.Policy):
            often: float = 1.0

            @staticmethod
            def score(arm, trial, settings):
                return -arm.count * settings[0]

        experiment, log = lived("test-absent:often=2.0")
        snapshot = experiment.snapshot()
        assert log[0]["source"] is not None
        assert fingerprint(eq.Experiment.replay(log, verify=True)) == fingerprint(experiment)
    finally:
        restore_policies(known)
    with pytest.raises(StateMismatch):  # a snapshot has its settings; the log is there
        eq.Experiment.restore(snapshot)
    absent = eq.Experiment.replay(log)
    assert absent.policy.label == "test-absent:often=2.0"
    assert absent.counts == experiment.counts
    for one, other in zip(absent.estimates(), experiment.estimates(), strict=True):
        assert one.coef.tobytes() == other.coef.tobytes()
    complaint = absent.estimates().complaint
    assert (
        "'test-absent' is not at hand, so intervals, bounds and expected errors are not corrected"
        in complaint
    )
    assert "Warning: the policy 'test-absent' is not at hand" in str(absent.estimates())
    assert "at hand" not in (experiment.estimates().complaint or "")
    with pytest.raises(PolicyNotAtHand, match="no policy 'test-absent'"):
        absent.ask(CONTEXTS[56])
    absent.tell("P-0", 1.0)
    with absent.recording() as events:
        unit = absent.ask(CONTEXTS[56], "H", arm="b")
    assert (unit.arm, unit.chosen, math.isnan(unit.propensity)) == ("b", None, True)
    assert eq.Experiment.replay([*log, *events])["H"].arm == "b"
    again = pickle.loads(pickle.dumps(absent))
    assert absent.created_event() == again.created_event() == log[0]
    assert again.counts == absent.counts
    with pytest.raises(PolicyNotAtHand):
        eq.Experiment.replay(log, verify=True)
    log[0]["traits"]["staged"] = True
    with pytest.raises(PolicyNotAtHand, match="chooses features"):
        eq.Experiment.replay(log)


def test_a_policy_whose_source_has_changed_does_not_decide(tmp_path):
    known = known_policies()
    text = (
        "import equipoise as eq\n\n@eq.register('test-source')\n"
        "def test_source(arm, trial, settings):\n    return -{} * arm.count\n"
    )
    path = tmp_path / "mine.py"
    try:
        path.write_text(text.format(1.0))
        eq.import_policies(path)
        _, log = lived("test-source")
        path.write_text(text.format(2.0))
        eq.import_policies(path)
        changed = eq.Experiment.replay(log)
        with pytest.raises(PolicyNotAtHand, match="its source is not the one that the experiment began with"):
            changed.ask(CONTEXTS[55])
        path.write_text(text.format(1.0))
        eq.import_policies(path)
        assert eq.Experiment.replay(log).ask(CONTEXTS[55]).arm in "abc"
    finally:
        restore_policies(known)


def test_a_design_that_is_not_at_hand_redacts_nothing_and_folds_what_was_redacted():
    known = known_policies()
    try:

        @eq.register("test-design")
        class Mine(eq.Design):
            def memory(self, problem):
                return 1, 3

            @staticmethod
            def weigh(arms, trial, settings, context, memory, turns, weights):
                weights[0] += 0.1 * memory[0, 0]

            @staticmethod
            def remember(trial, settings, context, memory, stream, row, arm):
                memory[0, arm] += 1.0

        experiment, log = lived("test-design")
        with experiment.recording() as events:
            experiment.redact("P-1")
        log += events
        after = fingerprint(experiment)
        assert fingerprint(eq.Experiment.replay(log, verify=True)) == after
        restore_policies(known)
        absent = eq.Experiment.replay(log)
        assert absent.created_event() == log[0]
        absent = eq.Experiment.restore(absent.snapshot())
        assert absent["P-2"].outcome == experiment["P-2"].outcome
        for one, other in zip(absent.estimates(), experiment.estimates(), strict=True):
            assert one.coef.tobytes() == other.coef.tobytes()
        with pytest.raises(PolicyNotAtHand, match="what it remembers"):
            absent.redact("P-2")
        assert absent["P-2"].status == "told"
    finally:
        restore_policies(known)


def test_an_event_of_a_newer_version_is_called_that():
    experiment, _ = lived(units=3)
    with pytest.raises(InvalidEvent, match="no event 'arm_renamed' is known here") as caught:
        experiment.apply({"kind": "arm_renamed", "arm": "a"})
    assert "newer version" in caught.value.hint
