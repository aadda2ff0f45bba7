"""What a report claims of lots, waits, the start, persons and erased units is so."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from report_pages import Page
from reporting.scripted_trial import Log, scripted

import equipoise as eq
from equipoise.report import experiment_report, render, write_report
from equipoise.report.live.course import course_blocks
from equipoise.report.live.deviations import deviations
from equipoise.report.live.history import history_of, history_of_log
from equipoise.report.live.operating import operating_blocks
from equipoise.report.live.proof import proof_blocks
from equipoise.report.live.rule import rule_blocks


def said_of(log):
    return Page(render(experiment_report(log.experiment, history=log.history()))).text


@pytest.mark.parametrize("policy", ["trace-gain:chance=0.3", "permuted-blocks"])
def test_lots_are_not_denied_where_nothing_can_be_weighted(policy):
    # No unit could go to every arm: one was closed before another joined.
    log = Log(eq.Experiment(eq.Problem(["a", "b", "c"], 1, budget=60), policy, seed=1))
    for number in range(40):
        if number == 20:
            log.do(lambda e: e.close_arm("c"), reason="recall")
            log.do(lambda e: e.add_arm("d"))
        unit = log.do(lambda e: e.ask([1.0]))
        log.do(lambda e: e.tell(unit.id, float(number % 7)))  # noqa: B023
    said = said_of(log)
    assert "Nothing was drawn by lot" not in said
    assert "there are no propensities" not in said
    assert "Lots were drawn, but no unit with an outcome could have gone to every arm" in said


def test_what_was_given_up_is_no_outcome():
    log = Log(eq.Experiment(eq.Problem(["a", "b"], 1, budget=9), "uniform"))
    for key in ("u", "v", "w"):
        log.do(lambda e: e.ask([1.0], unit=key))  # noqa: B023
    log.now += timedelta(days=3)
    log.do(lambda e: e.tell("u", 1.0))
    log.now += timedelta(days=97)
    log.do(lambda e: e.lose("v"), reason="gone")
    log.do(lambda e: e.withdraw("w"), reason="consent")
    said = course_blocks(log.history(), [], ["a", "b"])[0].text
    assert "The newest outcome came on 2026-01-08" in said
    assert "outcomes took 3 days in the median and 3 days at most" in said


def test_an_outcome_that_comes_after_it_was_lost_is_told():
    log = Log(eq.Experiment(eq.Problem(["a", "b"], 1, budget=9), "uniform"))
    log.do(lambda e: e.ask([1.0], unit="u"))
    log.do(lambda e: e.lose("u"), reason="gone")
    log.do(lambda e: e.tell("u", 1.0), actor="site-2")
    rows = [row[1:4] for row in deviations(log.history())]
    assert rows == [["outcome lost", "u", "site-1"], ["outcome came after it was lost", "u", "site-2"]]


@pytest.mark.parametrize(("units", "over"), [(1, False), (5, False), (6, True), (9, True)])
def test_a_start_that_is_not_over_has_no_end(units, over):
    log = Log(eq.Experiment(eq.Problem(["a", "b"], 2, budget=30), "trace-gain", seed=1))
    rng = np.random.default_rng(1)
    for _ in range(units):
        unit = log.do(lambda e: e.ask([1.0, rng.normal()]))
        log.do(lambda e: e.tell(unit.id, rng.normal()))  # noqa: B023
    facts = log.experiment.policy, log.experiment.problem, 1
    said = " ".join(block.text for block in rule_blocks(log.history(), *facts) if hasattr(block, "text"))
    assert ("the start ended with unit number 6" in said) == over
    assert ("the start is not over" in said) != over
    log.do(lambda e: e.add_arm("c"))
    said = " ".join(
        block.text
        for block in rule_blocks(log.history(), facts[0], log.experiment.problem, 1)
        if hasattr(block, "text")
    )
    assert "that of c, which joined later, is not over" in said


@pytest.fixture
def erased(tmp_path):
    """Units of all kinds, redacted: told, given by a person, withdrawn first, lost."""
    rng = np.random.default_rng(1)
    problem = eq.Problem(["a", "b"], 1, budget=40)
    store = f"sqlite:///{tmp_path}/it's a trial.db"
    with eq.create_experiment(store=store, name="trial", problem=problem, seed=1) as experiment:
        for number in range(30):
            given = {"arm": "a", "reason": "allergic"} if number == 4 else {}
            unit = experiment.ask([1.0], unit=f"P-{number}", **given)
            if number != 6:
                experiment.tell(unit.id, 100.0 * (number == 3) + rng.normal())
        experiment.withdraw("P-5", reason="consent")
        experiment.lose("P-6", reason="gone")
        for number in (3, 4, 5, 6):
            experiment.redact(f"P-{number}", reason="asked for it")
        yield experiment


def test_an_arm_that_a_person_gave_is_one_after_erasure_too(erased):
    history, _ = history_of(erased)
    table = erased.units()
    assert [unit.rule is not None for unit in history.units] == [
        bool(unit["given_by_person"]) for unit in table
    ]
    assert [unit.id for unit in history.units if unit.rule is not None] == [5]
    rows = [row[1:3] for row in deviations(history)]
    assert ["arm given by a person: data erased", "#5"] in rows
    assert {"outcome lost: data erased", "unit withdrawn: data erased"} <= {what for what, _ in rows}


def test_what_is_said_of_erased_outcomes_holds_for_each(erased, tmp_path):
    said = Page(write_report(tmp_path / "trial.html", erased).read_text()).text
    assert "its outcome, if it counted, stays in the models" in said
    assert "Outcomes that counted in the models still do" in said
    assert "Redacted outcomes are missing in plain means." in said
    assert "26 units are described, withdrawn and redacted ones aside." in said
    assert "every unit whose decision does not rest on data that were erased" in said
    assert "decide every unit anew" not in said


def test_commands_can_be_typed_whatever_the_store_is_called(erased):
    history, copied = history_of(erased)
    blocks = operating_blocks(None, history, copied.estimates(), copied.policy, copied.problem)
    for block in blocks[1:]:
        line = block.text.splitlines()[-1]
        assert shlex.split(line)[4 if "--store" == shlex.split(line)[3] else 3] == erased.store.url


def test_a_report_is_of_one_moment_although_others_never_stop(erased, monkeypatch):
    class Busy(type(erased)):
        def in_memory(self):
            erased.tell(erased.ask([1.0]).id, 1.0)
            return super().in_memory()

    monkeypatch.setattr(erased, "__class__", Busy)
    history, copied = history_of(erased)
    assert len(history.units) == copied.asked
    known = [sum(unit.counts for unit in history.units if unit.arm == arm) for arm in ("a", "b")]
    assert known == [arm.observed for arm in copied.estimates()]


def test_of_a_rule_that_is_not_at_hand_nothing_is_made_up():
    log = scripted(80, policy="permuted-blocks", upsets=False)
    first = log.entries[0].event
    created = {**first, "policy": {"name": "gone-for-good"}, "source": "0" * 32}
    assert first["traits"]["weighs"]
    entries = [replace(log.entries[0], event=created), *log.entries[1:]]
    experiment = eq.Experiment.replay([entry.event for entry in entries])
    said = Page(render(experiment_report(experiment, history=history_of_log(entries)))).text
    assert "every unit was drawn by lot" in said
    assert "which could not be done here, since the policy is not at hand" in said
    assert "not corrected for adaptive allocation: the policy is not at hand." in said
    head = history_of_log(entries, name="trial", store="memory:")
    proof = proof_blocks(head)[-1]
    assert proof.text.endswith("--import FILE.py")
    assert "decide every unit anew" in proof.caption
    assert "--import FILE.py" in said
