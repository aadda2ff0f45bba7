"""The report of an experiment with a log: every section says what the log says."""

from __future__ import annotations

import shlex
import warnings
from dataclasses import replace

import numpy as np
import pytest
from report_pages import CHROMIUM, Page, fetched, measured_by_browser, seen_by_browser
from reporting.scripted_trial import scripted
from scipy import stats

import equipoise as eq
from equipoise.report import experiment_report, render, write_report
from equipoise.report.live.course import MOMENTS, course_of
from equipoise.report.live.course_figures import error_figure, noise_figure
from equipoise.report.live.history import history_of_log, history_of_memory
from equipoise.report.live.naive import naive_blocks
from equipoise.report.live.operating import operating_blocks
from equipoise.report.live.over_time import trend_sentence
from equipoise.report.live.proof import proof_blocks
from equipoise.report.live.rule import starts
from equipoise.report.numbers import with_interval

STATED = {"blinding": "Raters did not know <arms>.", "weather": "it rained"}


@pytest.fixture(scope="module")
def log():
    return scripted()


@pytest.fixture(scope="module")
def text(log):
    return render(experiment_report(log.experiment, history=log.history(), statements=STATED))


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def row_of(page, name, after):
    """Cells of a table's row, from its first cell."""
    start = page.cells.index(name, page.cells.index(after))
    return page.cells[start:]


def test_the_page_is_whole(page, text):
    assert fetched(text) == []
    assert len(page.ids) == len(set(page.ids))
    assert "nan" not in page.text.lower().split()
    assert page.tags.count("script") == 2  # a reason with markup is text
    assert "allergic to the others <b>" in page.cells
    assert page.tags.count("nav") == 1


def test_flow_is_what_was_counted(log, page):
    units = log.history().units
    arms = list(log.experiment.problem.arms)
    kinds = {
        "assigned": lambda unit: True,
        "outcome known": lambda unit: unit.status == "told",
        "outcome awaited": lambda unit: unit.status == "pending",
        "lost": lambda unit: unit.status == "lost",
        "withdrawn": lambda unit: unit.status == "withdrawn",
    }
    for words, holds in kinds.items():
        counts = [sum(holds(unit) and unit.assigned == arm for unit in units) for arm in arms]
        assert row_of(page, words, "units")[1:6] == [str(sum(counts)), *map(str, counts)]
    analysed = [str(arm.observed) for arm in log.experiment.estimates()]
    assert row_of(page, "outcomes of those who got the arm", "units")[2:6] == analysed
    assert f"{log.experiment.asked} units assigned" in page.drawn


def test_the_course_is_the_fold_of_the_log_at_its_moments(log):
    course = course_of(log.history(), log.experiment, intervals="classical")
    assert len(course) == MOMENTS
    events = [entry.event for entry in log.entries]
    for place, moment in ((4, course[4]), (MOMENTS - 1, course[-1])):
        upto = 1 + round((len(events) - 1) * (place + 1) / MOMENTS)
        experiment = eq.Experiment.replay(events[:upto])
        assert moment.units == experiment.asked
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eq.errors.FitWarning)
            assert str(moment.estimates) == str(experiment.estimates())
        assert moment.time == log.entries[upto - 1].time


def test_axes_are_labelled_in_plain_numbers(log):
    moment = course_of(log.history(), log.experiment, intervals="classical")[-1]
    narrow = replace(moment, estimates=moment.estimates[:1])  # less than a decade: ticks between powers
    for figure in (noise_figure([narrow]), error_figure([narrow])):
        assert "mathdefault" not in figure.image


def test_an_experiment_in_memory_has_the_same_course_over_units(log):
    quiet = scripted(60, upsets=False)
    logged = course_of(quiet.history(), quiet.experiment, intervals="classical")
    remembered = course_of(history_of_memory(quiet.experiment), quiet.experiment, intervals="classical")
    assert str(remembered[-1].estimates) == str(logged[-1].estimates)
    assert [moment.units for moment in remembered] == [moment.units for moment in logged]
    assert all(moment.time is None for moment in remembered)
    # With upsets, too, it ends where the experiment is.
    upset = course_of(history_of_memory(log.experiment), log.experiment, intervals="classical")
    expected = [arm.expected_error for arm in log.experiment.estimates()]
    assert [arm.expected_error for arm in upset[-1].estimates] == pytest.approx(expected)


