"""The report of an experiment says what its methods say, and the warning first."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from bent_world import Sorting, run
from report_pages import CHROMIUM, EVIL, Page, fetched, seen_by_browser

import equipoise as eq
from equipoise.report import experiment_report, render, write_report
from equipoise.report.numbers import p_value, with_interval


@pytest.fixture(scope="module")
def experiment():
    return run(eq.TraceGain(chance=0.3), units=150, noise=(0.1, 0.5, 2.0), seed=4)


@pytest.fixture(scope="module")
def page(experiment):
    return Page(render(experiment_report(experiment, title="A trial", again="make trial")))


@pytest.fixture(scope="module")
def sorted_experiment():
    rng = np.random.default_rng(2)
    experiment = eq.Experiment(eq.Problem(["quiet", EVIL], 3, budget=300), Sorting(), seed=1)
    for _ in range(300):
        x = np.append(1.0, rng.normal(size=2))
        experiment.tell(experiment.ask(x).id, float(np.sum(x**2) + 0.5 * rng.normal()))
    return experiment


def test_every_number_is_the_experiment_s(experiment, page):
    estimates, balance, fit = experiment.estimates(), experiment.balance(), experiment.lack_of_fit()
    for arm in estimates:
        row = page.cells.index(arm.arm)
        assert page.cells[row + 1 : row + 5] == [
            str(arm.count),
            str(arm.observed),
            str(arm.pending),
            f"{arm.noise_variance:.4g}",
        ]
    place = page.cells.index("x[1]")
    for i, arm in enumerate(estimates):
        shown, ends = with_interval(arm.coef[1], *arm.intervals[1])
        fitted, _ = with_interval(arm.least_squares[1], *arm.intervals[1])
        assert page.cells[place + 1 + i] == f"{shown}{fitted} ({ends})"
    start = page.cells.index("r, standardised")
    for arm in balance:
        row = page.cells.index(arm.arm, start)
        assert page.cells[row + 2] == f"{arm.length:.3g}"
        assert page.cells[row + 5].replace("−", "-") == f"{arm.largest_difference:+.2f}"
    row = page.cells.index("all arms", page.cells.index("p of squares"))
    names = ("p_length", "p_squares", "p_products", "p_value")
    assert page.cells[row + 2 : row + 6] == [p_value(getattr(fit, name)) for name in names]
    test = experiment.randomisation_test(draws=1000)
    assert f"p = {test.p_value:.2g}" in page.text
    assert f"{100 * experiment.predictability().best:.1f} %" in page.cells
    weighted = experiment.weighted_estimates()[2]
    assert "".join(with_interval(weighted.coef[2], *weighted.intervals[2])) in page.cells


def test_the_page_is_whole_and_says_how_it_came_about(experiment, page):
    assert fetched(render(experiment_report(experiment))) == []
    assert page.tags.count("h1") == 1
    assert page.tags.count("svg") == 6  # flow, units, noise, errors, models, balance
    assert len(page.ids) == len(set(page.ids))
    assert "Warning." not in page.text
    assert "make trial" in page.text
    assert f"equipoise {eq.__version__}" in page.text
    assert "trace-gain:chance=0.3" in page.text
    assert [line["arm"] for line in page.metadata["estimates"]] == list(experiment.problem.arms)
    assert page.metadata["balance"] == json.loads(json.dumps(experiment.balance().records()))
    assert eq.Problem.from_dict(page.metadata["problem"]).to_dict() == experiment.problem.to_dict()
    assert render(experiment_report(experiment)) == render(experiment_report(experiment))


def test_a_warning_stands_before_everything_else(sorted_experiment):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the page says it, so nothing else has to
        text = render(experiment_report(sorted_experiment))
    with pytest.warns(eq.errors.FitWarning):
        complaint = sorted_experiment.estimates().complaint
    page = Page(text)
    assert page.tags.count("script") == 2  # an arm's name is no markup
    assert complaint[1:] in page.text
    assert page.text.index("Warning.") < page.text.index("The largest expected error")
    assert "What is missing most clearly is the square of x[" in page.text
    assert "nothing was left to chance" in page.text
    assert page.metadata["weighted_estimates"] is None


@pytest.mark.parametrize("units", [0, 5, 9])
def test_young_experiments_have_reports(units):
    experiment = eq.Experiment(eq.Problem(["a", "b"], 3, budget=40), eq.TraceGain(chance=0.5))
    for t in range(units):
        experiment.tell(experiment.ask([1.0, float(t), float(t * t % 5)]).id, float(t))
    page = Page(render(experiment_report(experiment)))
    assert not {"nan", "inf", "-inf"} & set(page.text.lower().split())
    assert ("too few outcomes" in page.text) == (units < 9)
    assert f"{units} of 40 units" in page.text
    assert json.dumps(page.metadata, allow_nan=False)


def test_many_arms_features_and_those_that_were_chosen():
    many = run("uniform", units=400, noise=(1.0,) * 70, seed=1)
    page = Page(render(experiment_report(many)))
    assert "10 further arms are not shown" in page.text
    sparse = run("sparse-trace-ucb:screen=10", units=80)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eq.errors.SupportWarning)
        complaints = sparse.estimates().support.complaints
    page = Page(render(experiment_report(sparse)))
    assert all(complaint[1:] in page.text for complaint in complaints)


def test_it_is_written_like_any_report(experiment, tmp_path):
    path = write_report(tmp_path / "new" / "trial.html", experiment, title="Trial 7")
    assert "<h1>Trial 7</h1>" in path.read_text()
    with pytest.raises(eq.errors.InvalidArgument, match="no report of a dict"):
        write_report(tmp_path / "none.html", {})
    assert not (tmp_path / "none.html").exists()


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_shows_it_without_complaint(sorted_experiment, tmp_path):
    path = write_report(tmp_path / "report.html", sorted_experiment)
    seen = seen_by_browser(path, tmp_path)
    assert Page(seen).tags == Page(path.read_text()).tags


def test_before_there_is_anything_it_claims_nothing():
    text = Page(render(experiment_report(eq.Experiment(eq.Problem(2, 3, budget=50))))).text
    assert "There are no contexts to compare." in text
    assert "Straight lines could not be tested" in text
    assert "Nothing speaks against" not in text


def test_an_arm_whose_outcomes_were_all_alike_has_not_too_few():
    rng = np.random.default_rng(3)
    experiment = eq.Experiment(eq.Problem(["never", "now and then"], 2, budget=60), "uniform")
    for _ in range(60):
        unit = experiment.ask([1.0, rng.normal()])
        experiment.tell(unit.id, 0.0 if unit.arm == "never" else float(rng.random() < 0.4))
    text = Page(render(experiment_report(experiment))).text
    assert "1 arm has outcomes that were all alike." in text
    assert "too few" not in text


def test_a_policy_of_one_s_own_is_called_by_its_name(sorted_experiment):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert "Sorting · 2 arms" in Page(render(experiment_report(sorted_experiment))).text


def test_estimates_alone_have_a_report(experiment, tmp_path):
    estimates = experiment.estimates()
    page = Page(write_report(tmp_path / "estimates.html", estimates, title="Arms").read_text())
    assert page.text.startswith("Arms")
    worst = max(estimates, key=lambda arm: arm.expected_error)
    assert f"The largest expected error is {worst.expected_error:.3g}, that of {worst.arm}." in page.text
    assert {arm.arm for arm in estimates} <= set(page.cells)
    assert len(page.metadata["estimates"]) == len(estimates)
