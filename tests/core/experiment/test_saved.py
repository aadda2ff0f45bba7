"""Saved experiments: what comes back goes on alike, and what cannot be is refused by name."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inner_state import fingerprint

import equipoise as eq
from equipoise.core.arms.state import ARM
from equipoise.core.experiment import saved
from equipoise.errors import StateMismatch

DIM = 4
SPECS = ["uniform", "trace-ucb", "trace-gain:chance=0.2", "sparse-trace-ucb:screen=4"]
WAYS = {
    "pickle": lambda experiment: pickle.loads(pickle.dumps(experiment)),
    "oldest protocol": lambda experiment: pickle.loads(pickle.dumps(experiment, protocol=2)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def half_way(spec="trace-gain", moment=None, units=40, budget=90, **terms):
    rng = np.random.default_rng(1)
    experiment = eq.Experiment(
        eq.Problem(["a", "b", "c"], DIM, budget=budget, moment=moment, **terms), spec, seed=5
    )
    for t in range(units):
        unit = experiment.ask(rng.normal(size=DIM))
        if t % 5 == 1:
            experiment.lose(unit.id)
        elif t % 7 == 2:
            experiment.withdraw(unit.id)
        elif t % 4:
            experiment.tell(unit.id, float(rng.normal()))
    return experiment


def finish(experiment, units=30):
    rng = np.random.default_rng(2)
    found = []
    for _ in range(units):
        unit = experiment.ask(rng.normal(size=DIM))
        found.append((unit.id, unit.arm, unit.score_values.tobytes()))
        for id in experiment.pending[:2]:
            experiment.tell(id, float(rng.normal()))
    return found, fingerprint(experiment)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("moment", [None, np.diag([1.0, 2.0, 3.0, 4.0])], ids=["learned", "given"])
@pytest.mark.parametrize(
    "spec", ["uniform", "trace-ucb", "trace-gain:chance=0.2", "sparse-trace-ucb:screen=4"]
)
@pytest.mark.parametrize("units", [0, 1, 40])
def test_it_goes_on_alike_and_shares_nothing(spec, moment, units, way):
    experiment = half_way(spec, moment, units)
    if units == 40:
        experiment.close_arm("b")
        experiment.add_arm("d", cost=0.5, floor=6)
    twin = WAYS[way](experiment)
    assert fingerprint(twin) == fingerprint(experiment)
    assert twin.closed_arms == experiment.closed_arms
    mine, other = experiment._record, twin._record
    for one in (*mine.state, mine.contexts):
        for two in (*other.state, other.contexts):
            assert not np.shares_memory(one, two)
    before = fingerprint(experiment)
    ends = finish(twin)
    assert fingerprint(experiment) == before
    assert finish(experiment) == ends


def test_who_gave_the_arm_of_a_redacted_unit_comes_along():
    experiment = eq.Experiment(eq.Problem(["a", "b"], 1, budget=20), "uniform")
    experiment.tell(experiment.ask([1.0], "P", arm="b").id, 1.0)
    experiment.tell(experiment.ask([1.0], "Q").id, 1.0)
    experiment.redact("P")
    again = pickle.loads(pickle.dumps(experiment))
    assert repr(again[1]) == repr(experiment[1])
    assert (again[1].given_by_person, again[1].scores, again[2].given_by_person) == (True, None, False)


def test_a_snapshot_does_not_ask_for_floors_of_closed_arms():
    experiment = eq.Experiment(eq.Problem(["a", "b"], 1, budget=60, floors={"a": 30}), "uniform", seed=1)
    experiment.close_arm("a")
    experiment.add_arm("c", floor=40)
    experiment.tell(experiment.ask([1.0]).id, 2.0)
    again = eq.Experiment.restore(experiment.snapshot())
    assert fingerprint(again) == fingerprint(experiment)
    assert (again.problem, again.remaining) == (experiment.problem, experiment.remaining)


@pytest.mark.parametrize("way", [WAYS["pickle"], lambda one: eq.Experiment.restore(one.snapshot())])
def test_a_budget_that_pays_for_nobody_comes_along(way):
    experiment = eq.Experiment(eq.Problem(["a", "b"], 1, budget=20, costs={"a": 2.0, "b": 3.0}), "uniform")
    experiment.change_budget(1.0)
    again = way(experiment)
    assert (again.remaining, again.problem) == (0, experiment.problem)
    again.change_budget(30.0)
    experiment.change_budget(30.0)
    assert again.ask([1.0]) == experiment.ask([1.0])


def test_attributes_of_a_users_own_come_along():
    experiment = half_way()
    experiment.note = ["kept"]
    assert pickle.loads(pickle.dumps(experiment)).note == ["kept"]


def test_a_pickle_without_a_version_is_refused():
    old = data_of(half_way("trace-ucb", None, 25))
    del old["format"]
    with pytest.raises(
        StateMismatch, match=r"earlier version of equipoise wrote this experiment, and .* cannot read it"
    ):
        loads(old)


def data_of(experiment):
    return copy.deepcopy(experiment.__getstate__())


def loads(data):
    experiment = object.__new__(eq.Experiment)
    experiment.__setstate__(data)
    return experiment


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("format", 0, "its format is 0, not 5"),
        ("format", None, "its format is None"),
        ("numerics", 0, "its numerics is 0, not"),
        ("State", ["arms"], r"its State lacks \['trial', "),
        ("Policy", ["breadth"], r"its Policy lacks .* and has \['breadth'\] more"),
        ("Stage", None, "its Stage is None"),
        ("policy", "trace-ucb", "its Policy"),
        ("seed", -1, "damaged: InvalidArgument, seed=-1"),
        ("problem", {}, "damaged: KeyError"),
        ("contexts", np.zeros((3, DIM)), r"damaged: ValueError, contexts has shape \(3, 4\)"),
        ("contexts", None, "contexts is not an array"),
        ("contexts", np.full((40, DIM), np.nan), "not finite"),
        ("stage", {}, "damaged: KeyError"),
    ],
)
def test_other_layouts_and_damage_are_refused_by_name(name, value, message):
    data = data_of(half_way())
    data[name] = value
    with pytest.raises(StateMismatch, match=message):
        loads(data)


def test_both_versions_are_named():
    data = data_of(half_way())
    data["version"], data["format"] = "99.1", 7
    with pytest.raises(
        StateMismatch, match=rf"equipoise 99\.1 wrote .* and {eq.__version__} cannot"
    ) as caught:
        loads(data)
    assert "load it with the version that wrote it" in str(caught.value)


def test_a_record_with_another_field_is_refused(monkeypatch):
    stored = pickle.dumps(half_way())
    fields = [(name, ARM[name].str) for name in ARM.names if name != "gain_row"]
    monkeypatch.setattr(saved, "ARM", np.dtype([*fields, ("novelty", "f8")], align=True))
    with pytest.raises(
        StateMismatch, match=r"ARM lacks \[\['novelty', '<f8'\]\] and has \[\['gain_row', '<i8'\]\]"
    ):
        pickle.loads(stored)


@pytest.mark.parametrize(
    ("array", "field", "place", "value"),
    [
        ("trial", "step", 0, 41),
        ("trial", "step", 0, -1),
        ("trial", "dim", 0, 5),
        ("trial", "arms", 0, 2),
        ("trial", "budget", 0, 10**9),
        ("trial", "looks", 0, 0),
        ("trial", "top", 0, 3),
        ("trial", "chosen", 0, -1),
        ("trial", "seen", 0, 41),
        ("trial", "limited", 0, 2),
        ("rows", "arm", 7, 3),
        ("rows", "arm", 7, -1),
        ("rows", "status", 7, 5),
        ("rows", "previous", 7, 39),
        ("rows", "propensity", 7, 0.0),
        ("rows", "propensity", 7, 1.5),
        ("rows", "likeliest", 7, 1.5),
        ("rows", "possible", 7, -1),
        ("rows", "closed_at", 7, 41),
        ("rows", "closed_at", 7, 6),
        ("arms", "buffer", 1, 2),
        ("arms", "order", 1, 5),
        ("arms", "position", 1, 0),
        ("arms", "last_row", 1, 400),
        ("arms", "gain_row", 1, 40),
        ("arms", "count", 1, 0),
        ("arms", "pending", 1, 77),
        ("arms", "observed", 1, -1),
        ("arms", "assigned", 1, 1),
        ("arms", "set_aside", 1, 1),
        ("arms", "design_ready", 1, 2),
        ("arms", "cost", 1, 2.0),
    ],
)
def test_values_that_cannot_be_are_refused(array, field, place, value):
    data = data_of(half_way())
    assert fingerprint(loads(copy.deepcopy(data))) == fingerprint(half_way())
    data["arrays"][array][field][place] = value
    with pytest.raises(StateMismatch, match="damaged"):
        loads(data)


@pytest.mark.parametrize("name", saved._KEPT)
def test_arrays_of_other_shapes_are_refused(name):
    experiment = half_way("sparse-trace-ucb:screen=4", None)
    assert experiment.support is not None
    for change in (lambda array: array[:-1], lambda array: array[None], lambda array: array.tolist()):
        data = data_of(experiment)
        if data["arrays"][name].size:
            data["arrays"][name] = change(data["arrays"][name])
            with pytest.raises(StateMismatch):
                loads(data)


@pytest.mark.parametrize("name", ["columns", "settings", "needed"])
def test_parts_of_a_stage_are_checked(name):
    for wrong in (np.array([99]), np.array([-1]), np.zeros(9), None):
        data = data_of(half_way("sparse-trace-ucb:screen=4", None))
        data["stage"][name] = wrong
        with pytest.raises(StateMismatch):
            loads(data)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damaged_pickles_never_crash(data):
    """One whole number or one byte of a field is changed: refused, or as harmless as another measurement."""
    saved_data = data_of(half_way("trace-ucb", np.eye(DIM), 25))
    array = saved_data["arrays"][data.draw(st.sampled_from(["arms", "trial", "rows"]))]
    field = data.draw(st.sampled_from(array.dtype.names))
    value = np.array(data.draw(st.integers(-(2**60), 2**60))).astype(array.dtype[field])
    array[field][data.draw(st.integers(0, len(array) - 1))] = value
    try:
        experiment = loads(saved_data)
    except StateMismatch:
        return
    finish(experiment, 10)
