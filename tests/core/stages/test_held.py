"""Units that are held for arms whose features are not evident."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import StateMismatch

DIM, ARMS = 60, ("quiet", "weak", "loud")
NOISE = {"quiet": 0.2, "weak": 0.5, "loud": 3.0, "late": 1.0}
BUDGET = 420


class World:
    """An arm with two evident features, one with eight weak ones, and a noisy one."""

    def __init__(self, seed=1):
        rng = np.random.default_rng(seed)
        self.contexts = rng.normal(size=(BUDGET, DIM))
        self.noise = rng.normal(size=BUDGET)
        self.coefs = {arm: np.zeros(DIM) for arm in NOISE}
        self.coefs["quiet"][[0, 1]] = 2.0, -2.0
        self.coefs["weak"][2:10] = 0.2 * rng.choice([-1.0, 1.0], size=8)
        self.coefs["loud"][[0, 1]] = 2.0, 2.0
        self.coefs["late"][[0, 1]] = 1.0

    def run(self, going, units=None):
        path = []
        while going.remaining and (units is None or len(path) < units):
            t = going.asked
            unit = going.ask(self.contexts[t])
            path.append(unit.arm)
            y = self.contexts[t] @ self.coefs[unit.arm] + NOISE[unit.arm] * self.noise[t]
            going.tell(unit.id, float(y))
        return path


def experiment(spec="sparse-trace-ucb:screen=60", **limits):
    problem = eq.Problem(list(ARMS), DIM, budget=BUDGET, allow_small_budget=True, **limits)
    return eq.Experiment(problem, spec, seed=1)


def test_an_arm_keeps_most_of_its_even_share_until_its_features_are_evident():
    world, going = World(), experiment()
    world.run(going, units=200)
    assert going._stage.held.tolist()[:2] == [0, 105]
    world.run(going)
    # Trace-UCB alone would leave the arm with little noise and weak features at 60 and a few.
    assert going.counts["weak"] == 105
    assert going.counts["quiet"] < 80
    assert sum(going.counts.values()) == BUDGET


def test_nothing_is_held_where_arms_are_taken_to_share_their_features():
    for spec in ("sparse-trace-ucb:screen=60:shared=true", "sparse-trace-ucb:screen=60:reuse=false"):
        world, going = World(), experiment(spec)
        world.run(going)
        assert going._stage.held is None


def test_floors_that_people_set_come_first():
    world, going = World(), experiment(floors={"quiet": 200})
    world.run(going)
    assert going.counts["quiet"] == 200
    assert sum(going.counts.values()) == BUDGET


def test_what_is_left_is_shared_if_it_does_not_pay_for_all():
    world, going = World(), experiment(floors={"quiet": 300})
    world.run(going, units=200)
    held, floors = going._stage.held, np.array([300, 0, 0])
    owed = np.maximum(np.maximum(held, floors) - [going.counts[arm] for arm in ARMS], 0)
    assert owed.sum() <= going.remaining
    world.run(going)
    assert going.counts["quiet"] == 300


def test_a_cap_and_a_closed_arm_need_nothing():
    world, going = World(), experiment(caps={"weak": 90})
    world.run(going)
    assert going.counts["weak"] <= 90
    assert going.remaining == 0
    world, going = World(), experiment()
    world.run(going, units=200)
    going.close_arm("weak")
    assert "weak" not in world.run(going)
    assert sum(going.counts.values()) == BUDGET


def test_an_arm_that_joins_ends_what_was_held():
    world, going = World(), experiment()
    world.run(going, units=200)
    assert going._stage.held is not None
    going.add_arm("late")
    assert going._stage.held is None
    assert going._state.arms["floor"].tolist() == [0] * 4
    path = world.run(going)
    assert path[0] == "late"
    assert sum(going.counts.values()) == BUDGET


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda going: pickle.loads(pickle.dumps(going))])
def test_what_is_held_is_saved(copied):
    world, going = World(), experiment()
    world.run(going, units=200)
    twin = copied(going)
    np.testing.assert_array_equal(twin._stage.held, going._stage.held)
    assert world.run(twin) == world.run(going)


def test_floors_that_nothing_holds_are_damage():
    world, going = World(), experiment()
    world.run(going, units=200)
    going._state.arms["floor"] += 1
    with pytest.raises(StateMismatch, match="floor"):
        pickle.loads(pickle.dumps(going))


def test_relabelled_arms_are_held_the_same():
    world = World()
    counts = []
    for order in (ARMS, ARMS[::-1]):
        problem = eq.Problem(list(order), DIM, budget=BUDGET, allow_small_budget=True)
        going = eq.Experiment(problem, "sparse-trace-ucb:screen=60", seed=1)
        world.run(going)
        counts.append(going.counts)
    assert counts[0] == counts[1]
