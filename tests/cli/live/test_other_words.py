"""What people type for contexts and times, beside the usual."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

import equipoise as eq
from equipoise.cli.live.common.contexts import example, record_of, typed_record
from equipoise.cli.live.common.times import duration_of
from equipoise.errors import InvalidArgument

FEATURES = eq.Features(
    smoker=eq.Category(False, True), stage=eq.Category(1, 2, 3), site=eq.Category("1", "two words"),
    age=eq.Number(missing="indicator"),
)  # fmt: skip


def test_levels_are_what_they_are_and_not_text():
    record = typed_record(FEATURES, ["smoker=true", "stage=2", "site=1", "age=54.5"])
    assert record == {"smoker": True, "stage": 2, "site": "1", "age": 54.5}
    assert type(record["stage"]) is int
    FEATURES.encode(record)


def test_an_empty_cell_is_missing():
    assert record_of(FEATURES, {"age": " ", "site": "two words "}) == {"age": None, "site": "two words"}


def test_examples_can_be_typed():
    assert example(FEATURES) == "smoker=False stage=1 site=1 age=1"
    assert example(eq.Problem(2, 12, budget=99).features) == "--context 1,0.5,2,…"


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("30d", timedelta(days=30)),
        ("1.5h", timedelta(minutes=90)),
        ("2w", timedelta(days=14)),
        ("90 min", timedelta(minutes=90)),
    ],
)
def test_lengths_of_time(text, duration):
    assert duration_of("--deadline")(text) == duration


@pytest.mark.parametrize("text", ["30", "d", "-3d", "0d", "1y", "1e3d", "99999999999w"])
def test_no_lengths_of_time(text):
    with pytest.raises(InvalidArgument, match="is not a length of time"):
        duration_of("--deadline")(text)


def test_a_vector_in_json_and_one_in_columns(live):
    live("new", "plain", "--arms", "a,b", "--dim", "2", "--budget", "20")
    live("ask", "plain", "--file", "-", stdin='{"unit": "U-1", "context": [1, 0.5]}')
    live("ask", "plain", "--file", "-", stdin="unit,first,second\nU-2,1,-2.5\n")
    units = live("units", "plain", "--json")["units"]
    assert [[unit["x[0]"], unit["x[1]"]] for unit in units] == [[1.0, 0.5], [1.0, -2.5]]


@pytest.mark.slow  # a policy of one's own compiles everything anew
def test_a_policy_of_ones_own_must_be_at_hand_to_decide(tmp_path):
    (tmp_path / "mine.py").write_text(
        'import equipoise as eq\n\n\n@eq.register("mine-live")\ndef mine(arm, trial, settings):\n'
        "    return -float(arm.count)\n"
    )
    new = "new t --arms a,b --dim 1 --budget 9 --policy mine-live --import mine.py"
    at_hand = in_one_process([new, "ask t U-1 --context 1 --import mine.py", "verify t"], tmp_path)
    assert at_hand.stdout.count("status 0") == 3
    assert "1 decision made anew" in at_hand.stdout
    elsewhere = in_one_process(["ask t U-2 --context 1", "status t"], tmp_path)
    assert re.findall(r"status (\d)", elsewhere.stdout) == ["2", "0"]
    assert "mine-live" in elsewhere.stderr


def in_one_process(lines, folder):
    """Commands one after the other, each with the status that it ends with."""
    script = """
import sys
from equipoise.cli import main
for line in sys.argv[1:]:
    try:
        main(line.split(), prog_name="equipoise")
    except SystemExit as end:
        print("status", end.code, flush=True)
