"""Reports of experiments that have hardly begun: what is not known yet is said, and not drawn."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from report_pages import Page

import equipoise as eq
from equipoise.report import write_report
from equipoise.report.live import course_figures
from equipoise.report.live.history import History, UnitPath


@pytest.mark.parametrize("units", [0, 1, 3])
def test_nothing_is_drawn_or_tested_of_what_is_not_known(units, tmp_path):
    problem = eq.Problem(["a", "b"], 2, budget=20)
    with eq.create_experiment(store="memory:", name="trial", problem=problem, seed=1) as experiment:
        for number in range(units):
            experiment.tell(experiment.ask([1.0, float(number)]).id, 1.0)
        text = Page(write_report(tmp_path / "trial.html", experiment).read_text()).text
    assert "1970" not in text
    assert "Nothing could be tested" in text
    assert "p of squares" not in text
    assert "equipoise report NAME --statements FILE.toml" in text
    if units:
        assert "Noise and errors are not known yet" in text
        assert "Expected errors; bands" not in text
    assert ("Units assigned to every arm." in text) == (units > 1)


@pytest.mark.parametrize("span", [0.0, 1e-3, 0.7, 6.1, 8.2, 485.6, 4e3, 2.5e5, 4e6, 3e8])
@pytest.mark.filterwarnings("error")
def test_a_time_axis_has_more_than_one_tick(span, monkeypatch):
    drawn = []
    monkeypatch.setattr(course_figures, "new_figure", lambda draw, **rest: drawn.append(draw))
    begin = datetime(2026, 3, 17, 11, 47, 13, tzinfo=UTC)
    times = [begin, begin + timedelta(seconds=0.4 * span), begin + timedelta(seconds=span)]
    units = [UnitPath(i + 1, assigned="a", time=time) for i, time in enumerate(times)]
    course_figures.allocation_figure(History(units=units), ["a"])
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    drawn[0](axes)
    low, high = axes.get_xlim()
    assert sum(low <= place <= high for place in axes.get_xticks()) >= 2
    assert (axes.get_xlabel() == "units assigned") == (span == 0.0)
