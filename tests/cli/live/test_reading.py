"""list, status, units, log: what is shown of an experiment."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import equipoise as eq
from equipoise.core.policies.base.policy import known_policies, restore_policies
from equipoise.report.document import Table
from equipoise.report.live.flow import flow_blocks
from equipoise.report.live.history import history_of


@pytest.fixture
def experiment(running):
    with eq.load_experiment(store="sqlite:///equipoise.db", name=running) as opened:
        yield opened


def test_status_has_the_numbers_of_the_estimates(live, experiment):
    facts = live("status", experiment.name, "--json")
    estimates = experiment.estimates()
    for shown, arm in zip(facts["arms"], estimates, strict=True):
        assert shown["arm"] == arm.arm
        assert (shown["told"], shown["pending"]) == (arm.observed, arm.pending)
        assert shown["noise"] == pytest.approx(arm.noise_variance)
        assert shown["expected_error"] == pytest.approx(arm.expected_error)
        assert shown["error_bound"] == pytest.approx(arm.error_bound)
    assert facts["error"]["regret"] == pytest.approx(estimates.regret)
    units = facts["units"]
    assert (units["asked"], units["told"], units["pending"], units["remaining"]) == (12, 10, 2, 28)
    head = experiment.store.head(experiment.name)
    assert facts["head"] == {"sequence": head.sequence, "epoch": head.epoch, "hash": head.hash.hex()}
    assert facts["deadline_seconds"] == 30 * 24 * 3600


def test_the_course_ends_with_what_least_squares_expects_now(live, experiment):
    last = live("status", experiment.name, "--json")["course"][-1]
    estimates = experiment.estimates()
    seen = np.array([experiment.problem.features.encode(unit_context(u)) for u in experiment.units()])
    moment = seen.T @ seen / len(seen)
    errors = []
    for arm in estimates:
        mine = np.array([x for x, u in zip(seen, experiment.units(), strict=True) if u["arm"] == arm.arm])
        errors.append(arm.noise_variance * np.trace(moment @ np.linalg.inv(mine.T @ mine)))
    assert last["units"] == 12
    assert last["error"] == pytest.approx(max(errors))
    noise = [arm.noise_variance for arm in estimates]
    ideal = eq.theory.ideal_allocation(noise=noise, dim=3, budget=12)
    assert last["oracle"] == pytest.approx(max(eq.theory.static_losses(noise, ideal, 3)))


def unit_context(unit):
    return {name: unit[name] for name in ("age", "sex")}


def test_status_fits_in_80_columns(live, running, monkeypatch):
    live("pause", running)
    live("close-arm", running, "drug", "--reason", "x")
    monkeypatch.setenv("COLUMNS", "80")
    text = live("status", running)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith(f"{running}: paused\n12 units assigned, 28 left\n")
    assert "Closed: drug" in text
    assert "Rule      trace-gain\n" in text


def test_the_seed_is_shown_only_if_it_is_asked_for(live):
    new = ("--arms", "a,b", "--dim", "1", "--budget", "9", "--seed", "987654321")
    said = [live("new", "one", *new), json.dumps(live("new", "two", *new, "--json"))]
    for line in (("status", "one"), ("status", "one", "--json"), ("log", "one"), ("log", "one", "--json")):
        said.append(str(live(*line)))
    assert not any("987654321" in text for text in said)
    assert "trace-gain, seed 987654321." in live("new", "three", *new, "--show-seed")
    assert live("new", "four", *new, "--show-seed", "--json")["seed"] == 987654321
    assert "Rule      trace-gain, seed 987654321\n" in live("status", "one", "--show-seed")
    assert live("status", "one", "--show-seed", "--json")["seed"] == 987654321
    assert live("log", "one", "--show-seed", "--json")["rows"][0]["event"]["seed"] == 987654321


def test_status_of_an_experiment_without_units(live, trial):
    facts = live("status", trial, "--json")
    assert facts["course"] == []
    assert [arm["noise"] for arm in facts["arms"]] == [None, None]
    text = live("status", trial)
    assert "outcomes missing, at least: placebo 4, drug 4." in text
    assert "noise variances" not in text  # no columns of dashes


def test_status_shows_no_bound_that_says_nothing(live, trial):
    lines = [f"P-{i},{20 + 9 * i},{'fm'[i % 2]}" for i in range(8)]
    live("ask", trial, "--file", "-", stdin="\n".join(["unit,age,sex", *lines]))
    first = [unit["unit"] for unit in live("units", trial, "--arm", "drug", "--json")["units"]]
    told = "\n".join(["unit,outcome", *(f"{unit},{i * i % 5}" for i, unit in enumerate(first))])
    live("tell", trial, "--file", "-", stdin=told)
    facts = next(arm for arm in live("status", trial, "--json")["arms"] if arm["arm"] == "drug")
    assert facts["told"] == 4
    assert facts["noise_interval"][1] > 100 * facts["noise"]  # --json has it
    text = live("status", trial)
    assert " or more" in text
    assert "e+" not in text
    assert "outcomes missing, at least: placebo 4." in text
    assert "Too few outcomes for an upper end: drug." in text


def test_every_unit_has_one_status_and_report_and_status_agree(live, running, tmp_path):
    live("lose", running, "P-10", "--reason", "moved away")
    for unit in ("P-03", "P-10"):
        live("redact", running, unit, "--reason", "asked for it", "--yes")
    facts = live("status", running, "--json")
    units = facts["units"]
    kinds = ("told", "pending", "lost", "withdrawn", "redacted")
    assert [units[kind] for kind in kinds] == [9, 1, 0, 0, 2]
    assert sum(units[kind] for kind in kinds) == units["asked"]
    assert units["redacted_in_models"] == 1
    assert sum(arm["told"] + arm["redacted_in_models"] for arm in facts["arms"]) == 10
    assert ", 2 redacted (1 outcome still in the models)\n" in live("status", running)
    with eq.load_experiment(store="sqlite:///equipoise.db", name=running) as opened:
        history, copied = history_of(opened)
    flow = next(block for block in flow_blocks(history, copied.problem.arms) if isinstance(block, Table))
    shown = {row[0]: int(row[1]) for row in flow.rows}
    assert (shown["outcome known"], shown["outcome awaited"], shown["redacted"]) == (9, 1, 2)
    assert (shown["of these in the models"], shown["outcomes of those who got the arm"]) == (1, 10)
    assert shown["lost"] == 0
    assert len(live("units", running, "--status", "redacted", "--json")["units"]) == 2
    said = live("verify", running)
    assert "2 units redacted, 4 rows erased" in said
    assert "decisions not verifiable: redacted" in said


def test_units_in_every_format(live, refused, running, tmp_path):
    units = live("units", running, "--json")["units"]
    assert len(units) == 12
    first = next(unit for unit in units if unit["unit"] == "P-00")
    assert (first["age"], first["sex"], first["status"], first["outcome"]) == (20, "f", "told", 0.0)
    rows = list(csv.DictReader(io.StringIO(live("units", running, "--format", "csv"))))
    assert [row["unit"] for row in rows] == [unit["unit"] for unit in units]
    live("units", running, "--format", "parquet", "--output", "units.parquet")
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(tmp_path / "units.parquet").column("arm").to_pylist() == [
        unit["arm"] for unit in units
    ]
    assert "P-00" in live("units", running)
    refused(2, "units", running, "--format", "parquet")
    refused(2, "units", running, "--output", "x.csv")


def test_tables_of_units_replace_no_file_and_hold_no_seed(live, refused, running, tmp_path):
    before = (tmp_path / "units.csv").read_text()  # who is to be asked for
    line = ("units", running, "--format", "csv", "--output", "units.csv")
    message, hint = refused(2, *line)
    assert message == "units.csv is there already"
    assert "--overwrite" in hint
    assert (tmp_path / "units.csv").read_text() == before
    live(*line, "--overwrite")
    assert (tmp_path / "units.csv").read_text() != before
    assert "do not go together" in refused(2, *line, "--overwrite", "--json")[0]
    parquet = pytest.importorskip("pyarrow.parquet")
    live("units", running, "--format", "parquet", "--output", "a.parquet")
    live("export", running, "b.parquet")
    for name in ("a.parquet", "b.parquet"):
        about = json.loads(parquet.read_schema(tmp_path / name).metadata[b"equipoise"])
        assert about.keys() == {"version", "numerics", "policy"}


def test_units_can_be_chosen(live, refused, running):
    pending = live("units", running, "--status", "pending", "--json")["units"]
    assert [unit["unit"] for unit in pending] == ["P-10", "P-11"] or len(pending) == 2
    assert live("units", running, "--status", "overdue") == "No units.\n"
    arms = {unit["arm"] for unit in live("units", running, "--arm", "drug", "--json")["units"]}
    assert arms == {"drug"}
    assert "no arm 'drugs'" in refused(2, "units", running, "--arm", "drugs")[0]
    assert not any(name.startswith("score") for name in pending[0])
    shown = live("units", running, "--scores", "--json")["units"][0]
    assert {"score of placebo", "score of drug"} <= shown.keys()


def test_the_log_can_be_chosen_from(live, running):
    rows = live("log", running, "--json")["rows"]
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))
    assert live("log", running, "--after", len(rows) - 2, "--json")["rows"] == rows[-2:]
    told = live("log", running, "--kind", "told", "--json")["rows"]
    assert len(told) == 10
    about = live("log", running, "--unit", "P-03", "--json")["rows"]
    assert about[-1]["kind"] == "told"
    assert len(about) == 2
    assert live("log", running, "--kind", "lost") == "No rows.\n"
    assert "told: P-03 → " in live("log", running)


def test_the_list(live, running):
    live("new", "lab/two", "--arms", "a,b", "--dim", "1", "--budget", "9", "--mode", "practice")
    listed = live("list", "--json")["experiments"]
    assert [(found["name"], found["mode"]) for found in listed] == [
        ("lab/two", "practice"),
        (running, "live"),
    ]
    assert [found["name"] for found in live("list", "lab", "--json")["experiments"]] == ["lab/two"]
    assert "lab/two" in live("list")
    assert live("list", "nowhere").strip() == "sqlite:///equipoise.db has no experiments of nowhere."


def test_a_forecast_is_of_the_experiment_as_it_stands(live, running):
    line = ("forecast", running, "--policy", "uniform", "--budget", "60", "--trials", "40", "--seed", "1")
    found = live(*line, "--json")
    assert [(course["policy"], course["budget"]) for course in found["courses"]] == [
        *(("trace-gain", budget) for budget in (40, 60)),
        *(("uniform", budget) for budget in (40, 60)),
    ]
    assert (found["name"], found["experiment"]["asked"], found["trials"]) == (running, 12, 40)
    assert "uniform" in live(*line)
    assert live("status", running, "--json")["units"]["asked"] == 12


def test_a_forecast_says_what_is_lost_and_awaited(live, refused, running):
    line = ("forecast", running, "--trials", "20")
    assert "Losses to come, as given: 20 %." in live(*line, "--losses", "0.2")
    arms = live(*line, "--json")["experiment"]["arms"]
    found = live(*line, "--losses", f"{arms[1]}=0.1", "--lag", "3", "--json")["experiment"]
    assert found["losses"]["rates"] == {arms[0]: 0.0, arms[1]: 0.1}
    assert found["waits"] == {"from": "given", "lag": 3, "median": 3.0}
    message, _ = refused(2, *line, "--losses", "1.5")
    assert "--losses 1.5 is not a number of at least 0 and below 1" in message


def test_a_kind_of_row_that_there_is_not_is_refused(live, refused, running):
    message, hint = refused(2, "log", running, "--kind", "foo")
    assert message == "no row is of the kind 'foo'"
    assert "created, asked, asked_together, told" in hint
    assert len(live("log", running, "--kind", "told", "--json")["rows"]) == 10
    for words in ("asked_together", "asked together"):  # as the table shows it
        assert len(live("log", running, "--kind", words, "--json")["rows"]) == 12
    assert live("log", running, "--kind", "withdrawn") == "No rows.\n"


def test_a_report_is_written_once(live, refused, running, tmp_path):
    assert live("report", running) == "Report: trial.html\n"
    assert "P-03" in (tmp_path / "trial.html").read_text() or running in (tmp_path / "trial.html").read_text()
    refused(2, "report", running)
    live("report", running, "--overwrite")


def test_a_report_takes_statements_and_a_simulation(live, refused, running, tmp_path):
    (tmp_path / "said.toml").write_text('blinding = "Raters did not know the arms."\n')
    scenario = eq.GaussianScenario(noise=[1.0, 2.0], dim=2, budget=20)
    eq.simulate(scenario, ["uniform"], trials=40, seed=1).save(tmp_path / "result.npz")
    live("report", running, "--statements", "said.toml", "--simulation", "result.npz")
    page = (tmp_path / "trial.html").read_text()
    assert "Raters did not know the arms." in page
    assert "40 trials" in page
    (tmp_path / "simulated").mkdir()
    (tmp_path / "result.npz").rename(tmp_path / "simulated" / "result.npz")
    (tmp_path / "trial.html").unlink()
    live("report", running, "--simulation", "simulated")  # as 'simulate --output simulated' leaves it
    assert "40 trials" in (tmp_path / "trial.html").read_text()
    (tmp_path / "empty").mkdir()
    message, hint = refused(2, "report", running, "--overwrite", "--simulation", "empty")
    assert message == "there is no result.npz in empty"
    assert "equipoise simulate" in hint
    message, _ = refused(2, "report", running, "--overwrite", "--statements", "simulated/result.npz")
    assert "not TOML" in message


def test_status_says_when_the_rule_is_not_at_hand(live, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import equipoise as eq\n\n@eq.register('test-status')\n"
        "def test_status(arm, trial, settings):\n    return -arm.count\n"
    )
    known = known_policies()
    try:
        own = ("--policy", "test-status", "--import", "mine.py")
        live("new", "own", "--arms", "a,b", "--dim", "1", "--budget", "9", *own)
        assert live("status", "own", "--json")["caution"] is None
    finally:
        restore_policies(known)
    assert "not corrected for adaptive" in live("status", "own", "--json")["caution"]
    assert "Warning: the policy 'test-status' is not at hand" in live("status", "own")
    (tmp_path / "again.py").write_text((tmp_path / "mine.py").read_text())  # a file is imported once
    try:
        assert live("status", "own", "--json", "--import", "again.py")["caution"] is None
        live("ask", "own", "U-1", "--context", "1", "--import", "again.py")
        assert live("tell", "own", "U-1", "2", "--import", "again.py") == "1 outcome stored.\n"
    finally:
        restore_policies(known)
