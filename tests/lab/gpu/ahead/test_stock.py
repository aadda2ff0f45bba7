"""What helpers are told, and how tasks are shared out among them."""

import equipoise as eq
from equipoise.lab.gpu.ahead import tasks as telling
from equipoise.lab.gpu.ahead.stock import Stock, batches
from equipoise.lab.gpu.ahead.tasks import tasks_of

SCENARIO = eq.GaussianScenario(noise=[0.3, 0.7, 2.0], dim=3, budget=60, estimator="ridge")


def test_programs_of_a_study_are_compiled_once_each(monkeypatch):
    monkeypatch.setattr(telling, "split", lambda arena, policies, device, *, elsewhere: set(policies))
    points = [
        (SCENARIO.replace(dim=dim, budget=budget), ["uniform", "trace-ucb", "trace-ucb:width=theory:bound=3"])
        for dim in (2, 3)
        for budget in (60, 80)
    ]
    needed = [tasks_of(*point, "cuda") for point in points]
    listed = list({task["kind"]: task for each in needed for task in each}.values())
    found = sorted(task["what"] for task in listed)
    assert found == sorted(["draws", "judged"] * 2 + ["opened", "trials"] * 4 + ["elasticities", "turns"])
    for helpers in (1, 3, 7, 10):
        shared = batches(listed, helpers)
        assert len(shared) == helpers
        assert sorted(listed.index(task) for batch in shared for task in batch) == list(range(len(listed)))
        # What is needed first is done first.
        assert all(
            [listed.index(task) for task in batch] == sorted(map(listed.index, batch)) for batch in shared
        )
        families = [{task["family"] for task in batch} for batch in shared]
        assert all(len(family) == 1 for family in families) or helpers < 8
        assert sum(map(len, families)) == max(8, helpers)


def test_helpers_whose_tasks_are_done_take_those_of_others():
    tasks = [{"kind": str(k), "family": str(k % 3), "seconds": (1.1, 1.4)} for k in range(9)]
    stock = Stock(tasks, 3)
    mine, other = ([str(k) for k in range(9) if k % 3 == family] for family in (2, 1))
    assert [stock.take(0)["kind"] for _ in range(3)] == mine
    assert stock.take(1)["kind"] == other[0]
    # What is needed last, of who has most to do.
    assert {stock.take(0)["kind"], stock.take(0)["kind"]} == {"6", other[2]}
    assert stock.leave() == stock.leave() == []  # the first is through, another one has died
    assert sorted(task["kind"] for task in stock.leave()) == sorted(["0", "3", other[1]])
