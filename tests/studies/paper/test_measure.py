import contextlib
from dataclasses import replace

import pytest

from equipoise.studies.losses import Point
from equipoise.studies.paper.figure1 import PANELS
from equipoise.studies.paper.measure import PaperStudy
from equipoise.studies.reproduce.plan import new_plan


def study(names, *, width_trials=0):
    return PaperStudy(tuple(PANELS[name] for name in names), (), ("uniform",), 1.0, width_trials)


def test_panels_that_show_the_same_trials_share_a_sweep():
    assert len(study("abcdef").sweeps) == 4
    assert len(study("ce").sweeps) == len(study("df").sweeps) == 1
    assert study("").sweeps == []


def test_without_panels_nothing_is_done():
    nothing = study("", width_trials=2_000)
    assert (nothing.work(), nothing.trials, nothing.tried) == (0, {}, 0)


def test_the_comparison_of_widths_is_work_too():
    assert study("a", width_trials=2_000).work() > study("a").work() > 0


def test_programs_are_asked_for_with_the_trials_that_they_will_run():
    arenas = [arena for sweep in study("a").sweeps for arena in sweep.arenas]
    for width_trials, counts in ((0, [10_000]), (2_000, [10_000, 2_000])):
        points = list(study("a", width_trials=width_trials).points())
        assert [trials for arena, _, trials in points if arena == arenas[0]] == counts
        assert [arena for arena, policies, _ in points if policies == ("uniform",)] == arenas


def test_points_with_few_features_come_first():
    points = list(study("abcdef", width_trials=2_000).points())
    dims = [arena.dim for arena, _, _ in points]
    assert dims == sorted(dims)
    assert set(dims) == {5, 10, 15, 20, 23, 25, 30, 35, 40}
    # All policies before the comparison of widths, which has trials of two of them then.
    assert [trials for arena, _, trials in points if arena.dim == 5] == [10_000] * 2 + [2_000] * 2


class InOrder:
    """A runner that has points run as they are."""

    @contextlib.contextmanager
    def ready_first(self, points):
        yield iter(range(len(list(points))))


def test_every_panel_gets_its_own_points():
    class Runner(InOrder):
        def point(self, arena, policies, trials, *, name):
            assert name.startswith("equal" if arena.noise[0] == arena.noise[1] else "unequal")
            return Point(arena.dim, arena.budget, trials, {})

    results, by_width = study("adf").measure(Runner())
    assert by_width == {}
    assert list(results) == ["a", "d", "f"]
    for name, result in results.items():
        arenas = PANELS[name].sweep.arenas
        assert [(point.dim, point.budget) for point in result.points] == [
            (arena.dim, arena.budget) for arena in arenas
        ]


def test_points_of_a_sweep_that_descends_keep_their_places():
    class Runner(InOrder):
        def point(self, arena, policies, trials, *, name):
            return Point(arena.dim, arena.budget, trials, {})

    panel = PANELS["a"]
    descending = replace(panel, sweep=replace(panel.sweep, dims=panel.sweep.dims[::-1]))
    results, _ = PaperStudy((descending,), (), ("uniform",), 1.0, 0).measure(Runner())
    assert [point.dim for point in results["a"].points] == list(panel.sweep.dims[::-1])


def test_points_may_run_in_any_order():
    class Runner:
        @contextlib.contextmanager
        def ready_first(self, points):
            yield iter(range(len(list(points)))[::-1])

        def point(self, arena, policies, trials, *, name):
            return Point(arena.dim, arena.budget, trials, {})

    results, _ = study("af").measure(Runner())
    for name, result in results.items():
        assert [point.dim for point in result.points] == [arena.dim for arena in PANELS[name].sweep.arenas]


def test_they_are_compiled_while_points_are_measured():
    class Compiling:
        def __enter__(self):
            raise KeyboardInterrupt

        def __exit__(self, *error):
            return False

    class Runner:
        def ready_first(self, points):
            self.points = list(points)
            return Compiling()

    runner, plan = Runner(), new_plan(["a"], scale=1.0, width_trials=10, data=None, asked=True)
    with pytest.raises(KeyboardInterrupt):
        plan.measure(runner)
    assert runner.points == list(plan.paper.points())
