"""Whatever is recorded of a choice and follows from it is compared when decisions are made anew."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from inner_state import fingerprint

import equipoise as eq
from equipoise.errors import InvalidEvent, ReplayMismatch

FEATURES = eq.Features(age=eq.Number(18, 90, center=50, scale=10), sex=eq.Category("f", "m"))
GIVEN = "unit 20 (P-19)"


def lived(spec="trace-gain:chance=0.3"):
    """Events of an experiment with records, as JSON gives them back; a person gave unit 20 the rule's arm."""
    experiment = eq.Experiment(eq.Problem(["a", "b", "c"], budget=60, features=FEATURES), spec, seed=9)
    rng, first = np.random.default_rng(4), experiment.created_event()
    people = [{"age": float(rng.uniform(18, 90)), "sex": "fm"[t % 2]} for t in range(46)]
    with experiment.recording() as events:
        for t, person in enumerate(people[:40]):
            arm = None
            if t == 19:
                arm = experiment.in_memory().ask(person, f"P-{t}").arm
            experiment.ask(person, f"P-{t}", arm=arm)
            if t % 4:
                experiment.tell(f"P-{t}", float(rng.normal()))
        experiment.ask_many(people[40:44], units=[f"B-{j}" for j in range(4)])
        experiment.ask(people[44], "R-1", arms=["a", "b"])
        experiment.ask(people[45], "last")
    return json.loads(json.dumps([first, *events], allow_nan=False))


def event_of(log, unit):
    return next(event for event in log if event.get("unit") == unit and "x" in event)


def refused(log):
    with pytest.raises(ReplayMismatch) as caught:
        eq.Experiment.replay(log, verify=True)
    return caught.value.message


@pytest.mark.parametrize("unit", ["P-25", "B-2", "P-19"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("top", None),
        ("chance", 0.4),
        ("weighed", True),
        ("propensity", 0.123),
        ("propensity", "nan"),
        ("likeliest", 0.5),
        ("possible", 2),
    ],
)
def test_what_follows_from_a_choice_is_compared(unit, field, value):
    log = lived()
    event = event_of(log, unit)
    if (unit, value) == ("P-19", "nan"):
        assert event["propensity"] == "nan"  # as it is for an arm that a person gave
        return
    value = value if value is not None else next(arm for arm in "abc" if arm != event["top"])
    before = event.get(field, False)
    event[field] = value
    eq.Experiment.replay(log)  # a fold follows what is recorded
    message = refused(log)
    assert message.startswith(f"{field} of unit {event['id']} ({unit}) is recorded as {value}")
    assert message.endswith(f"and is {before}")


@pytest.mark.parametrize("unit", ["P-25", "B-2", "R-1", "last"])
@pytest.mark.parametrize("field", ["arm", "scores"])
def test_arms_and_scores_are_compared_however_a_unit_was_asked_for(unit, field):
    """By itself, together with others, with fewer arms, as the last of the log."""
    log = lived()
    event = event_of(log, unit)
    if field == "arm":
        event["arm"] = next(arm for arm in "ab" if arm != event["arm"])
    else:
        event["scores"][0] *= 1.0 + 2**-52
    eq.Experiment.replay(log)
    what = "and the rule gives" if field == "arm" else "but by other scores"
    message = refused(log)
    assert message.startswith(f"unit {event['id']} ({unit}) went to {event['arm']}")
    assert what in message


@pytest.mark.parametrize("spec", ["efron", "trace-ucb", "uniform", "trace-gain:chance=1.0"])
def test_sound_logs_are_verified(spec):
    for details in (True, False):
        eq.Experiment.replay(lived(spec), verify=True, details=details)


def test_probabilities_of_a_design_are_compared():
    log = lived("efron")
    event_of(log, "P-30")["propensity"] *= 1.0 - 2**-52
    assert refused(log).startswith("propensity of unit 31 (P-30) is recorded as")


def test_the_first_difference_is_named():
    log = lived()
    event_of(log, "P-31")["likeliest"] = 0.0
    event_of(log, "P-30")["possible"] = 1
    assert refused(log).startswith("possible of unit 31 (P-30)")


