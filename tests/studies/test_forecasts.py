"""The figure of a forecast."""

from __future__ import annotations

import pytest
from experiments.half_way import half_way

import equipoise as eq
from equipoise.studies.forecasts import forecast_figure


@pytest.fixture(scope="module")
def found():
    experiment, _ = half_way(awaited=3, noise=[1.0, 1.5, 3.0])
    return eq.forecast(experiment, policies=["uniform"], budgets=[45, 100], target=0.5, trials=60, seed=3)


def test_files_say_what_they_show(found, tmp_path):
    drawn, picture = eq.draw_forecast(found, tmp_path, "rest")
    assert (drawn.name, picture.name) == ("rest.svg", "rest.png")
    text = drawn.read_text()
    for words in (
        "uniform",
        "trace-gain",
        "target 0.5",
        "units assigned",
        "60 trials of the rest from unit 30",
    ):
        assert words in text
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_lines_run_from_now_to_the_end(found):
    left, right = forecast_figure(found).axes
    lines = [line.get_xdata() for line in left.get_lines() if len(line.get_xdata()) > 2]
    assert [(line[0], line[-1]) for line in lines] == [(30, 60), (30, 60)]
    assert [label.get_text() for label in right.get_yticklabels()] == ["a", "b", "c"]


def test_a_finished_experiment_can_be_drawn():
    experiment, _ = half_way(budget=40, asked=40, noise=[1.0, 1.5, 3.0])
    assert len(forecast_figure(eq.forecast(experiment, trials=20)).axes) == 2