def test_of_erased_entries_it_says_that_they_are_missing(log):
    entries = [
        replace(entry, event=None) if (entry.event or {}).get("unit") == "P-005" else entry
        for entry in log.entries
    ]
    history = history_of_log([replace(entry, mode="practice") for entry in entries], name="t")
    assert len(course_of(history, log.experiment, intervals="classical")) == MOMENTS
    text = Page(render(experiment_report(log.experiment, history=history))).text
    assert "Units whose data were erased are missing in it, up to their erasure." in text
    assert "Of 1 unit whose data were erased the arm is not known here." in text
    assert text.index("This is practice: units are not real.") < text.index("The largest expected error")


def test_the_rule_is_told_exactly(log, page):
    assert row_of(page, "rule", "exactly")[1] == "trace-gain:chance=0.3"
    assert row_of(page, "setting: caution", "exactly")[1] == "3"
    assert row_of(page, "seed", "exactly")[1] == str(log.experiment.seed)
    assert f"equipoise {eq.__version__}, numerics {eq.NUMERICS}" in page.cells
    begun = starts(log.history(), log.experiment.problem)
    assert {arm: len(units) for arm, units in begun.items()} == dict.fromkeys(log.experiment.problem.arms, 4)
    assert "16 units were of this kind; the start ended with unit number" in page.text


def test_what_was_planned_stands_beside_what_is(page):
    assert row_of(page, "budget", "planned")[1:3] == ["120 units", "130 units"]
    assert row_of(page, "features", "planned")[2] == "as planned"
    assert "Created on 2026-01-05 08:00 UTC by dr-who: protocol 1.2 was approved." in page.text
    decisions = row_of(page, "decision", "decision")
    assert decisions[decisions.index("arm closed: low") + 1] == "60"


def test_guesses_by_past_arms_are_counted(log, page):
    arms = [unit.assigned for unit in log.history().units]
    right = {min: 0.0, max: 0.0}
    offered = ["placebo", "low", "high"]
    for place, arm in enumerate(arms):
        counts = {each: arms[:place].count(each) for each in offered}
        for extreme in right:
            leading = [each for each in counts if counts[each] == extreme(counts.values())]
            right[extreme] += (arm in leading) / len(leading)
        if place + 1 == 60:
            offered.remove("low")
        if place + 1 == 70:
            offered += ["new", "low"]
    word = "most" if right[max] > right[min] else "fewest"
    guesser = page.cells.index(f"knows past arms, names the arm with the {word} units so far")
    assert page.cells[guesser + 1] == f"{100 * max(right.values()) / len(arms):.1f} %"


def test_people_are_described_in_their_own_words(log, page):
    units = [unit for unit in log.history().units if unit.status != "withdrawn"]
    ages = np.array([unit.given["age"] for unit in units])
    assert row_of(page, "age, years", "all units")[1] == f"{ages.mean():.4g} ({ages.std(ddof=1):.3g})"
    women = [unit for unit in units if unit.given["sex"] == "f"]
    share = f"{len(women)} ({100 * len(women) / len(units):.0f} %)"
    assert row_of(page, "sex: f", "all units")[1] == share


def test_naive_results_are_the_textbook_s(log):
    experiment = log.experiment
    _, table, gaps = naive_blocks(experiment.estimates(), lambda arm: experiment.data(arm)[1], None)
    first, second = (experiment.data(arm)[1] for arm in ("placebo", "low"))
    mean = stats.ttest_1samp(first, 0.0).confidence_interval()
    assert table.rows[0][1] == "\n".join(with_interval(first.mean(), mean.low, mean.high))
    welch = stats.ttest_ind(second, first, equal_var=False).confidence_interval()
    assert gaps.rows[0][1] == "\n".join(with_interval(second.mean() - first.mean(), welch.low, welch.high))
    contrast = experiment.estimates().contrast("low", "placebo", at="average").records()[0]
    ends = with_interval(contrast["difference"], contrast["low"], contrast["high"])
    assert gaps.rows[0][3] == "\n".join(ends)


def test_statements_are_shown_and_the_others_called_not_stated(page):
    assert row_of(page, "blinding", "statement")[2] == STATED["blinding"]
    assert row_of(page, "seed", "statement")[2] == "not stated"
    assert row_of(page, "weather", "statement")[2] == "it rained"
    assert "Not stated: who could see arms" in page.text
    assert page.metadata["statements"] == STATED


def test_statements_must_be_text_and_belong_to_an_experiment(log, tmp_path):
    with pytest.raises(eq.errors.InvalidArgument, match="'blinding': True is not text"):
        write_report(tmp_path / "r.html", log.experiment, statements={"blinding": True})
    with pytest.raises(eq.errors.InvalidArgument, match="not of an Estimates"):
        write_report(tmp_path / "r.html", log.experiment.estimates(), statements={})
    with pytest.raises(eq.errors.InvalidArgument, match="no operating characteristics"):
        write_report(tmp_path / "r.html", log.experiment, simulation="simulated")
    assert not (tmp_path / "r.html").exists()


