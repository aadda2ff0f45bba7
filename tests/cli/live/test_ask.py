"""``equipoise ask``: one unit, many, again, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import equipoise as eq

PERSON = ("age=54", "sex=f")


def test_a_unit_gets_an_arm_and_keeps_it(live, trial):
    first = live("ask", trial, "P-1", *PERSON)
    unit, arm = first.strip().split(": ")
    assert unit == "P-1"
    assert arm in ("placebo", "drug")
    assert live("ask", trial, "P-1", *PERSON) == first
    assert live("status", trial, "--json")["units"]["asked"] == 1


def test_the_arms_are_those_of_an_experiment_in_memory(live, trial):
    problem = eq.load_experiment(store="sqlite:///equipoise.db", name=trial).problem
    twin = eq.Experiment(problem, seed=3)
    for i in range(12):
        person = {"age": 20 + 5 * i, "sex": "fm"[i % 2]}
        typed = [f"{name}={value}" for name, value in person.items()]
        found = live("ask", trial, f"P-{i}", *typed, "--json")
        assert found["arm"] == twin.ask(person, unit=f"P-{i}").arm
        assert found["id"] == i + 1
        live("tell", trial, f"P-{i}", i % 5)
        twin.tell(f"P-{i}", float(i % 5))


def test_scores_are_shown_only_if_they_are_asked_for(live, trial):
    assert live("ask", trial, "P-1", *PERSON, "--json").keys() == {
        *("command", "version", "numerics", "experiment", "unit", "id", "arm", "receipt")
    }
    assert "score" not in live("ask", trial, "P-2", *PERSON).lower()
    found = live("ask", trial, "P-3", *PERSON, "--json", "--scores")
    assert found["scores"].keys() == found["propensities"].keys() == {"placebo", "drug"}
    assert "score" in live("ask", trial, "P-3", *PERSON, "--scores").lower()
    told = live("log", trial, "--json")["rows"][-1]["event"]
    assert "scores" not in told
    assert "scores" in live("log", trial, "--json", "--scores")["rows"][-1]["event"]


def test_another_context_under_the_same_key_is_a_conflict(live, refused, trial):
    live("ask", trial, "P-1", *PERSON)
    message, _ = refused(6, "ask", trial, "P-1", "age=55", "sex=f")
    assert "P-1" in message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("age=154", "sex=f"), "'age' is 154, not within 18 to 90"),
        (("age=54,5", "sex=f"), "'age' is '54,5', with a comma"),
        (("--context", "1,2,3"), "units have fields here, no vectors"),
        (("age=54", "sex=x"), "'sex' is 'x', not one of its levels"),
        (("age=54",), "no value of 'sex'"),
        (("age=54", "sex=f", "hight=3"), "no field 'hight'"),
        (("age54",), "'age54' is not FIELD=VALUE"),
        (("age=1", "age=2"), "'age' is typed twice"),
        ((), "nothing is said of the unit"),
        (("--context", "1,x"), "'x' in --context 1,x is not a number"),
    ],
)
def test_wrong_contexts_change_nothing(live, refused, trial, words, message):
    found, _ = refused(2, "ask", trial, "P-1", *words)
    assert message in found
    assert live("status", trial, "--json")["units"]["asked"] == 0


def test_vectors(live, refused):
    live("new", "plain", "--arms", "a,b", "--dim", "2", "--budget", "20")
    assert live("ask", "plain", "U", "--context", "1,-0.5").startswith("U: ")
    _, hint = refused(2, "ask", "plain", "V", "x=1")
    assert "--context 1,0.5" in hint


def test_a_person_may_give_the_arm_with_a_reason(live, refused, trial):
    refused(2, "ask", trial, "P-1", *PERSON, "--arm", "drug")
    assert live("ask", trial, "P-1", *PERSON, "--arm", "drug", "--reason", "protocol 4.2") == "P-1: drug\n"
    entry = live("log", trial, "--json")["rows"][-1]
    assert (entry["event"]["arm"], entry["reason"]) == ("drug", "protocol 4.2")
    assert "given_by_person" in live("units", trial)
    for i in range(6):
        assert live("ask", trial, f"Q-{i}", *PERSON, "--arms", "placebo") == f"Q-{i}: placebo\n"
    units = live("units", trial, "--json")["units"]
    assert [unit["given_by_person"] for unit in units] == [True] + [False] * 6
    assert [unit["propensity"] for unit in units] == [None] + [1.0] * 6
    live("export", trial, "units.csv")
    with Path("units.csv").open(newline="") as file:
        assert [line["given_by_person"] for line in csv.DictReader(file)] == ["True"] + ["False"] * 6
    parquet = pytest.importorskip("pyarrow.parquet")
    live("export", trial, "units.parquet")
    column = parquet.read_table("units.parquet").column("given_by_person")
    assert column.to_pylist() == [True] + [False] * 6


def test_a_file_is_assigned_together_and_can_be_run_again(live, trial, tmp_path):
    lines = [{"unit": f"P-{i}", "age": 20 + i, "sex": "m"} for i in range(5)]
    (tmp_path / "units.jsonl").write_text("\n".join(map(json.dumps, lines)))
    first = live("ask", trial, "--file", "units.jsonl", "--json")["units"]
    assert [unit["unit"] for unit in first] == [f"P-{i}" for i in range(5)]
    assert live("ask", trial, "--file", "units.jsonl", "--json")["units"] == first
    longer = "\n".join(map(json.dumps, [*lines, {"unit": "P-5", "age": 60, "sex": "f"}]))
    again = live("ask", trial, "--file", "-", "--json", stdin=longer)["units"]
    assert again[:5] == first
    assert live("status", trial, "--json")["units"]["asked"] == 6


def test_a_file_with_one_wrong_line_assigns_nobody(live, refused, trial, tmp_path):
    (tmp_path / "units.csv").write_text("unit,age,sex\nP-1,20,f\nP-2,200,f\n")
    message, _ = refused(2, "ask", trial, "--file", "units.csv")
    assert message.startswith("line 3: 'age' is 200")
    (tmp_path / "units.csv").write_text("unit;age;sex\nP-1;20;f\nP-1;30;f\n")
    message, _ = refused(2, "ask", trial, "--file", "units.csv")
    assert message == "line 3: unit 'P-1' is on line 2 already"
    assert live("status", trial, "--json")["units"]["asked"] == 0


def test_more_units_than_the_budget_has_are_refused_together(live, refused, trial):
    text = "\n".join(["unit,age,sex", *(f"P-{i},40,f" for i in range(41))])
    refused(5, "ask", trial, "--file", "-", stdin=text)
    assert live("status", trial, "--json")["units"]["asked"] == 0


def test_a_dry_run_decides_nothing_and_shows_no_arm(live, refused, trial):
    text = "unit,age,sex\nP-1,20,f\nP-2,30,m\n"
    live("ask", trial, "P-1", "age=20", "sex=f")
    said = live("ask", trial, "--file", "-", "--dry-run", stdin=text)
    assert said.startswith("1 unit would be assigned, and 1 has its arm already; nothing was.")
    assert "placebo" not in said
    assert "drug" not in said
    found = live("ask", trial, "--file", "-", "--dry-run", "--json", stdin=text)
    assert (found["new"], found["known"], found["remaining"]) == (1, 1, 39)
    refused(6, "ask", trial, "P-1", "age=21", "sex=f", "--dry-run")
    given = ("ask", trial, "P-9", "age=21", "sex=f", "--dry-run", "--arm")
    assert "1 unit would be assigned" in live(*given, "drug", "--reason", "the other one is out of stock")
    assert "needs a reason" in refused(2, *given, "drug")[0]
    assert "no arm 'durg'" in refused(2, *given, "durg", "--reason", "x")[0]
    assert live("status", trial, "--json")["units"]["asked"] == 1


def test_pauses_are_a_status_of_their_own(live, refused, trial):
    live("pause", trial, "--reason", "safety review")
    message, _ = refused(5, "ask", trial, "P-1", *PERSON)
    assert "paused" in message
    live("resume", trial)
    live("ask", trial, "P-1", *PERSON)


@pytest.mark.parametrize(
    "arguments",
    [
        ("P-1", "--file", "u.csv"),
        (),
        ("--file", "u.csv", "--arm", "drug"),
        ("P-1", "age=3", "--context", "1"),
    ],
)
def test_what_does_not_go_together(refused, trial, arguments):
    refused(2, "ask", trial, *arguments)


def test_receipts_are_printed_on_request_and_prove_the_call(live, refused, trial):
    said = live("ask", trial, "P-1", *PERSON, "--receipt")
    receipt = said.splitlines()[1].removeprefix("Receipt: ")
    assert receipt == live("ask", trial, "P-1", *PERSON, "--json")["receipt"]
    assert "in the log" in live("verify", trial, "--receipt", receipt)
    changed = receipt[:-1] + ("0" if receipt[-1] != "0" else "1")
    refused(4, "verify", trial, "--receipt", changed)
