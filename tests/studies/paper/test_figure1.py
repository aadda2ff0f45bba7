import equipoise as eq
from equipoise.studies.paper.figure1 import PANELS, compared_policies


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
    dims = [scenario.dim for scenario in PANELS["b"].sweep.arenas]
    assert dims == list(PANELS["b"].sweep.dims)
    scenarios = PANELS["d"].sweep.arenas
    assert [scenario.budget for scenario in scenarios] == list(PANELS["d"].sweep.budgets)
    assert scenarios[0].ridge is None  # 1/n


def test_our_policy_joins_once_it_is_registered(monkeypatch):
    from equipoise.core.policies.base import policy

    monkeypatch.delitem(policy._REGISTRY, "trace-gain", raising=False)
    assert compared_policies() == ["uniform", "oracle", "var-ucb", "trace-ucb"]
    monkeypatch.setitem(policy._REGISTRY, "trace-gain", eq.Uniform)
    assert compared_policies()[4:] == ["trace-gain"]
