"""Which task a helper begins with next."""

import time
from concurrent.futures import Future
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.lab.gpu.ahead.stock import Stock

PATIENCE = 10.0  # seconds
families = st.lists(st.none() | st.sampled_from("abcde"), max_size=12)


def tasks(count, seconds=(1.0, 1.0)):
    return [{"kind": str(number), "seconds": seconds} for number in range(count)]


def beside(function):
    """What a function gives in a thread that nobody has to wait for."""
    found = Future()
    Thread(target=lambda: found.set_result(function()), daemon=True).start()
    return found


def filled(families, helpers=1, todo=None):
    stock = Stock(helpers)
    stock.fill(todo or tasks(len(families)), families)
    return stock


def steps_of(stock):
    """What one helper that does all would do."""
    while (step := stock.take()) is not None:
        yield step
        stock.is_over(step)


@given(families)
def test_every_program_is_compiled_once_and_every_family_drafted_once_before(families):
    drafted, compiled = [], []
    for task, is_draft in steps_of(filled(families)):
        family = families[int(task["kind"])]
        assert is_draft or family in (*drafted, None)
        (drafted if is_draft else compiled).append(family if is_draft else int(task["kind"]))
    assert compiled == list(range(len(families)))
    assert sorted(drafted) == sorted({family for family in families if family is not None})


@given(families, st.integers(2, 8))
def test_many_helpers_do_each_step_once(families, helpers):
    stock, done = filled(families, helpers), []
    for each in [beside(lambda: done.extend(steps_of(stock))) for _ in range(helpers)]:
        each.result(PATIENCE)
    programs = sorted(int(task["kind"]) for task, is_draft in done if not is_draft)
    assert programs == list(range(len(families)))
    assert len(done) - len(programs) == len({family for family in families if family is not None})


def test_the_longest_draft_comes_first_and_programs_come_in_order():
    todo = [{"kind": str(k), "seconds": (draft, 1.0)} for k, draft in enumerate((1.0, 3.0, 2.0, 3.0))]
    order = [(step.task["kind"], step.is_draft) for step in steps_of(filled(["a", "b", "c", "b"], todo=todo))]
    assert order == [*(("1", True), ("2", True), ("0", True)), *((str(k), False) for k in range(4))]


def test_programs_that_take_much_longer_than_most_come_first():
    todo = [{"kind": str(k), "seconds": (1.0, finish)} for k, finish in enumerate((0.9, 1.5, 0.4, 2.4, 0.9))]
    order = [step.task["kind"] for step in steps_of(filled([None] * 5, todo=todo))]
    assert order == ["3", "0", "1", "2", "4"]


def test_nobody_begins_with_a_program_whose_draft_is_under_way():
    stock = filled(["a", "b", "a"], helpers=3)
    one, other = stock.take(), stock.take()
    stock.is_over(other)
    assert stock.take() == (other.task, False)
    waiting = beside(stock.take)
    time.sleep(0.05)
    assert not waiting.done()
    stock.is_over(one)
    assert waiting.result(PATIENCE).task["kind"] == "0"
    assert [stock.take().task["kind"], stock.take()] == ["2", None]


@pytest.mark.parametrize("end", [Stock.close, lambda stock: stock.fill([], [])])
def test_helpers_wait_until_they_are_told_what_there_is(end):
    stock = Stock(1)
    waiting = beside(stock.take)
    time.sleep(0.05)
    assert not waiting.done()
    end(stock)
    assert waiting.result(PATIENCE) is None


def test_what_is_left_when_the_last_helper_leaves_is_given_up():
    stock = filled(["a", None, "a"], helpers=2)
    stock.take()
    assert stock.leave() == []
    assert [task["kind"] for task in stock.leave()] == ["0", "1", "2"]
    assert stock.take() is None


def test_what_is_told_when_all_helpers_have_left_is_given_up():
    stock = Stock(1)
    assert stock.leave() == []
    assert [task["kind"] for task in stock.fill(tasks(2), ["a", "b"])] == ["0", "1"]


def test_who_waits_for_a_draft_is_woken_when_its_helper_has_died():
    stock = filled(["a", "a"], helpers=2)
    step = stock.take()
    waiting = beside(stock.take)
    time.sleep(0.05)
    stock.is_over(step)
    assert waiting.result(PATIENCE) == (step.task, False)
    assert stock.leave() == []
