"""Entries from a file: all or none, once however often it is run, and dry; arms that persons gave, too."""

from __future__ import annotations

import json

import pytest

WHY = ("--reason", "the audit of March")


def statuses(live, trial):
    return {unit["unit"]: unit["status"] for unit in live("units", trial, "--json")["units"]}


def head(live, trial):
    return live("status", trial, "--json")["head"]


def test_a_file_of_corrections(live, refused, running):
    lines = ("correct", running, *WHY, "--file", "-")
    text = "patient;y\nP-01;7.5\nP-02;8.5\nP-03;\n"
    columns = ("--unit-column", "patient", "--outcome-column", "y")
    before = head(live, running)
    assert live(*lines, *columns, "--dry-run", stdin=text) == (
        "2 outcomes would be corrected; nothing was. 1 line without an outcome left out.\n"
    )
    assert head(live, running) == before
    assert live(*lines, *columns, stdin=text) == "2 outcomes corrected. 1 line without an outcome left out.\n"
    outcomes = {unit["unit"]: unit["outcome"] for unit in live("units", running, "--json")["units"]}
    assert (outcomes["P-01"], outcomes["P-02"]) == (7.5, 8.5)
    rows = live("log", running, "--json")["rows"][-2:]
    assert [(row["kind"], row["reason"]) for row in rows] == [("corrected", WHY[1])] * 2
    assert rows[0]["time"] == rows[1]["time"]
    more = "unit,outcome\nP-01,7.5\nP-04,-2\n"
    assert live(*lines, "--dry-run", stdin=more) == (
        "1 outcome would be corrected; nothing was. 1 outcome was known already.\n"
    )
    found = live(*lines, "--json", stdin=more)
    assert (found["outcomes"], found["new"], found["known"], found["reason"]) == (2, 1, 1, WHY[1])
    before = head(live, running)
    assert "P-99" in refused(2, *lines, stdin="unit,outcome\nP-05,1\nP-99,1\n")[0]
    assert refused(2, *lines, stdin="unit,outcome\nP-05,x\n")[0].startswith("line 2: the outcome 'x'")
    assert head(live, running) == before


@pytest.mark.parametrize(
    ("command", "status", "words"),
    [("lose", "lost", "declared lost"), ("withdraw", "withdrawn", "withdrawn")],
)
def test_a_file_of_units_that_leave(live, refused, running, command, status, words):
    lines = (command, running, *WHY, "--file", "-")
    both = "\n".join(map(json.dumps, [{"unit": "P-10"}, {"unit": "P-11", "site": 3}]))
    before = head(live, running)
    assert live(*lines, "--dry-run", stdin=both) == f"2 units would be {words}; nothing was.\n"
    dry = live(*lines, "--dry-run", "--json", stdin=both)
    assert (dry["dry_run"], dry["new"], dry["known"], dry["units"]) == (True, 2, 0, ["P-10", "P-11"])
    assert head(live, running) == before
    assert "P-99" in refused(2, *lines, stdin="unit\nP-10\nP-99\n")[0]
    message, _ = refused(2, *lines, stdin="unit\nP-10\nP-10\n")
    assert message == "line 3: unit 'P-10' is on line 2 already"
    assert head(live, running) == before
    assert live(*lines, stdin="unit\nP-10\n") == f"1 unit {words}.\n"
    found = live(*lines, "--json", stdin=both)
    assert (found["new"], found["known"], found["status"]) == (1, 1, status)
    assert live(*lines, stdin=both) == f"0 units {words}. 2 units were {status} already.\n"
    assert {unit for unit, now in statuses(live, running).items() if now == status} == {"P-10", "P-11"}
    assert [row["reason"] for row in live("log", running, "--json")["rows"][-2:]] == [WHY[1]] * 2


