"""Keys of units: one unit, one assignment, whoever asks and however often."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from inner_state import fingerprint

import equipoise as eq
from equipoise.core.experiment.units.keys import plain_record
from equipoise.errors import (
    AssignmentClosed,
    AssignmentNotFound,
    InvalidArgument,
    InvalidRecord,
    NoArmLeft,
    UnitConflict,
)

FEATURES = eq.Features("1 + age", age=eq.Number(18, 90, center=50, scale=10), site=eq.Category("x", "y"))


def fresh(spec="trace-ucb", budget=60, **terms):
    return eq.Experiment(eq.Problem(["a", "b", "c"], features=FEATURES, budget=budget, **terms), spec, seed=5)


def test_asking_again_gives_the_same_assignment_and_changes_nothing():
    experiment = fresh("trace-gain:chance=0.3")
    first = [experiment.ask({"age": 20 + j}, f"P-{j}") for j in range(9)]
    before = fingerprint(experiment)
    again = [experiment.ask({"age": 20 + j}, unit=f"P-{j}") for j in range(9)]
    assert again == first
    assert [unit.propensities for unit in again] == [unit.propensities for unit in first]
    together = experiment.ask_many([{"age": 25}, {"age": 21}], units=["P-5", "P-1"])
    assert together == [first[5], first[1]]
    assert fingerprint(experiment) == before
    assert (first[3].unit, first[3].id) == ("P-3", 4)


def test_another_context_or_arm_under_the_same_key_is_refused():
    experiment = fresh()
    arm = experiment.ask({"age": 30}, "P-1").arm
    before = fingerprint(experiment)
    with pytest.raises(UnitConflict, match="it differs in age"):
        experiment.ask({"age": 31}, "P-1")
    other = "b" if arm == "a" else "a"
    with pytest.raises(UnitConflict, match=r"call received\('P-1'"):
        experiment.ask({"age": 30}, "P-1", arm=other)
    with pytest.raises(UnitConflict, match="stands in the batch twice"):
        experiment.ask_many([{"age": 40}, {"age": 41}], units=["P-2", "P-2"])
    assert fingerprint(experiment) == before
    assert experiment.ask({"age": 30}, "P-1", arm=arm).arm == arm


@pytest.mark.parametrize("spec", ["uniform", "trace-ucb", "complete"])
def test_what_the_rule_chose_is_told_again(spec):
    experiment = fresh(spec)
    for arm in "abcabcabc":
        first = experiment.ask({"age": 30}, f"P-{experiment.asked}", arm=arm)
        assert (first.arm, first.chosen in "abc") == (arm, True)
        experiment.tell(first.id, 1.0 + first.id % 2)
    given = {unit: experiment.ask({"age": 30}, unit).chosen for unit in ("P-0", "P-1", "P-2")}
    with experiment.recording() as events:
        chosen = {f"Q-{j}": experiment.ask({"age": 40}, f"Q-{j}", arm="abc"[j % 3]).chosen for j in range(6)}
    assert any(chosen[f"Q-{j}"] != "abc"[j % 3] for j in range(6))
    experiment.received("Q-0", "b")  # is another matter
    replayed = pickle.loads(pickle.dumps(experiment))
    for one in (experiment, replayed):
        assert {unit: one.ask({"age": 40}, unit).chosen for unit in chosen} == chosen
        assert {unit: one.ask({"age": 30}, unit).chosen for unit in given} == given
    assert [event["chosen"] for event in events] == list(chosen.values())


def test_records_that_no_file_could_hold():
    assert plain_record({"age": 2**1000, "site": "größer"}) == {"age": 2**1000, "site": "größer"}
    with pytest.raises(InvalidRecord, match=r"field 'age' is a whole number of .* bits"):
        plain_record({"age": 10**5000})
    for wrong in ({"site": "half \ud800"}, {"\udfff": 1}):
        with pytest.raises(InvalidRecord, match="half of a sign"):
            plain_record(wrong)


def test_who_went_where():
    experiment = fresh()
    for j in range(8):
        experiment.ask({"age": 20 + 5 * j}, f"P-{j}")
    experiment.tell("P-0", 1.0)
    experiment.withdraw("P-1")
    experiment.lose("P-2")
    contexts, arms, counts = experiment.allocation()
    assert contexts[:, 1].tolist() == [(20 + 5 * j - 50) / 10 for j in range(8)]
    assert [experiment.problem.arms[arm] for arm in arms] == [experiment[f"P-{j}"].arm for j in range(8)]
    assert counts.tolist() == [True, False, False, *[True] * 5]
    contexts[:] = 0.0
    assert experiment.allocation().contexts.any()


def test_a_batch_may_have_units_that_are_known():
    experiment = fresh("trace-gain")
    known = experiment.ask({"age": 30}, "P-1")
    units = experiment.ask_many(pd.DataFrame({"age": [40, 30, 50]}), units=["P-2", "P-1", "P-3"])
    assert units[1] == known
    assert {unit.unit: unit.id for unit in units} in (
        {"P-1": 1, "P-2": 2, "P-3": 3},
        {"P-1": 1, "P-2": 3, "P-3": 2},
    )
    assert experiment["P-3"].context == {"age": 50}


@pytest.mark.parametrize("unit", ["", " P", "P ", "a\nb", "x" * 201, 17, 1.0, b"P"])
def test_what_cannot_be_a_key(unit):
    experiment = fresh()
    with pytest.raises(InvalidArgument, match=r"key|is not text"):
        experiment.ask({"age": 30}, unit)
    assert experiment.asked == 0


@pytest.mark.parametrize("units", ["P", ["P"], ["P", "Q", "R"]])
def test_as_many_keys_as_contexts(units):
    with pytest.raises(InvalidArgument, match=r"keys for 2 contexts|is one key"):
        fresh().ask_many([{"age": 30}, {"age": 31}], units=units)


def test_entries_go_by_key_or_number():
    experiment = fresh()
    for j in range(6):
        experiment.ask({"age": 30 + j}, f"P-{j}")
    experiment.tell("P-0", 1.5)
    experiment.tell(1, 1.5)
    experiment.tell_many({"P-1": 2.0, 3: 2.5})
    experiment.correct("P-1", 3.0)
    experiment.lose("P-3")
    experiment.withdraw("P-4")
    found = {unit: (experiment[unit].status, experiment[unit].outcome) for unit in (1, 2, 3, 4, 5, "P-5")}
    assert found == {
        **{1: ("told", 1.5), 2: ("told", 3.0), 3: ("told", 2.5)},
        **{4: ("lost", None), 5: ("withdrawn", None), "P-5": ("pending", None)},
    }
    experiment.tell("P-3", 4.0)
    assert experiment["P-3"].status == "told"
    for nobody in ("P-6", 7, 0, True, None):
        with pytest.raises(AssignmentNotFound):
            experiment.tell(nobody, 1.0)
        with pytest.raises(AssignmentNotFound):
            experiment[nobody]
    with pytest.raises(AssignmentClosed, match="was withdrawn"):
        experiment.ask({"age": 34}, "P-4")


def test_many_outcomes_are_told_all_or_none():
    experiment = fresh()
    for j in range(4):
        experiment.ask({"age": 30 + j}, f"P-{j}")
    experiment.tell("P-0", 1.0)
    before = fingerprint(experiment)
    for wrong in ({"P-1": 2.0, "P-0": 9.0}, {"P-1": 2.0, "P-9": 1.0}, {"P-1": float("nan")}):
        with pytest.raises(eq.EquipoiseError):
            experiment.tell_many(wrong)
    with pytest.raises(eq.errors.OutcomeConflict, match="two outcomes here"):
        experiment.tell_many([("P-1", 2.0), (2, 3.0)])
    assert fingerprint(experiment) == before
    experiment.tell_many([("P-1", 2.0), (2, 2.0), ("P-0", 1.0)])
    assert experiment.pending == [3, 4]


def test_many_entries_are_made_all_or_none():
    experiment = fresh()
    for j in range(5):
        experiment.ask({"age": 30 + j}, f"P-{j}")
    experiment.tell("P-0", 1.0)
    experiment.withdraw("P-4")
    before = fingerprint(experiment)
    for wrong in ({"P-1": 2.0, "P-4": 9.0}, {"P-1": 2.0, "P-9": 1.0}, {"P-1": float("nan")}):
        with pytest.raises(eq.EquipoiseError):
            experiment.correct_many(wrong)
    with pytest.raises(eq.errors.OutcomeConflict, match="two outcomes here"):
        experiment.correct_many([("P-1", 2.0), (2, 3.0)])
    for wrong in (["P-1", "P-0"], ["P-1", "P-4"], ["P-1", "P-9"]):
        with pytest.raises(eq.EquipoiseError):
            experiment.lose_many(wrong)
    with pytest.raises(AssignmentNotFound):
        experiment.withdraw_many(["P-1", "P-9"])
    for method in (experiment.lose_many, experiment.withdraw_many):
        with pytest.raises(InvalidArgument, match="is one key"):
            method("P-1")
    assert fingerprint(experiment) == before
    assert experiment.correct_many({"P-0": 1.0, "P-1": 2.0}) == 1
    assert (experiment.lose_many(["P-2", 3, "P-3"]), experiment.lose_many(["P-2"])) == (2, 0)
    assert (experiment.withdraw_many(["P-3", "P-4"]), experiment.withdraw_many(["P-3"])) == (1, 0)
    assert experiment.pending == []


def test_arms_that_many_received_are_noted_all_or_none():
    experiment, twin = fresh(), fresh()
    for j in range(6):
        for one in (experiment, twin):
            one.ask({"age": 30 + j}, f"P-{j}", arm="a" if j % 2 else "b")
            one.tell(f"P-{j}", float(j))
    for one in (experiment, twin):
        one.withdraw("P-5")
    before = fingerprint(experiment)
    for wrong in ({"P-1": "b", "P-5": "b"}, {"P-1": "b", "P-9": "b"}, {"P-1": "b", "P-2": "z"}):
        with pytest.raises(eq.EquipoiseError):
            experiment.received_many(wrong)
    with pytest.raises(eq.errors.UnitConflict, match="two arms here, 'b' and 'a'"):
        experiment.received_many([("P-1", "b"), (2, "a")])
    assert fingerprint(experiment) == before
    with experiment.recording() as events:
        assert experiment.received_many({"P-0": "b", "P-1": "b", "P-3": "b", "P-2": "a"}) == 3
    assert [(event["unit"], event["arm"]) for event in events] == [("P-1", "b"), ("P-3", "b"), ("P-2", "a")]
    for unit, arm in (("P-1", "b"), ("P-3", "b"), ("P-2", "a")):
        twin.received(unit, arm)
    assert fingerprint(experiment) == fingerprint(twin)
    assert experiment.received_many([(2, "b"), ("P-1", "b")]) == 0


def test_many_are_redacted_all_or_none():
    experiment = fresh()
    for j in range(6):
        experiment.ask({"age": 30 + j}, f"P-{j}")
        if j:
            experiment.tell(j + 1, float(j))
    estimates, before = experiment.estimates(), fingerprint(experiment)
    for wrong in (["P-1", "P-0"], ["P-1", "P-9"], ["P-1", 99]):
        with pytest.raises(eq.EquipoiseError):
            experiment.redact_many(wrong)
    with pytest.raises(InvalidArgument, match="is one key"):
        experiment.redact_many("P-1")
    assert fingerprint(experiment) == before
    with experiment.recording() as events:
        assert experiment.redact_many(["P-3", 2, "P-1"]) == 2
        assert experiment.redact_many([2, 4]) == 0
    assert [event["ids"] for event in events] == [[2, 4]]
    assert experiment.redact_many([2, "P-5"]) == 1
    with pytest.raises(AssignmentNotFound):
        experiment.redact_many(["P-3"])
    assert [unit["status"] for unit in experiment.units()] == [
        *("pending", "redacted", "told", "redacted", "told", "redacted")
    ]
    for one, other in zip(estimates, experiment.estimates(), strict=True):
        assert np.array_equal(one.coef, other.coef)


def test_arms_that_persons_gave_to_many_are_taken_all_or_none():
    experiment = fresh()
    first = experiment.ask({"age": 30}, "P-0", arm="a")
    before = fingerprint(experiment)
    people = [{"age": 30 + j} for j in range(3)]
    keys = ["P-0", "P-1", "P-2"]
    for wrong in (["a", "b", "nobody"], ["a", "b"], "abb", ["b", "b", "b"]):
        with pytest.raises(eq.EquipoiseError):
            experiment.ask_many(people, keys, given_arms=wrong)
    with pytest.raises(InvalidArgument, match="given_arms has no arm at place 1"):
        experiment.ask_many(people, keys, given_arms=["a", None, "b"])
    with pytest.raises(InvalidArgument, match="arms and given_arms"):
        experiment.ask_many(people, keys, arms=["a"], given_arms=["a", "b", "b"])
    assert fingerprint(experiment) == before
    units = experiment.ask_many(people, keys, given_arms=["a", "b", "b"])
    assert units[0] == first
    assert [(unit.unit, unit.id, unit.arm) for unit in units] == [
        *(("P-0", 1, "a"), ("P-1", 2, "b"), ("P-2", 3, "b"))
    ]


def test_the_lot_of_a_key_does_not_depend_on_its_place():
    """What is drawn for a unit follows from seed and key; asked for as another unit, it is drawn anew."""
    drawn = []
    for before in range(3):
        experiment = fresh("complete", budget=60)
        for j in range(before):
            experiment.ask({"age": 30}, f"other-{j}")
        drawn.append([experiment.ask({"age": 30}, f"P-{j}").arm for j in range(20)])
    assert drawn[0] == drawn[1] == drawn[2]
    experiment = fresh("complete", budget=60)
    others = [experiment.ask({"age": 30}, f"Q-{j}").arm for j in range(20)]
    assert others != drawn[0]
    counts = np.bincount(["abc".index(arm) for arm in drawn[0] + others], minlength=3)
    assert counts.min() >= 5  # of 40 by thirds; fixed keys, so it cannot fail by chance


def test_keyed_lots_are_replayed_by_the_randomisation_test():
    rng = np.random.default_rng(3)
    experiment = fresh("trace-gain:chance=0.5")
    for j in range(40):
        experiment.ask({"age": int(rng.integers(18, 90))}, f"P-{j}")
        experiment.tell(f"P-{j}", float(rng.normal()))
    assert 0.0 < experiment.randomisation_test(draws=50).p_value <= 1.0


def test_arms_that_a_unit_may_go_to():
    experiment = fresh("trace-gain", floors={"a": 20})
    for j in range(12):
        unit = experiment.ask({"age": 20 + 5 * j}, arms=["b", "c"])
        assert unit.arm in "bc"
        assert unit.scores["a"] == -np.inf
        assert unit.eligible == ("b", "c")
    assert experiment._state.arms["eligible"].all()
    # What floors keep back stays kept back: 60 − 12 − 20.
    for _ in range(28):
        experiment.ask({"age": 44}, arms=["b", "c"])
    with pytest.raises(NoArmLeft, match="none of the arms that the unit may go to takes units: b, c"):
        experiment.ask({"age": 44}, arms=["b", "c"])
    assert experiment.ask({"age": 44}).arm == "a"
    for wrong in ([], "a"):
        with pytest.raises(InvalidArgument, match="not a list of arms"):
            experiment.ask({"age": 44}, arms=wrong)
    with pytest.raises(eq.errors.UnknownArm):
        experiment.ask({"age": 44}, arms=["a", "z"])
    with pytest.raises(InvalidArgument, match="both given"):
        experiment.ask({"age": 44}, arm="a", arms=["a"])


def test_arms_that_a_batch_may_go_to():
    experiment = fresh("trace-gain")
    units = experiment.ask_many([{"age": 20 + j} for j in range(20)], arms=["a", "c"])
    assert {unit.arm for unit in units} == {"a", "c"}


def test_units_as_a_table():
    experiment = fresh()
    experiment.ask({"age": 30, "site": "x"}, "P-1")
    experiment.ask({"age": 40})
    experiment.tell("P-1", 2.0)
    records = experiment.units().records()
    assert [list(record) for record in records] == [
        ["unit", "id", "arm", "assigned", "status", "outcome", "propensity", "given_by_person", "age", "site"]
    ] * 2
    assert records[0] | {"arm": "", "assigned": ""} == {
        **{"unit": "P-1", "id": 1, "arm": "", "assigned": "", "status": "told", "outcome": 2.0},
        **{"propensity": 1.0, "given_by_person": False, "age": 30, "site": "x"},
    }
    assert (records[1]["unit"], records[1]["site"]) == (None, None)
    assert "score of b" in experiment.units(scores=True).columns
    vectors = eq.Experiment(eq.Problem(2, 2, budget=9), "uniform")
    vectors.ask([1.0, 2.0])
    assert vectors.units().records()[0]["x[1]"] == 2.0


def test_an_accent_may_be_typed_in_two_ways():
    experiment = eq.Experiment(eq.Problem(["a", "b"], 2, budget=10))
    first = experiment.ask([1.0, 2.0], unit="Jose\u0301")
    assert first.unit == "Jos\u00e9"
    assert experiment.ask([1.0, 2.0], unit="Jos\u00e9") == first
    experiment.tell("Jose\u0301", 1.0)
    assert experiment["Jos\u00e9"].outcome == experiment["Jose\u0301"].outcome == 1.0
    with pytest.raises(UnitConflict, match="twice"):
        experiment.ask_many([[1.0, 2.0]] * 2, ["\u00e9", "e\u0301"])
