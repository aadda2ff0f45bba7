"""Sweeps are simulations at every point, kept and extended."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import InvalidArgument, OutputNotWritable
from equipoise.lab.running import simulate as running
from equipoise.report import render, sweep_report, write_sweep

SCENARIO = eq.GaussianScenario(noise=[0.5, 2.0], dim=2, budget=40)
POLICIES = ["uniform", "trace-ucb"]
RUN = {"policies": POLICIES, "trials": 12, "seed": 3}


@eq.register("test-sweep-own")
def own(arm, trial, settings):
    """Pull the arm whose bound is largest."""
    return (arm.noise_variance + trial.mean_variance * arm.inverse_root_dof) * arm.trace


@pytest.fixture(scope="module")
def grid():
    return eq.sweep(SCENARIO, dim=[2, 4], width=[0.5, 1], **RUN)


@pytest.fixture
def ran(monkeypatch):
    """Dimension, policy and trial of everything that was run, not read."""
    done, original = [], running.run_chunk

    def run_chunk(scenario, policies, seed, first, trials):
        done.extend((scenario.dim, policy.spec, first + k) for policy in policies for k in range(trials))
        return original(scenario, policies, seed, first, trials)

    monkeypatch.setattr(running, "run_chunk", run_chunk)
    return done


def test_a_point_is_a_simulation(grid):
    alone = eq.simulate(SCENARIO.replace(dim=4), ["uniform", "trace-ucb:width=0.5"], trials=12, seed=3)
    found = grid.at(dim=4, width=0.5)
    assert found.scenario == alone.scenario
    for name, spec in (("uniform", "uniform"), ("trace-ucb", "trace-ucb:width=0.5")):
        np.testing.assert_array_equal(found[name].errors, alone[spec].errors)
        assert (found[name].name, found[name].spec) == (name, spec)


def test_policies_without_the_field_run_once(ran):
    eq.sweep(SCENARIO, width=[0.5, 1, 2], **RUN)
    assert len(ran) == len(set(ran)) == 4 * 12


def test_the_table_is_tidy(grid):
    table = grid.losses(quantiles=(0.9,))
    assert table.columns == ("dim", "width", "policy", "loss", "value", "stderr")
    assert len(table) == 4 * 2 * 6
    row = {"dim": 4, "width": 0.5, "policy": "trace-ucb", "loss": "quantile_max_0.9"}
    (found,) = (own for own in table if row.items() <= own.items())
    expected = grid.at(dim=4, width=0.5)["trace-ucb"].quantile_max(0.9)
    assert (found["value"], found["stderr"]) == (expected.value, expected.stderr)
    frame = table.to_pandas()
    assert frame.groupby(["dim", "width"]).size().tolist() == [12] * 4
    assert frame.attrs["axes"] == {"dim": [2, 4], "width": [0.5, 1]}


def test_differences_are_paired(grid):
    table = grid.differences()
    assert table.columns == ("dim", "width", "policy", "reference", "loss", "value", "stderr")
    assert len(table) == 4 * 3
    result = grid.at(dim=2, width=1)
    errors = {name: result[name].errors.mean(axis=1) for name in POLICIES}
    paired = errors["trace-ucb"] - errors["uniform"]
    (found,) = (row for row in table if (row["dim"], row["width"], row["loss"]) == (2, 1, "mean"))
    assert found["value"] == pytest.approx(paired.mean())
    assert found["stderr"] == pytest.approx(paired.std(ddof=1) / math.sqrt(12))
    other = grid.differences("trace-ucb")
    assert [row["value"] for row in other if row["loss"] == "mean"] == pytest.approx(
        [-row["value"] for row in table if row["loss"] == "mean"]
    )


def test_a_curve_has_an_estimate_a_point(grid):
    curve = grid.curve("trace-ucb", "mean")
    assert [estimate.value for estimate in curve] == [
        result["trace-ucb"].mean().value for result in grid.results
    ]
    with pytest.raises(InvalidArgument, match="no loss 'max'"):
        grid.curve("trace-ucb", "max")


def test_points_that_are_not_there(grid):
    for where, message in (
        ({"dim": 3}, "no point at dim = 3"),
        ({"dim": 2}, "2 points at dim = 2"),
        ({"budget": 40}, "budget was not swept"),
    ):
        with pytest.raises(InvalidArgument, match=message) as caught:
            grid.at(**where)
        assert "dim" in caught.value.hint


def test_the_record_is_plain(grid):
    record = json.loads(json.dumps(grid.record(), allow_nan=False))
    assert (record["trials"], record["seed"], record["joined"]) == (12, 3, False)
    assert record["axes"] == {"dim": [2, 4], "width": [0.5, 1]}
    assert [point["at"] for point in record["points"]][1] == {"dim": 2, "width": 1}
    alone = eq.simulate(SCENARIO, POLICIES, trials=12, seed=3).record()
    found = record["points"][1]
    assert found["scenario"] == json.loads(json.dumps(alone["scenario"]))
    assert found["policies"]["uniform"]["mean"] == alone["policies"]["uniform"]["mean"]
    single = eq.sweep(SCENARIO, dim=[2], policies=["uniform"], trials=1).record()
    json.dumps(single, allow_nan=False)  # one trial has no error


def test_more_trials_points_and_policies_only_add(tmp_path, ran):
    def run(**changes):
        ran.clear()
        options = {"policies": ["uniform"], "trials": 5, "seed": 3, "dim": [2, 3], **changes}
        found = eq.sweep(SCENARIO, checkpoint=tmp_path, **options)
        counted = sorted(ran)
        assert str(found) == str(eq.sweep(SCENARIO, **options))
        return counted

    assert len(run()) == 2 * 5
    assert run() == []
    assert run(trials=7) == [(dim, "uniform", k) for dim in (2, 3) for k in (5, 6)]
    assert run(trials=7, dim=[3, 4]) == [(4, "uniform", k) for k in range(7)]
    more = run(trials=7, dim=[4], policies=["uniform", "trace-ucb"])
    assert more == [(4, "trace-ucb", k) for k in range(7)]
    assert run(trials=2, dim=[4], seed=4) == [(4, "uniform", k) for k in range(2)]


def test_a_stopped_sweep_keeps_what_it_has(tmp_path, ran):
    def stop(label, done, total):
        if label == "dim = 4":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        eq.sweep(SCENARIO, dim=[2, 3, 4], checkpoint=tmp_path, progress=stop, **RUN)
    ran.clear()
    eq.sweep(SCENARIO, dim=[2, 3, 4], checkpoint=tmp_path, **RUN)
    assert {dim for dim, *_ in ran} == {4}


def test_there_is_one_bar():
    seen = []
    eq.sweep(SCENARIO, dim=[2, 3], progress=lambda *step: seen.append(step), **RUN)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1][1] == pytest.approx(seen[-1][2])
    assert len({total for *_, total in seen}) == 1
    assert {label for label, *_ in seen} == {"dim = 2", "dim = 3"}


def test_nothing_runs_before_everything_is_checked(ran, tmp_path):
    (tmp_path / "file").write_text("")
    for error, options in (
        (InvalidArgument, {"trials": 0}),
        (InvalidArgument, {"policies": []}),
        (InvalidArgument, {"seed": -1}),
        (eq.EquipoiseError, {"dim": [2, 30]}),
        (OutputNotWritable, {"checkpoint": tmp_path / "file"}),
    ):
        with pytest.raises(error):
            eq.sweep(SCENARIO, **{"dim": [2], **RUN, **options})
    with pytest.raises(InvalidArgument, match="is not a scenario"):
        eq.sweep("mine.toml", dim=[2], **RUN)
    assert ran == []


def test_a_policy_of_ones_own_is_swept_and_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    found = eq.sweep(SCENARIO, dim=[2, 4], policies=["uniform", "test-sweep-own"], trials=6, seed=1)
    found.figure("median_max").savefig(tmp_path / "own.svg")
    drawn = (tmp_path / "own.svg").read_text()
    for word in ("test-sweep-own", "uniform", "median worst error", "features d", "6 trials"):
        assert word in drawn


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dim": [2, 4], "budget": [40, 60]}, ["budget = 60", "features d"]),
        ({"dim": [2, 4], "budget": [40, 60], "joined": True}, ["features d, budget n"]),
        ({"contexts": [eq.GaussianContexts(), eq.SkewedContexts(shape=2)]}, ["skewed\nshape=2", "contexts"]),
        ({"lost": [0.1 * k for k in range(2)], "dim": range(1, 15)}, ["lost = 0.1"]),
    ],
)
def test_figures_name_their_axes(options, words):
    pytest.importorskip("matplotlib")
    figure = eq.sweep(SCENARIO, policies=["uniform"], trials=2, **options).figure()
    texts = [text.get_text() for ax in figure.axes for text in (ax.title, ax.xaxis.label, ax.yaxis.label)]
    texts += [label.get_text() for ax in figure.axes for label in ax.get_xticklabels()]
    texts += [ax.get_title(loc="left") for ax in figure.axes]
    assert all(word in texts for word in words)


def test_files_and_report(grid, tmp_path):
    files = {path.name: path for path in write_sweep(tmp_path, grid, loss="mean", again="equipoise sweep …")}
    assert {"report.html", "sweep.json", "scenario.toml", "sweep.svg", "sweep.png"} <= set(files)
    assert eq.Scenario.from_toml(files["scenario.toml"].read_text()) == SCENARIO
    assert json.loads(files["sweep.json"].read_text()) == json.loads(json.dumps(grid.record()))
    ET.fromstring(files["sweep.svg"].read_bytes())
    page = files["report.html"].read_text()
    for word in ("Mean error", "dim against width", "4 points", "equipoise sweep …", "Paired differences"):
        assert word in page
    assert page.index("<h2>Mean error") < page.index("<h2>Largest mean error")


def test_a_close_race_is_said_to_be_one(grid):
    page = render(
        sweep_report(eq.sweep(SCENARIO, dim=[2], policies=["uniform", "trace-ucb"], trials=3, seed=5))
    )
    assert "within two standard errors of it" in page or "smallest" not in page