def test_a_file_of_arms_that_units_received(live, refused, running):
    arms = {unit["unit"]: unit["arm"] for unit in live("units", running, "--json")["units"]}
    other = {"placebo": "drug", "drug": "placebo"}
    lines = ("received", running, *WHY, "--file", "-")
    text = f"who;got\nP-01;{other[arms['P-01']]}\nP-10;{other[arms['P-10']]}\nP-02;{arms['P-02']}\n"
    columns = ("--unit-column", "who", "--arm-column", "got")
    before = head(live, running)
    assert live(*lines, *columns, "--dry-run", stdin=text) == (
        "2 other arms would be noted; nothing was. 1 other arm was known already.\n"
    )
    assert "P-99" in refused(2, *lines, *columns, stdin=text + "P-99;drug\n")[0]
    assert refused(2, *lines, *columns, stdin=text + "P-03;durg\n")[0].startswith("line 5: no arm 'durg'")
    assert refused(2, *lines, *columns, stdin=text + "P-03;\n")[0] == "line 5: no arm"
    assert "has no 'arm'" in refused(2, *lines, "--unit-column", "who", stdin=text)[0]
    assert (
        "needs a reason"
        in refused(2, "received", running, "--reason", " ", *lines[4:], *columns, stdin=text)[0]
    )
    assert head(live, running) == before
    found = live(*lines, *columns, "--json", stdin=text)
    assert (found["new"], found["known"], found["reason"]) == (2, 1, WHY[1])
    assert found["units"][0] == {"unit": "P-01", "arm": other[arms["P-01"]]}
    now = {unit["unit"]: unit for unit in live("units", running, "--json")["units"]}
    assert {unit for unit in arms if now[unit]["arm"] != arms[unit]} == {"P-01", "P-10"}
    rows = live("log", running, "--json")["rows"][-2:]
    assert [(row["kind"], row["reason"]) for row in rows] == [("received", WHY[1])] * 2
    assert rows[0]["time"] == rows[1]["time"]
    before = head(live, running)
    again = "\n".join(json.dumps({"unit": unit, "arm": other[arms[unit]]}) for unit in ("P-01", "P-10"))
    assert live(*lines, stdin=again) == "0 other arms noted. 2 other arms were known already.\n"
    assert head(live, running) == before
    live("verify", running)


def test_a_file_of_units_that_are_erased(live, refused, running):
    lines = ("redact", running, *WHY, "--file", "-")
    numbers = {unit["unit"]: unit["id"] for unit in live("units", running, "--json")["units"]}
    text = "unit\nP-01\nP-02\n"
    before = head(live, running)
    assert live(*lines, "--dry-run", stdin=text) == "2 units would be erased for good; nothing was.\n"
    assert refused(2, *lines, stdin=text)[1] == "type --yes to erase all the same"
    assert "P-10" in refused(2, *lines, "--yes", stdin=text + "P-10\n")[0]  # its outcome is awaited
    assert head(live, running) == before
    found = live(*lines, "--yes", "--json", stdin=text)
    assert (found["new"], found["known"], found["reason"]) == (2, 0, WHY[1])
    assert "P-01" not in json.dumps(found)
    rows = live("log", running, "--json")["rows"]
    assert [row["reason"] for row in rows if row["kind"] == "redacted"] == [WHY[1]]
    assert "2 units redacted" in live("verify", running)
    message, hint = refused(2, *lines, "--yes", stdin=text)
    assert "'P-01'" in message
    assert "a unit that was erased has none any more" in hint
    by_number = f"unit\n{numbers['P-01']}\n{numbers['P-03']}\n"
    again = live(*lines, "--yes", "--id", stdin=by_number)
    assert again == "1 unit erased. Backups and exports from before still have the data.\n"
    assert live(*lines, "--yes", "--id", "--json", stdin=by_number)["known"] == 2
    assert sum(now == "redacted" for now in statuses_by_number(live, running).values()) == 3


def statuses_by_number(live, trial):
    return {unit["id"]: unit["status"] for unit in live("units", trial, "--json")["units"]}


