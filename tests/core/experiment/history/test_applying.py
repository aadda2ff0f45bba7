"""One event after the other: what is refused changes nothing; who listens, and for how long."""

from __future__ import annotations

import threading

import pytest
from inner_state import fingerprint

import equipoise as eq
from equipoise.errors import InvalidEvent


def fresh():
    return eq.Experiment(eq.Problem(["a", "b"], 2, budget=200), "uniform", seed=5)


def asked(units=1):
    """Events of units that were asked for, each with a key."""
    experiment = fresh()
    with experiment.recording() as events:
        for number in range(units):
            experiment.ask([1.0, number], f"P-{number}")
    return events


@pytest.mark.parametrize(
    "field", ["id", "x", "arm", "top", "scores", "chance", "propensity", "likeliest", "possible"]
)
def test_an_event_of_which_a_part_is_missing_changes_nothing(field):
    experiment, (event,) = fresh(), asked()
    before = fingerprint(experiment)
    with pytest.raises(InvalidEvent, match=f"no '{field}'"):
        experiment.apply({name: value for name, value in event.items() if name != field})
    assert fingerprint(experiment) == before
    experiment.apply(event)
    assert experiment["P-0"].arm == event["arm"]


@pytest.mark.parametrize("units", [2, 20])
def test_two_units_with_one_key_are_refused(units):
    experiment, events = fresh(), asked(units)
    events[-1] |= {"unit": "P-0"}
    with pytest.raises(InvalidEvent, match="a unit has the key 'P-0' already"):
        eq.Experiment.replay([experiment.created_event(), *events])
    for event in events[:-1]:
        experiment.apply(event)
    before = fingerprint(experiment)
    with pytest.raises(InvalidEvent, match="a unit has the key 'P-0' already"):
        experiment.apply(events[-1])
    assert fingerprint(experiment) == before
    assert experiment["P-0"].id == 1


def test_a_key_is_free_again_when_its_unit_is_redacted():
    experiment = fresh()
    first = experiment.created_event()
    with experiment.recording() as events:
        for number in range(10):
            experiment.tell(experiment.ask([1.0, number], f"P-{number}").id, 1.0)
        experiment.redact("P-3")
        for number in (3, 10, 11, 12):
            experiment.ask([2.0, number], f"P-{number}")
    again = eq.Experiment.replay([first, *events])
    assert fingerprint(again) == fingerprint(experiment)
    assert again["P-3"].id == 11


def test_recordings_within_recordings_miss_nothing():
    experiment = fresh()
    kept = experiment.keep_recording()
    with experiment.recording() as outer:
        experiment.ask([1.0, 0.0], "P-0")
        with experiment.recording() as inner:
            experiment.ask_many([[1.0, 1.0], [1.0, 2.0]], ["P-1", "P-2"])
            experiment.tell("P-0", 1.0)
        experiment.pause()
    experiment.resume()
    assert [event["kind"] for event in inner] == ["asked_together", "asked_together", "told"]
    assert outer == [outer[0], *inner, {"kind": "paused"}]
    assert kept == [*outer, {"kind": "resumed"}]


def test_recordings_of_two_threads_miss_nothing():
    experiment = fresh()
    first, begun, ended = experiment.created_event(), threading.Event(), threading.Event()
    found = []

    def other():
        with experiment.recording() as events:
            begun.set()
            ended.wait(10)
            experiment.ask([2.0, 0.0], "O-0")
        found.extend(events)

    thread = threading.Thread(target=other)
    with experiment.recording() as mine:
        thread.start()
        begun.wait(10)
        experiment.ask([1.0, 0.0], "P-0")
    ended.set()
    thread.join()
    experiment.ask([3.0, 0.0], "N-0")
    assert [event["unit"] for event in mine] == ["P-0"]
    assert [event["unit"] for event in found] == ["P-0", "O-0"]
    assert eq.Experiment.replay([first, *found]).asked == 2