def test_operating_characteristics_are_shown_or_it_says_how_to_make_them(log, page, tmp_path):
    assert "equipoise simulate --noise" in page.text
    assert "equipoise forecast default/trial-1 --store sqlite:///trial.db" in page.text
    again = "equipoise report default/trial-1 --store sqlite:///trial.db --simulation simulated --overwrite"
    assert again in page.text
    scenario = eq.GaussianScenario(noise=[0.5, 1.0], dim=2, budget=30)
    result = eq.simulate(scenario, ["uniform", "trace-gain"], trials=40, seed=1)
    path = write_report(tmp_path / "r.html", log.experiment, simulation=result)
    simulated = Page(path.read_text())
    assert "40 trials with seed 1, 2 arms with noise variances 0.5, 1" in simulated.text
    assert str(result["trace-gain"].expected_max()) in simulated.cells
    experiment, plan = log.experiment, eq.plan(noise=[0.5, 1.0], dim=2, budget=60)
    facts = log.history(), experiment.estimates(), experiment.policy, experiment.problem
    assert "give an expected error of" in operating_blocks(plan, *facts)[0].text


def test_limitations_are_those_that_hold(page):
    for sentence in (
        "The experiment is not over: 10 units",
        "1 outcome was lost",
        "1 unit was withdrawn",
        "1 arm was given by persons",
        "1 unit received another arm than assigned",
        "1 outcome was corrected",
        "Joined later: new",
        "Σ was learned",
    ):
        assert sentence in page.text
    clean = scripted(60, policy="trace-gain", upsets=False)
    said = Page(render(experiment_report(clean.experiment, history=clean.history()))).text
    said = said[said.index("Found by the program") :]
    for sentence in (
        "withdrawn",
        "outcome was lost",
        "corrected",
        "given by persons",
        "Joined later",
        "not over",
        "was practice",
    ):
        assert sentence not in said
    assert "Nothing was drawn by lot." in said


def test_drift_is_said():
    trends = scripted(200, policy="uniform", drift=6.0, upsets=False).experiment.time_trends()
    assert trend_sentence(trends) == "Outcomes drifted while units came in (p < 0.0001, all tests counted)."


def test_the_proof_can_be_typed(log, page, text):
    head = log.history().head
    assert head.startswith(f"default/trial-1@1:{len(log.entries)}:")
    command = page.text[page.text.index("equipoise verify") :].split(" Copy")[0].split(" Settings")[0]
    words = shlex.split(command.replace("\\ ", ""))
    assert words[:5] == ["equipoise", "verify", "default/trial-1", "--store", "sqlite:///trial.db"]
    assert words[5:7] == ["--receipt", head]
    assert page.metadata["head"] == head
    (memory,) = proof_blocks(history_of_memory(log.experiment))
    assert "There is no log" in memory.text


def test_a_rule_that_is_not_at_hand_is_reported_all_the_same(log):
    created = {**log.entries[0].event, "policy": {"name": "gone-for-good", "power": 2}, "source": "0" * 32}
    entries = [replace(log.entries[0], event=created), *log.entries[1:]]
    experiment = eq.Experiment.replay([entry.event for entry in entries])
    page = Page(render(experiment_report(experiment, history=history_of_log(entries))))
    assert row_of(page, "rule", "exactly")[1] == "gone-for-good:power=2"
    assert row_of(page, "hash of its source", "exactly")[1] == "0" * 32
    assert "Expected errors as they were known then." in page.text


def test_a_list_says_where_everything_is(page):
    start = page.cells.index("asked for", page.cells.index("sections") - 2)
    named = {name for cell in page.cells[start:] for name in cell.split("; ")}
    titles = set(page.text[: page.text.index("Units are those assigned")].split("  "))
    assert titles
    for title in ("The rule", "Flow of units", "Time trends", "Limitations", "Proof"):
        assert title in named


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_phone_shows_it_without_scrolling_the_page(text, tmp_path):
    script = "<script>document.title = JSON.stringify(document.documentElement.scrollWidth)</script></body>"
    path = tmp_path / "report.html"
    path.write_text(text)
    assert Page(seen_by_browser(path, tmp_path)).tags == Page(text).tags
    path.write_text(text.replace("</body>", script))
    assert measured_by_browser(path, tmp_path, width=500) <= 500
