"""What helpers are told."""

import pytest

import equipoise as eq
from equipoise.core.policies.base.policy import known_policies, restore_policies
from equipoise.lab.gpu.ahead import tasks
from equipoise.lab.gpu.ahead.tasks import each_once, tasks_of

SCENARIO = eq.GaussianScenario(noise=[0.3, 0.7, 2.0], dim=3, budget=60, estimator="ridge")


@pytest.fixture(autouse=True)
def runs_all(monkeypatch):
    """A GPU that nobody looks for."""
    monkeypatch.setattr(tasks, "split", lambda arena, policies, device, *, elsewhere: set(policies))


def test_programs_of_a_study_are_compiled_once_each():
    policies = ["uniform", "trace-ucb", "trace-ucb:width=theory:bound=3"]
    needed = [
        tasks_of(SCENARIO.replace(dim=dim, budget=budget), policies, "cuda")
        for dim in (2, 3)
        for budget in (60, 80)
    ]
    found = each_once(needed)
    names = ["draws", "judged"] * 2 + ["opened", "trials"] * 4 + ["elasticities", "turns"]
    assert sorted(task["what"] for task in found) == sorted(names)
    # Those that serve both are told as the first point needs them.
    assert [task["scenario"]["dim"] for task in found if task["what"] in ("turns", "elasticities")] == [2, 2]
    # Budgets are no part of programs.
    assert [task["kind"] for task in needed[0]] == [task["kind"] for task in needed[1]]


def test_tasks_come_in_the_order_of_policies():
    one, other = (
        [task["policy"] for task in tasks_of(SCENARIO, policies, "cuda") if task["what"] == "trials"]
        for policies in (["trace-ucb", "trace-gain", "uniform"], ["uniform", "trace-gain", "trace-ucb"])
    )
    assert one == other[::-1] == ["trace-ucb", "trace-gain", "uniform"]


@pytest.fixture
def own():
    """Policies of one's own: a score, and a design whose score is the package's."""
    known = known_policies()

    @eq.register("own")
    def widest(arm, trial, settings):
        return float(arm.trace)

    @eq.register("coin")
    class Coin(eq.Design):
        @staticmethod
        def weigh(arms, trial, settings, context, memory, turns, weights):
            pass

    yield ["own", "coin"]
    restore_policies(known)


def test_policies_of_ones_own_are_left_to_those_who_know_them(own):
    assert tasks_of(SCENARIO, own, "cuda") == tasks_of(SCENARIO, [], "cuda") == []
    assert {task["policy"] for task in tasks_of(SCENARIO, [*own, "wei-urn"], "cuda")} == {"wei-urn"}
