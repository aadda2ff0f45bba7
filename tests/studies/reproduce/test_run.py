import json
import os
import sys
import xml.etree.ElementTree as ET
from collections import Counter

import pytest

import equipoise as eq
from equipoise.lab.running import simulate as running
from equipoise.lab.running.checkpoint import FEW_FILES
from equipoise.studies import runner
from equipoise.studies.paper.widths import WIDTHS
from equipoise.studies.reproduce import reproduce, run

TINY = {"trials_scale": 4e-4, "width_trials": 5_000, "seed": 3}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return reproduce(["a", "c", "rate"], output=tmp_path_factory.mktemp("found"), **TINY)


def text(found):
    return json.dumps(found.record(), allow_nan=False)


@pytest.mark.slow
def test_everything_is_there(tmp_path):
    found = reproduce(output=tmp_path / "found", data=tmp_path, **TINY)
    assert list(found.results) == list("abcdef")
    assert [reason.split(":")[0] for reason in found.left_out] == [
        "panel jester needs the ratings",
        "panel movielens needs the ratings",
    ]
    assert {finding.panel for finding in found.findings} == {*"abcdef", "rate"}
    assert found.trials == {"a": 4, "b": 4, "c": 12, "d": 12, "e": 12, "f": 12}


def test_what_is_asked_for_is_there(found):
    assert list(found.results) == ["a", "c"]
    assert {finding.panel for finding in found.findings} == {"a", "c", "rate"}
    assert list(found.by_width) == list(WIDTHS)
    claims = [finding.id for finding in found.findings if finding.panel != "rate"]
    assert all([finding.id for finding in findings] == claims for findings in found.by_width.values())
    assert found.trials == {"a": 4, "c": 12}
    assert json.loads((found.figures[0].parent / "reproduce.json").read_text()) == json.loads(text(found))


def test_panels_share_runs(tmp_path, monkeypatch):
    calls = []
    simulate = runner.run_policies

    def counted(scenario, policies, **options):
        calls.append((scenario.budget, scenario.noise, tuple(policies)))
        return simulate(scenario, policies, **options)

    monkeypatch.setattr(runner, "run_policies", counted)
    found = reproduce(["c", "e"], output=tmp_path, trials_scale=1e-4, width_trials=0)
    assert len(calls) == len(set(calls)) == len(found.results["c"].points) == 8
    assert found.results["c"].points is found.results["e"].points
    assert found.results["c"].curve("oracle") != found.results["e"].curve("oracle")


@pytest.mark.slow
def test_a_second_run_simulates_nothing_and_says_the_same(tmp_path, monkeypatch):
    first = reproduce(["d", "f"], output=tmp_path, trials_scale=1e-4, width_trials=20_000)

    def refuse(*_, **__):
        raise AssertionError("simulated again")

    monkeypatch.setattr(running, "run_chunk", refuse)
    again = reproduce(["d", "f"], output=tmp_path, trials_scale=1e-4, width_trials=20_000)
    assert text(again) == text(first)
    with pytest.raises(AssertionError, match="simulated again"):
        reproduce(["d"], output=tmp_path, trials_scale=1e-4, seed=2)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_to_the_same_numbers(tmp_path, monkeypatch):
    whole = reproduce(["d", "rate"], output=tmp_path / "whole", **TINY)
    calls = []
    simulate = runner.run_policies

    def interrupted(scenario, policies, **options):
        calls.append(scenario)
        if len(calls) == 4:
            # In the middle of a point: some trials are kept, the rest is not.
            options["progress"] = lambda done, total: (_ for _ in ()).throw(KeyboardInterrupt)
        return simulate(scenario, policies, **options)

    monkeypatch.setattr(runner, "run_policies", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["d", "rate"], output=tmp_path / "parts", **TINY)
    assert len(list((tmp_path / "parts" / "checkpoint").iterdir())) == 4
    assert text(reproduce(["d", "rate"], output=tmp_path / "parts", **TINY)) == text(whole)
    for point in (tmp_path / "parts" / "checkpoint").glob("d10-*"):
        files = Counter(path.name.rsplit("-", 3)[0] for path in point.glob("*.npz"))
        assert max(files.values()) <= FEW_FILES


def test_a_damaged_checkpoint_is_simulated_again(tmp_path):
    first = reproduce(["c"], output=tmp_path, trials_scale=1e-4, width_trials=0)
    damaged = list((tmp_path / "checkpoint").glob("*/trace-*.npz"))
    assert len(damaged) == 2 * 8
    for path in damaged:
        path.write_bytes(path.read_bytes()[:50])
    assert text(reproduce(["c"], output=tmp_path, trials_scale=1e-4, width_trials=0)) == text(first)


def test_figures_carry_their_settings(found):
    assert [path.name for path in found.figures] == ["figure1.svg", "figure1.png", "rate.svg", "rate.png"]
    for path in found.figures:
        content = path.read_bytes()
        if path.suffix == ".svg":
            ET.fromstring(content)
        else:
            assert content.startswith(b"\x89PNG")
        written = content.decode("utf-8", "ignore")
        assert f"equipoise {eq.__version__}" in written
        assert "seed 3" in written
        assert "width=1" in written
        assert "trials" in written


def test_figures_are_the_same_every_time(tmp_path):
    files = []
    for name in ("one", "two"):
        made = reproduce(["a"], output=tmp_path / name, trials_scale=1e-4, width_trials=0)
        files.append([path.read_bytes() for path in made.figures])
    assert files[0] == files[1]


@pytest.mark.slow
def test_progress_ends_at_the_whole(tmp_path):
    seen = []
    reproduce(["b", "rate"], output=tmp_path, progress=lambda *step: seen.append(step), **TINY)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1][1] == pytest.approx(seen[-1][2])
    assert len({total for _, _, total in seen}) == 1


def test_the_table_has_every_claim_and_says_how_many_trials(found):
    table = found.claims_table()
    for finding in found.findings:
        assert f"| {finding.id} | {finding.says} |" in table
    assert "(a) 4, " in table
    assert "2 trials a point" in table


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs permissions that bind")
def test_a_read_only_folder_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(eq.errors.OutputNotWritable, match="cannot write"):
        reproduce(["a"], output=tmp_path / "new")


def test_an_output_that_cannot_be_made_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "run_policies", None)
    (tmp_path / "file").write_text("")
    for options in ({"output": tmp_path / "file"}, {"output": tmp_path, "checkpoint": tmp_path / "file"}):
        with pytest.raises(eq.errors.OutputNotWritable, match="cannot write") as caught:
            reproduce(["a"], **options)
        assert "DIR" in caught.value.hint


@pytest.mark.parametrize(
    "options", [{"trials_scale": 0.0}, {"trials_scale": float("nan")}, {"width_trials": -1}]
)
def test_wrong_counts_are_refused(tmp_path, options):
    with pytest.raises(eq.errors.InvalidArgument):
        reproduce(["a"], output=tmp_path, **options)


def test_without_matplotlib_nothing_is_started(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(run, "open_folder", None)
    with pytest.raises(eq.errors.MissingExtra, match="matplotlib") as caught:
        reproduce(["a"], output=tmp_path)
    assert "equipoise[plot]" in caught.value.hint
