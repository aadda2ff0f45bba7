"""Outcomes and what else becomes of units: tell, correct, lose, withdraw, received, expire, redact."""

from __future__ import annotations

import pytest

import equipoise as eq


def statuses(live, trial):
    return {unit["unit"]: unit["status"] for unit in live("units", trial, "--json")["units"]}


def outcome(live, trial, unit):
    return next(u["outcome"] for u in live("units", trial, "--json")["units"] if u["unit"] == unit)


def test_an_outcome_twice_is_harmless_and_another_names_correct(live, refused, running):
    assert live("tell", running, "P-10", "-1.5") == "1 outcome stored.\n"
    rows = live("status", running, "--json")["head"]["sequence"]
    assert live("tell", running, "P-10", "-1.5") == "0 outcomes stored. 1 outcome was known already.\n"
    assert live("status", running, "--json")["head"]["sequence"] == rows
    _, hint = refused(6, "tell", running, "P-10", "2")
    assert "correct" in hint
    assert outcome(live, running, "P-10") == -1.5


def test_correct_needs_a_reason_and_keeps_it(live, refused, running):
    message, _ = refused(2, "correct", running, "P-01", "9")
    assert "--reason" in message
    live("correct", running, "P-01", "-9", "--reason", "typing error", "--actor", "dr-who")
    assert outcome(live, running, "P-01") == -9.0
    entry = live("log", running, "--json")["rows"][-1]
    assert (entry["kind"], entry["actor"], entry["reason"]) == ("corrected", "dr-who", "typing error")


def test_units_by_number(live, refused, running):
    number = next(u["id"] for u in live("units", running, "--json")["units"] if u["unit"] == "P-10")
    live("tell", running, number, "4", "--id")
    assert outcome(live, running, "P-10") == 4.0
    refused(2, "tell", running, "P-10", "4", "--id")
    twice = "unit,outcome\n2,1\n02,3\n"
    assert "line 3: unit 2" in refused(2, "tell", running, "--id", "--file", "-", stdin=twice)[0]
    refused(2, "tell", running, number, "4")  # no unit has that key


def test_a_file_of_outcomes_is_told_whole_or_not_at_all(live, refused, running):
    wrong = "unit,outcome\nP-10,1\nP-99,2\n"
    message, _ = refused(2, "tell", running, "--file", "-", stdin=wrong)
    assert "P-99" in message
    assert statuses(live, running)["P-10"] == "pending"
    text = "patient;y\nP-10;1.5\nP-11;\nP-01;0.8\n".replace("P-01;0.8\n", "")
    columns = ("--unit-column", "patient", "--outcome-column", "y")
    said = live("tell", running, "--file", "-", *columns, "--dry-run", stdin=text)
    assert said == "1 outcome would be stored; nothing was. 1 line without an outcome left out.\n"
    assert statuses(live, running)["P-10"] == "pending"
    said = live("tell", running, "--file", "-", *columns, stdin=text)
    assert said == "1 outcome stored. 1 line without an outcome left out.\n"
    assert statuses(live, running) | {"P-11": "pending"} == statuses(live, running)
    assert outcome(live, running, "P-10") == 1.5
    more = "unit,outcome\nP-10,1.5\nP-11,2\n"
    assert live("tell", running, "--file", "-", "--dry-run", stdin=more) == (
        "1 outcome would be stored; nothing was. 1 outcome was known already.\n"
    )
    found = live("tell", running, "--file", "-", "--json", stdin=more)
    assert (found["outcomes"], found["new"], found["known"]) == (2, 1, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("unit,outcome\nP-10,3 mg\n", "line 2: the outcome '3 mg' is not a number"),
        ("unit,y\nP-10,3\n", "line 2 of standard input has no 'outcome'"),
        ("unit,outcome\nP-10,\n", "no line has an 'outcome'"),
        ("unit,outcome\n", "standard input has a heading and no lines"),
        ("", "standard input is empty"),
        ('{"unit": "P-10", "outcome": tru}', "line 1 is not JSON"),
        ("unit,outcome\nP-10,1,2\n", "line 2 has 3 cells under 2 headings"),
        ("unit,unit\nP-10,1\n", "two columns are called 'unit'"),
        ("unit,outcome\nP-10,1\nP-11,1e200\n", "line 3: outcome 1e+200 is too large"),
        ('{"unit": "P-10", "outcome": 1}\n{"unit": "P-11", "outcome": "3"}', "line 2: outcome '3' is not"),
        ('{"unit": "P-10", "outcome": NaN}', "line 1: outcome nan is not"),
        ('{"unit": "P-10", "outcome": 1%s}' % ("0" * 5000), "line 1 is not JSON"),
        ('{"unit": 10.0, "outcome": 1}', "line 1: the unit 10.0 is no text"),
        ('{"unit": null, "outcome": 1}', "line 1: no unit"),
    ],
)
def test_wrong_files(refused, running, text, message):
    assert refused(2, "tell", running, "--file", "-", stdin=text)[0].startswith(message)


