"""The report of an experiment in a store: the log is found, and its receipt verifies."""

from __future__ import annotations

import shlex
from datetime import timedelta

import numpy as np
import pytest
from report_pages import Page
from reporting.scripted_trial import FEATURES, outcome, person

import equipoise as eq
from equipoise.report import write_report
from equipoise.report.live.course import MOMENTS, course_of
from equipoise.report.live.history import history_of, history_of_memory


@pytest.fixture
def experiment(tmp_path):
    rng = np.random.default_rng(1)
    problem = eq.Problem(["placebo", "low", "high"], features=FEATURES, budget=40)
    made = eq.create_experiment(
        store=f"sqlite:///{tmp_path / 'trial.db'}",
        name="asthma/trial-1",
        problem=problem,
        policy="trace-gain:chance=0.3",
        seed=3,
        mode="practice",
        actor="dr-who",
        deadline=timedelta(0),
    )
    with made:
        for number in range(24):
            x = person(rng)
            unit = made.ask(x, unit=f"P-{number:03d}")
            if number % 6:
                made.tell(unit.unit, outcome(rng, x, unit.arm))
        made.ask_many([person(rng), person(rng)], ["Q-1", "Q-2"])
        made.lose("P-006", reason="moved away")
        made.close_arm("low", reason="recall of a batch")
        made.ask(person(rng), unit="Q-3", arm="high", reason="allergic")
        yield made


def test_the_log_is_found_and_its_receipt_verifies(experiment, tmp_path):
    page = Page(write_report(tmp_path / "trial.html", experiment).read_text())
    for text in ("moved away", "recall of a batch", "allergic", "dr-who"):
        assert text in page.cells
    assert "This is practice: units are not real." in page.text
    assert page.cells[page.cells.index("of these overdue") + 1] == "6"
    command = page.text[page.text.index("equipoise verify") :].split(" Settings")[0]
    words = shlex.split(command.replace("\\ ", ""))
    assert words[2:5] == ["asthma/trial-1", "--store", experiment.store.url]
    assert experiment.verify(words[6])
    assert words[6] == page.metadata["head"]


def test_the_history_is_the_table_of_units(experiment):
    history, copied = history_of(experiment)
    table = experiment.units()
    assert [unit.key for unit in history.units] == [unit["unit"] for unit in table]
    assert [unit.arm for unit in history.units] == [unit["arm"] for unit in table]
    assert [unit.status for unit in history.units] == [unit["status"] for unit in table]
    assert [unit.time for unit in history.units] == [unit["asked_at"] for unit in table]
    assert [unit.closed for unit in history.units] == [unit["closed_at"] for unit in table]
    assert sum(unit.together for unit in history.units) == 2
    assert copied.asked == experiment.asked
    overdue = {unit["id"] for unit in experiment.overdue()}
    assert history.overdue == overdue


def test_a_unit_whose_data_were_erased_is_still_counted(experiment, tmp_path):
    before = experiment["P-002"]
    experiment.redact("P-002", reason="asked for it")
    history, copied = history_of(experiment)
    unit = history.units[2]
    assert (unit.key, unit.assigned, unit.status, unit.kept) == (None, before.arm, "redacted", True)
    assert len(course_of(history, copied, intervals="classical")) == MOMENTS
    page = Page(write_report(tmp_path / "trial.html", experiment).read_text())
    assert "P-002" not in page.text
    assert "asked for it" in page.cells
    assert "The data of 1 unit were erased." in page.text
    remembered = history_of_memory(copied).units[2]
    assert (remembered.assigned, remembered.status, remembered.kept) == (before.arm, "redacted", False)
    assert course_of(history_of_memory(copied), copied, intervals="classical") == []
