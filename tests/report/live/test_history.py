"""What a log says of units, counted here from its events alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from reporting.scripted_trial import DEADLINE, Log, scripted

import equipoise as eq
from equipoise.report.live.deviations import deviations
from equipoise.report.live.history import history_of, history_of_log, history_of_memory


@pytest.fixture(scope="module")
def log():
    return scripted()


def test_units_are_those_of_the_events(log):
    history = log.history()
    asked = [entry for entry in log.entries if entry.kind == "asked"]
    assert [unit.key for unit in history.units] == [entry.event["unit"] for entry in asked]
    assert [unit.time for unit in history.units] == [entry.time for entry in asked]
    assert [unit.assigned for unit in history.units] == [entry.event["arm"] for entry in asked]
    told = {entry.event["id"] for entry in log.entries if entry.kind in ("told", "corrected")}
    gone = {entry.event["id"] for entry in log.entries if entry.kind in ("lost", "withdrawn")}
    assert {unit.id for unit in history.units if unit.status == "told"} == told - gone
    assert {unit.key for unit in history.units if unit.rule is not None} == {"P-030"}
    assert {unit.key for unit in history.units if unit.received is not None} == {"P-025"}
    assert {unit.key for unit in history.units if unit.corrections} == {"P-020"}
    assert [unit.given["age"] for unit in history.units] == [entry.event["given"]["age"] for entry in asked]


def test_a_log_and_the_memory_it_leads_to_tell_the_same(log):
    logged, remembered = log.history().units, history_of_memory(log.experiment).units
    for name in ("id", "key", "assigned", "received", "status", "given", "restricted"):
        assert [getattr(unit, name) for unit in logged] == [getattr(unit, name) for unit in remembered], name
    # Which arm the rule would have drawn is not kept in memory, only that a person decided.
    assert [unit.rule is None for unit in logged] == [unit.rule is None for unit in remembered]
    table = log.experiment.units()
    assert [unit.arm for unit in logged] == [unit["arm"] for unit in table]
    assert [unit.status for unit in logged] == [unit["status"] for unit in table]


def test_a_late_outcome_is_overdue_and_a_lost_one_that_comes_is_back():
    log = Log(eq.Experiment(eq.Problem(2, 1, budget=9), "uniform"))
    for number in range(3):
        log.do(lambda e: e.ask([1.0], unit=f"u{number}"))  # noqa: B023
    log.now += DEADLINE
    log.do(lambda e: e.ask([1.0], unit="u3"))
    log.do(lambda e: e.tell("u0", 1.0))
    assert log.history().overdue == frozenset()
    assert log.history(now=log.now + timedelta(seconds=1)).overdue == {2, 3}
    log.do(lambda e: e.lose("u1"), reason="gone")
    assert log.history(now=log.now + timedelta(days=1)).overdue == {3}
    log.do(lambda e: e.correct("u1", 2.0), reason="found after all")
    assert [unit.status for unit in log.history().units] == ["told", "told", "pending", "pending"]


def test_units_assigned_together_are_units():
    log = Log(eq.Experiment(eq.Problem(["a", "b"], 1, budget=9), "uniform"))
    log.do(lambda e: e.ask_many([[1.0], [2.0], [3.0]], ["x", "y", "z"]))
    units = log.history().units
    assert {unit.key for unit in units} == {"x", "y", "z"}
    assert all(unit.together for unit in units)


def test_erased_entries_leave_units_without_an_arm(log):
    entries = [
        replace(entry, event=None) if (entry.event or {}).get("unit") == "P-005" else entry
        for entry in log.entries
    ]
    redacted = replace(entries[-1], kind="redacted", event={"kind": "redacted", "ids": [5]})
    history = history_of_log([*entries, redacted])
    assert len(history.units) == 120
    assert history.units[4].assigned is None
    assert [unit.id for unit in history.units if unit.redacted] == [5]
    assert any("data erased" in row[1] for row in deviations(history))


def test_every_deviation_has_its_date_name_and_reason(log):
    rows = list(deviations(log.history()))
    expected = [
        entry
        for entry in log.entries
        if entry.kind not in ("created", "asked", "told") or (entry.event or {}).get("chosen")
    ]
    assert len(rows) == len(expected) == 12
    for row, entry in zip(rows, expected, strict=True):
        assert row[0] == f"{entry.time:%Y-%m-%d %H:%M}"
        assert row[3:] == [entry.actor, entry.reason or "–"]
    said = {row[1].split(":")[0] for row in rows}
    assert {"outcome lost", "unit withdrawn", "arm given by a person", "received another arm"} <= said


def test_an_experiment_in_memory_is_copied_at_one_moment(log):
    history, copied = history_of(log.experiment)
    assert copied is not log.experiment
    assert not history.logged
    assert history.head is None
    assert len(history.units) == copied.asked