"""
    line = [sys.executable, "-c", script, *lines]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True)


def test_hints_are_what_can_be_typed_and_not_methods(refused, running):
    assert refused(2, "tell", running, "P-99", "1")[1].startswith("'equipoise units trial' lists the keys")
    assert refused(6, "tell", running, "P-01", "99")[1].startswith(
        "to replace it: equipoise correct trial UNIT"
    )
    given = ("ask", running, "P-99", "age=50", "sex=f", "--arm", "drug")
    assert "--reason" in refused(2, *given)[1]
    assert (
        "'equipoise lose' or 'withdraw'" in refused(2, "redact", running, "P-11", "--reason", "r", "--yes")[1]
    )
    assert refused(2, "lose", running, "P-11")[1].startswith("type --reason TEXT (Why, for the log")
    assert refused(2, "tell", running, "P-11")[0] == "VALUE is missing"


def test_one_thing_is_not_several(live, trial):
    live("ask", trial, "P-01", "age=30", "sex=f")
    said = live("verify", trial)
    assert "2 rows, 1 unit, chain sound" in said
    assert "1 decision made anew" in said


def test_refusals_name_the_key_and_the_way_out(live, refused, running):
    message, _ = refused(2, "redact", running, "P-11", "--reason", "r", "--yes")
    assert message == "the outcome of unit 'P-11' is awaited, and would come to nobody"
    live("export", running, "trial.jsonl")
    assert "--store sqlite:///other.db" in refused(2, "import", "trial.jsonl")[1]
    new = ("--arms", "a,b", "--dim", "1", "--budget", "9")
    assert refused(2, "new", running, *new)[1].startswith("type another name, or another place: --store")
    assert "--import FILE.py" in refused(2, "new", "other", *new, "--policy", "trace-gian")[1]


def test_what_stops_an_experiment_is_answered_with_a_command(live, refused, running):
    asked = ("ask", running, "P-99", "age=50", "sex=f")
    assert "equipoise withdraw trial UNIT" in refused(2, "lose", running, "P-01", "--reason", "r")[1]
    other = ("--arm", next(arm for arm in ("drug", "placebo") if arm != arm_of(live, running, "P-01")))
    given = refused(6, "ask", running, "P-01", "age=25", "sex=m", *other, "--reason", "r")[1]
    assert "equipoise received trial UNIT ARM" in given
    assert "type a larger one" in refused(2, "budget", running, "3")[1]
    live("pause", running)
    assert refused(5, *asked)[1] == "first 'equipoise resume trial'"
    live("resume", running)
    for arm in ("drug", "placebo"):
        live("close-arm", running, arm, "--reason", "r")
    assert refused(5, *asked)[1].startswith("'equipoise reopen-arm trial ARM'")
    live("reopen-arm", running, "drug")
    live("budget", running, "12")
    assert refused(5, *asked)[1].startswith("'equipoise budget trial N' makes it larger")


def arm_of(live, name, key):
    return next(unit["arm"] for unit in live("units", name, "--json")["units"] if unit["unit"] == key)


def test_store_and_name_are_given_by_name():
    for function in (eq.load_experiment, eq.create_experiment):
        with pytest.raises(InvalidArgument, match=r"needs store= and name=.*store=\"sqlite:///trial\.db\""):
            function("trial")
        with pytest.raises(InvalidArgument, match="needs store= and name="):
            function(name="trial")


def test_a_field_in_the_place_of_the_key_is_no_key(live, refused, trial):
    message, hint = refused(2, "ask", trial, "age=54", "sex=f")
    assert message == "'age=54' stands where the key of the unit belongs"
    assert hint == "e.g. equipoise ask trial P-017 age=50 sex=f"
    assert live("ask", trial, "site=2", "age=54", "sex=f").startswith("site=2: ")  # no field, so a key


def test_hints_can_be_followed_in_a_shell(live, refused, running):
    live("withdraw", running, "P-10", "--reason", "r")
    assert "under another key" in refused(2, "tell", running, "P-10", "1")[1]
    assert "lose(" not in refused(2, "tell", running, "P-11", "1e999")[1]
    few = ("new", "small", "--arms", "a,b", "--dim", "40", "--budget", "20")
    hint = refused(2, *few)[1]
    assert hint == (
        "type --budget 82 or more, or fewer arms or features; if few features matter, --allow-small-budget "
        "and --policy sparse-trace-ucb"
    )
    live(*few, "--allow-small-budget", "--policy", "sparse-trace-ucb:screen=4")
    hint = refused(2, "add-arm", running, "c", "--floor", "40")[1]
    assert (
        hint
        == "'equipoise close-arm trial ARM' another that is still to get units, or 'equipoise budget trial N'"
    )
    live("new", "plain", "--arms", "a,b", "--dim", "1", "--budget", "9")
    assert "equipoise expire plain --older-than" in refused(2, "units", "plain", "--status", "overdue")[1]


def test_one_second_is_not_several(live):
    new = ("--arms", "a,b", "--dim", "1", "--budget", "9", "--deadline")
    assert "overdue after 1 second." in live("new", "one", *new, "1s")
    assert "(after 1 second)" in live("status", "one")
    live("ask", "one", "U-1", "--context", "1")
    live("report", "one")
    assert "has not come within 1 second." in Path("one.html").read_text()
    assert "overdue after 0.5 seconds." in live("new", "two", *new, "0.5s")