def test_single_entries_have_a_dry_run_as_well(live, refused, running):
    before = head(live, running)
    dry = ("--dry-run", *WHY)
    assert live("lose", running, "P-10", *dry) == "1 unit would be declared lost; nothing was.\n"
    assert live("withdraw", running, "P-01", *dry) == "1 unit would be withdrawn; nothing was.\n"
    assert live("correct", running, "P-01", "9", *dry) == "1 outcome would be corrected; nothing was.\n"
    assert "already has an outcome" in refused(2, "lose", running, "P-01", *dry)[0]
    assert "needs a reason" in refused(2, "lose", running, "P-10", "--dry-run", "--reason", " ")[0]
    assert head(live, running) == before


def test_units_in_files_by_number(live, refused, running):
    number = next(u["id"] for u in live("units", running, "--json")["units"] if u["unit"] == "P-10")
    live("lose", running, *WHY, "--id", "--file", "-", stdin=f"unit\n{number}\n")
    assert statuses(live, running)["P-10"] == "lost"
    twice = f"unit\n{number}\n0{number}\n"
    assert "line 3: unit" in refused(2, "lose", running, *WHY, "--id", "--file", "-", stdin=twice)[0]


def test_either_a_unit_or_a_file(refused, running):
    for command in ("lose", "withdraw", "correct", "received", "redact"):
        assert "do not go together" in refused(2, command, running, "P-10", "--file", "u.csv", *WHY)[0]
        assert "missing" in refused(2, command, running, *WHY)[0]


def test_a_file_of_units_that_have_their_arms(live, refused, trial, tmp_path):
    text = "unit,age,sex,arm\nH-1,30,f,drug\nH-2,40,m,placebo\nH-3,50,f,drug\n"
    lines = ("ask", trial, "--file", "-")
    assert "needs a reason" in refused(2, *lines, stdin=text)[0]
    assert live(*lines, *WHY, "--dry-run", stdin=text).startswith("3 units would be assigned; nothing was.")
    wrong = text.replace("placebo", "durg")
    assert refused(2, *lines, *WHY, stdin=wrong)[0].startswith("line 3: no arm 'durg'")
    assert refused(2, *lines, *WHY, stdin=text.replace("placebo", " "))[0] == "line 3: no arm"
    assert live("status", trial, "--json")["units"]["asked"] == 0
    given = live(*lines, *WHY, "--json", stdin=text)
    assert [unit["arm"] for unit in given["units"]] == ["drug", "placebo", "drug"]
    rows = live("log", trial, "--json")["rows"][1:]
    assert [(row["reason"], row["event"]["arm"]) for row in rows] == [
        *((WHY[1], "drug"), (WHY[1], "placebo"), (WHY[1], "drug"))
    ]
    assert len({row["time"] for row in rows}) == 1
    again = live(*lines, *WHY, "--json", stdin=text)
    assert (again["new"], again["known"], again["units"]) == (0, 3, given["units"])
    refused(6, *lines, *WHY, stdin=text.replace("placebo", "drug"))
    other = text.replace("arm", "got").replace("H-", "G-")
    live(*lines, *WHY, "--arm-column", "got", stdin=other)
    assert live("status", trial, "--json")["units"]["asked"] == 6
    assert "has no 'given'" in refused(2, *lines, *WHY, "--arm-column", "given", stdin=other)[0]
    assert "do not go together" in refused(2, *lines, *WHY, "--arms", "drug", stdin=text)[0]
    live("verify", trial)


def test_a_field_that_is_called_arm_is_no_arm(live, tmp_path):
    fields = 'formula = "1 + arm"\n[fields.arm]\nkind = "category"\nlevels = ["left", "right"]\n'
    (tmp_path / "fields.toml").write_text(fields)
    live("new", "limbs", "--arms", "a,b", "--features", "fields.toml", "--budget", "20")
    live("ask", "limbs", "--file", "-", stdin="unit,arm\nP-1,left\n")
    assert live("units", "limbs", "--json")["units"][0]["assigned"] in ("a", "b")
