import pytest

import equipoise as eq
from equipoise.studies.paper.figure1 import compared_policies, needed_sweeps
from equipoise.studies.reproduce import PANELS
from equipoise.studies.reproduce.choice import chosen_panels
from equipoise.studies.runner import scaled


def test_the_panels_are_the_paper_s():
    unequal = (0.01, 0.02, 0.75, 1.0, 2.0, 2.0, 3.0)
    for panel in PANELS.values():
        sweep = panel.sweep
        assert sweep.noise == ((1.0,) * 7 if panel.id in "ace" else unequal)
        if panel.id in "ab":
            assert (sweep.budgets, min(sweep.dims), max(sweep.dims)) == ((350,), 5, 40)
        else:
            assert (sweep.dims, min(sweep.budgets), max(sweep.budgets)) == ((10,), 115, 360)
        assert sweep.trials == (10_000 if panel.id in "ab" else 30_000)
        assert panel.loss == ("expected_max" if panel.id in "cd" else "median_max")


def test_scenarios_follow_the_axis():
    dims = [scenario.dim for scenario in PANELS["b"].sweep.scenarios]
    assert dims == list(PANELS["b"].sweep.dims)
    scenarios = PANELS["d"].sweep.scenarios
    assert [scenario.budget for scenario in scenarios] == list(PANELS["d"].sweep.budgets)
    assert scenarios[0].ridge is None  # 1/n


def test_panels_that_show_the_same_trials_share_a_sweep():
    assert len(needed_sweeps("abcdef")) == 4
    assert len(needed_sweeps("ce")) == len(needed_sweeps("df")) == 1
    assert needed_sweeps(["rate"]) == []


def test_all_panels_unless_named_and_in_order():
    assert chosen_panels([]) == [*"abcdef", "jester", "movielens", "rate"]
    assert chosen_panels(["rate", "c", "a", "c"]) == ["a", "c", "rate"]


def test_sparse_panels_only_when_they_are_named():
    sparse = ["support", "sparse-budget", "sparse-screen"]
    assert chosen_panels(["sparse"]) == chosen_panels(["sparse", "support"]) == sparse
    assert chosen_panels(["sparse-screen", "a"]) == ["a", "sparse-screen"]
    with pytest.raises(eq.errors.InvalidArgument) as caught:
        chosen_panels(["sparse-bugdet"])
    assert caught.value.hint.startswith("did you mean 'sparse-budget'?")


def test_an_unknown_panel_is_named_with_the_closest():
    with pytest.raises(eq.errors.InvalidArgument, match="no panel 'rat'") as caught:
        chosen_panels(["a", "rat"])
    assert caught.value.hint.startswith("did you mean 'rate'? panels: a, b,")


def test_our_policy_joins_once_it_is_registered(monkeypatch):
    from equipoise.core.policies.base import policy

    monkeypatch.delitem(policy._REGISTRY, "trace-gain", raising=False)
    assert compared_policies() == ["uniform", "oracle", "var-ucb", "trace-ucb"]
    monkeypatch.setitem(policy._REGISTRY, "trace-gain", eq.Uniform)
    assert compared_policies()[4:] == ["trace-gain"]


def test_scaled_counts_stay_measurable():
    assert [scaled(10_000, scale) for scale in (1.0, 0.5, 1e-9)] == [10_000, 5_000, 2]
