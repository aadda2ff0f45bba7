import pytest

import equipoise as eq
from equipoise.studies.leaderboard.suite import PAPER, ROBUSTNESS, SUITE, chosen_entries

UNEQUAL = (0.01, 0.02, 0.75, 1.0, 2.0, 2.0, 3.0)


def test_the_papers_settings_are_all_there():
    settings = {
        (entry.scenario.noise, entry.scenario.dim, entry.scenario.budget)
        for entry in SUITE
        if entry.group == PAPER
    }
    sizes = [(5, 350), (10, 350), (20, 350), (30, 350), (40, 350), (10, 115), (10, 150), (10, 200), (10, 360)]
    assert settings == {(noise, *size) for noise in ((1.0,) * 7, UNEQUAL) for size in sizes}
    assert all(
        entry.scenario == eq.GaussianScenario(one.noise, one.dim, one.budget, estimator="ridge")
        for entry in SUITE
        for one in [entry.scenario]
        if entry.group == PAPER
    )


def test_names_are_unique_and_scenarios_plain():
    assert len({entry.name for entry in SUITE}) == len({entry.title for entry in SUITE}) == len(SUITE)
    for entry in SUITE:
        assert eq.Scenario.from_toml(entry.scenario.to_toml()) == entry.scenario


def test_every_budget_is_enough_for_every_policy():
    for entry in SUITE:
        scenario = entry.scenario
        assert scenario.budget >= len(scenario.noise) * (scenario.dim + 1), entry.name


def test_robustness_scenarios_leave_the_paper():
    textbook = {entry.scenario for entry in SUITE if entry.group == PAPER}
    assert not textbook & {entry.scenario for entry in SUITE if entry.group == ROBUSTNESS}


def test_worlds_where_the_line_is_not_the_truth_are_there():
    worlds = {entry.name: entry.scenario for entry in SUITE if entry.group == ROBUSTNESS}
    assert (worlds["curved"].curvature, worlds["curved"].curved) == (0.3, "all")
    assert (worlds["intercept-only"].dim, worlds["intercept-only"].intercept) == (1, True)
    assert worlds["heteroscedastic"].heteroscedasticity > 0
    kinds = {name: world.contexts.kind for name, world in worlds.items()}
    assert (kinds["rare-features"], kinds["sites"]) == ("binary", "sites")
    assert (kinds["drifting-contexts"], kinds["skewed-contexts"]) == ("drifting", "skewed")
    rates = worlds["yes-no"].outcomes.rates(worlds["yes-no"].noise)
    assert rates == pytest.approx((0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.5))
    assert worlds["counts"].outcomes.kind == "counts"


def test_what_is_judged_is_the_objective():
    losses = {entry.scenario.objective: entry.losses for entry in SUITE}
    assert losses == {"max": ("expected_max", "median_max"), "mean": ("mean", "median_mean")}


def test_entries_are_chosen_by_name_and_group_in_the_order_of_the_suite():
    chosen = [entry.name for entry in chosen_entries(["lost", "paper", "correlated"])]
    assert chosen[-2:] == ["correlated", "lost"]
    assert len(chosen) == 20
    assert chosen_entries([]) == list(SUITE)
    with pytest.raises(eq.errors.InvalidArgument, match="no scenario 'lots'") as caught:
        chosen_entries(["lots"])
    assert "did you mean 'lost'?" in caught.value.hint