def test_outcomes_out_of_their_range_are_named_by_their_line(live, refused, tmp_path):
    problem = 'arms = ["a", "b"]\ndim = 1\nbudget = 9\noutcome = {kind = "number", low = 0, high = 10}\n'
    (tmp_path / "problem.toml").write_text(problem)
    live("new", "bounded", "--problem", "problem.toml")
    live("ask", "bounded", "--file", "-", stdin="unit,x\nU-1,1\nU-2,1\n")
    text = "unit,outcome\nU-1,3\nU-2,30\n"
    assert refused(2, "tell", "bounded", "--file", "-", stdin=text)[0].startswith("line 3: ")
    correct = ("correct", "bounded", "--reason", "r", "--file", "-")
    assert refused(2, *correct, "--dry-run", stdin=text)[0].startswith("line 3: ")


def test_signs_that_end_lines_elsewhere_may_stand_in_json(live, running):
    text = '{"unit": "P-10", "note": "a\u2028b\x85c", "outcome": 1}\r\n{"unit": "P-11", "outcome": 2}\r\n'
    assert live("tell", running, "--file", "-", stdin=text) == "2 outcomes stored.\n"


def test_lost_units_come_back_and_withdrawn_ones_do_not(live, refused, running):
    assert live("lose", running, "P-10", "--reason", "moved away") == "P-10 is lost.\n"
    assert statuses(live, running)["P-10"] == "lost"
    live("tell", running, "P-10", "2")
    assert statuses(live, running)["P-10"] == "told"
    live("withdraw", running, "P-10", "--reason", "consent withdrawn")
    assert statuses(live, running)["P-10"] == "withdrawn"
    refused(2, "tell", running, "P-10", "2")
    for command in ("lose", "withdraw"):
        assert "--reason" in refused(2, command, running, "P-11")[0]


def test_received_shows_both_arms(live, running):
    before = next(u for u in live("units", running, "--json")["units"] if u["unit"] == "P-01")
    other = {"placebo": "drug", "drug": "placebo"}[before["arm"]]
    live("received", running, "P-01", other, "--reason", "pharmacy error")
    after = next(u for u in live("units", running, "--json")["units"] if u["unit"] == "P-01")
    assert (after["arm"], after["assigned"]) == (other, before["arm"])


def test_expire_takes_what_is_old_and_nothing_else(live, running):
    assert live("expire", running, "--older-than", "30d", "--reason", "late").startswith("0 units")
    listed = live("expire", running, "--older-than", "0.001s", "--reason", "late", "--dry-run", "--json")
    assert sorted(listed["units"]) == ["P-10", "P-11"]
    assert statuses(live, running)["P-10"] == "pending"
    found = live("expire", running, "--older-than", "0.001s", "--reason", "late", "--json")
    assert sorted(found["units"]) == ["P-10", "P-11"]
    assert statuses(live, running)["P-10"] == "lost"


def test_redact_asks_first_and_verify_says_redacted(live, refused, running):
    _, hint = refused(2, "redact", running, "P-01", "--reason", "GDPR request")
    assert "--yes" in hint
    dry = ("--reason", "GDPR request", "--dry-run")
    head = live("status", running, "--json")["head"]
    assert live("redact", running, "P-01", *dry) == "P-01 would be erased for good; nothing was.\n"
    assert live("redact", running, "P-01", *dry, "--json")["dry_run"] is True
    assert "is awaited" in refused(2, "redact", running, "P-11", *dry)[0]
    assert "P-99" in refused(2, "redact", running, "P-99", *dry)[0]
    assert live("status", running, "--json")["head"] == head
    before = eq.load_experiment(store="sqlite:///equipoise.db", name=running).estimates()
    live("redact", running, "P-01", "--reason", "GDPR request", "--yes")
    assert "redacted" in live("verify", running)
    assert "P-01" not in statuses(live, running)
    after = eq.load_experiment(store="sqlite:///equipoise.db", name=running).estimates()
    for one, other in zip(before, after, strict=True):
        assert one.noise_variance == pytest.approx(other.noise_variance, rel=1e-9)