def test_what_a_person_gave_has_no_propensity_but_in_older_logs_that_of_the_rule():
    log = lived()
    event = event_of(log, "P-19")
    assert event["chosen"] == event["arm"]
    assert eq.Experiment.replay(log)["P-19"].given_by_person
    event["propensity"] = event["likeliest"] if event["top"] == event["arm"] else 0.1
    eq.Experiment.replay(log, verify=True)
    event["propensity"] = 0.9
    assert refused(log) == f"propensity of {GIVEN} is recorded as 0.9, and is nan"
    event["chosen"] = None
    assert refused(log) == f"propensity of {GIVEN} is recorded as 0.9, and is nan"


def test_what_was_given_must_be_the_context():
    log = lived()
    event = event_of(log, "P-7")
    given = dict(event["given"])
    event["given"]["age"] = 33.0
    assert refused(log).startswith("what was given of unit 8 (P-7) is not its context: age is recorded as ")
    assert refused(log).endswith("and is -1.7")
    event["given"] = {**given, "sex": "x"}
    assert refused(log).startswith("what was given of unit 8 (P-7) leads to no context: 'sex' is 'x'")
    event["given"] = {"sex": "f"}
    assert "leads to no context: no value of 'age'" in refused(log)
    event["given"] = [1.0]
    assert "leads to no context" in refused(log)
    event["given"] = given
    eq.Experiment.replay(log, verify=True)


def test_numbers_that_a_log_has_as_text_are_read_as_what_they_were():
    experiment = eq.Experiment(eq.Problem(["a", "b"], budget=20, features=FEATURES))
    first = experiment.created_event()
    with experiment.recording() as events:
        for age in (Decimal("33.3"), Fraction(100, 3), 40, np.float32(33.3), np.int64(18)):
            experiment.ask({"age": age, "sex": "m"})
    log = json.loads(json.dumps([first, *events]))
    assert log[1]["given"]["age"] == "33.3"
    eq.Experiment.replay(log, verify=True)
    log[1]["given"]["age"] = "33.4"
    assert "unit 1 is not its context" in refused(log)
    log[1]["given"]["age"] = "young"
    assert "leads to no context" in refused(log)


@pytest.mark.parametrize("field", ["top", "chance", "scores", "possible", "likeliest", "propensity"])
def test_a_choice_of_which_a_part_is_missing_is_no_event(field):
    log = lived("uniform")
    del event_of(log, "P-3")[field]
    with pytest.raises(InvalidEvent, match=f"no '{field}'"):
        eq.Experiment.replay(log, verify=True)


@pytest.mark.parametrize("spec", ["sparse-trace-ucb:screen=4", "sparse-trace-ucb:screen=4:refresh=1.5"])
def test_a_person_may_give_an_arm_where_features_are_about_to_be_chosen(spec):
    experiment = eq.Experiment(eq.Problem(["a", "b"], 6, budget=60), spec, seed=1)
    rng, first = np.random.default_rng(2), experiment.created_event()
    with experiment.recording() as events:
        while not experiment._stage.is_due():
            x = rng.normal(size=6)
            experiment.tell(experiment.ask(x).id, float(2 * x[1] + rng.normal()))
        experiment.ask(rng.normal(size=6), arm="b")
        experiment.ask_many(rng.normal(size=(2, 6)), given_arms=["a", "b"])
        experiment.ask(rng.normal(size=6))
    log = json.loads(json.dumps([first, *events], allow_nan=False))
    assert [event["kind"] for event in log[-5:]] == [*["asked"] * 3, "features_chosen", "asked"]
    assert fingerprint(eq.Experiment.replay(log, verify=True)) == fingerprint(experiment)


@pytest.mark.parametrize("nothing", [pd.NA, pd.NaT, Decimal("NaN"), float("nan"), np.float32("nan"), None])
def test_what_is_missing_is_recorded_as_nothing(nothing):
    features = eq.Features(
        age=eq.Number(18, 90, missing="indicator"), sex=eq.Category("f", "m", missing="indicator")
    )
    experiment = eq.Experiment(eq.Problem(["a", "b"], budget=20, features=features))
    first = experiment.created_event()
    with experiment.recording() as events:
        experiment.ask({"age": nothing, "sex": "m"})
        experiment.ask_many(pd.DataFrame({"age": [20, nothing], "sex": ["f", None]}, dtype=object))
    log = json.loads(json.dumps([first, *events], allow_nan=False))
    assert [event["given"]["age"] for event in log[1:]] == [None, 20, None]
    assert experiment[1].context == {"age": None, "sex": "m"}
    eq.Experiment.replay(log, verify=True)
