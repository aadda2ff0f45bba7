"""How tasks are shared out among helpers."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.lab.gpu.ahead.stock import Stock, batches

# How many programs families have in a study with many numbers of features, and what they take.
MANY = [
    (9, (1.1, 0.4)), (1, (0.6, 0.3)), (9, (1.0, 1.1)), (9, (2.4, 1.5)), (9, (1.1, 1.4)), (1, (0.6, 0.3)),
    (9, (1.0, 1.1)), (9, (2.4, 1.5)), (1, (1.1, 0.4)), (9, (2.4, 1.5)), (1, (1.1, 0.4)), (9, (3.7, 3.3)),
    (1, (1.1, 0.4)), (9, (1.1, 1.4)),
]  # fmt: skip
seconds = st.floats(0.1, 10)
families = st.lists(st.tuples(st.integers(1, 9), st.tuples(seconds, seconds)), min_size=1, max_size=14)


def told(families):
    """Tasks of families that have so many each, of every family one after the other."""
    rows = [
        [{"kind": f"{family}-{place}", "family": str(family), "seconds": seconds} for place in range(count)]
        for family, (count, seconds) in enumerate(families)
    ]
    return [task for column in itertools.zip_longest(*rows) for task in column if task is not None]


def time_of(batch):
    drafts = {task["family"]: task["seconds"][0] for task in batch}
    return sum(drafts.values()) + sum(task["seconds"][1] for task in batch)


@given(families, st.integers(1, 16))
def test_every_task_is_done_once_and_what_is_needed_first_is_done_first(families, helpers):
    tasks = told(families)
    shared = batches(tasks, helpers)
    assert len(shared) == helpers
    places = [[tasks.index(task) for task in batch] for batch in shared]
    assert sorted(itertools.chain(*places)) == list(range(len(tasks)))
    assert all(batch == sorted(batch) for batch in places)


@given(families, st.integers(1, 16))
def test_who_has_most_to_do_has_not_much_more_than_others(families, helpers):
    times = sorted(map(time_of, batches(told(families), helpers)))
    longest = max(draft + finish * count for count, (draft, finish) in families)
    # As if no family were taken apart: the longest one ends last, or the one begun last.
    assert times[-1] <= sum(draft + finish * count for count, (draft, finish) in families) / helpers + longest


@pytest.mark.parametrize(("helpers", "most"), [(4, 1.05), (8, 1.15), (12, 1.35), (16, 1.1)])
def test_a_study_is_shared_out_evenly(helpers, most):
    shared = batches(told(MANY), helpers)
    times = [time_of(batch) for batch in shared]
    assert max(times) < most * sum(times) / helpers
    # Numba's part of programs is done again by few.
    alone = time_of(told(MANY))
    assert sum(times) < 1.25 * alone


def test_few_helpers_leave_families_whole():
    shared = batches(told([(3, (2.0, 1.0))] * 4), 2)
    assert sorted(len({task["family"] for task in batch}) for batch in shared) == [2, 2]
    assert sorted(map(len, shared)) == [6, 6]


def test_helpers_whose_tasks_are_done_take_those_of_others():
    stock = Stock(told([(3, (1.1, 1.4))] * 3), 3)
    helpers = {stock.take(helper)["family"]: helper for helper in (0, 1, 2)}
    one, other = helpers["1"], helpers["2"]
    assert [stock.take(one)["kind"], stock.take(one)["kind"]] == ["1-1", "1-2"]
    assert stock.take(other)["kind"] == "2-1"
    # What is needed last, of who has most to do.
    assert stock.take(one)["kind"] == "0-2"
    assert stock.leave() == stock.leave() == []  # one is through, another one has died
    assert sorted(task["kind"] for task in stock.leave()) == ["0-1", "2-2"]
