import numpy as np
import pytest

from equipoise.studies.leaderboard.ranking import geometric_mean, rank


def test_geometric_mean_and_its_error():
    value, stderr = geometric_mean([(0.5, 0.05), (2.0, 0.1), (1.0, 0.0)])
    assert value == pytest.approx(1.0)
    assert stderr == pytest.approx(np.sqrt(0.1**2 + 0.05**2) / 3)


def test_errors_of_two_losses_of_the_same_trials_add_up():
    (standing,) = rank({"a": [((1.0, 0.1), (1.0, 0.3))]}, reference="oracle")
    assert standing.overall == (pytest.approx(1.0), pytest.approx(0.2))


def test_order_wins_and_what_is_below_the_reference():
    ratios = {
        "oracle": [((1.0, 0.0), (1.0, 0.0)), ((1.0, 0.0), (1.0, 0.0))],
        "late": [((2.0, 0.1), (1.5, 0.1)), ((0.7, 0.1), (1.1, 0.1))],
        "early": [((0.8, 0.1), (0.9, 0.1)), ((0.9, 0.1), (1.2, 0.1))],
    }
    standings = {standing.policy: standing for standing in rank(ratios, reference="oracle")}
    assert list(standings) == ["early", "oracle", "late"]
    # The oracle has the lowest second loss of the second entry, and it takes no wins away.
    assert [standings[name].wins for name in ("early", "oracle", "late")] == [2, 0, 2]
    assert [standings[name].below_reference for name in ("early", "oracle", "late")] == [3, 0, 1]
    assert standings["early"].contests == 4
    assert standings["early"].expected[0] == pytest.approx(np.sqrt(0.72))
    assert standings["early"].median[0] == pytest.approx(np.sqrt(1.08))


def test_whoever_is_told_the_noise_takes_no_wins():
    ratios = {
        "oracle": [((1.0, 0.0), (1.0, 0.0))],
        "best-allocation": [((0.5, 0.0), (0.6, 0.0))],
        "learner": [((0.8, 0.0), (0.9, 0.0))],
    }
    standings = rank(ratios, reference="oracle", told=("oracle", "best-allocation"))
    found = {standing.policy: (standing.wins, standing.below_reference) for standing in standings}
    assert found == {"oracle": (0, 0), "best-allocation": (0, 2), "learner": (2, 2)}
