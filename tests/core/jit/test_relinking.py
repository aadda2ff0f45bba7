"""Copies of compiled functions that call others in some places."""

import sys
from types import ModuleType

from equipoise.core.jit.decorators import compiled, only_where
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker


@compiled
def one(number):
    return number + 1.0


@compiled
def twice_one(number):
    return one(one(number))


@compiled
def through_module(number):
    return this.one(number)


@compiled
def factorial(number):
    return 1 if number < 2 else number * factorial(number - 1)


def _ten(number):
    return number + 10.0


this = ModuleType("equipoise.made_up")
this.one = one


def relinked():
    relink = Relinker()
    relink.replace(one, Kernel(_ten))
    return relink


def test_a_copy_calls_the_substitute_and_the_original_does_not():
    copy = relinked()(twice_one)
    assert copy(1.0) == 21.0
    assert twice_one(1.0) == 3.0


def test_functions_are_found_through_modules_of_the_package():
    assert relinked()(through_module)(1.0) == 11.0
    assert through_module(1.0) == 2.0
    assert sys.modules[__name__].this.one is one


def test_a_function_that_calls_itself():
    relink = Relinker()
    copy = relink(factorial)
    assert copy.py_func.__globals__["factorial"] is copy


def test_machine_code_of_a_copy_is_not_taken_for_the_originals():
    from equipoise.core.choice.highest_score import choose
    from equipoise.core.jit.sources import is_stamped

    assert is_stamped(choose.py_func)
    assert not is_stamped(Relinker()(choose).py_func)


def test_a_family_has_one_copy_of_each():
    relink = relinked()
    copy = relink(twice_one)
    assert relink(twice_one) is copy
    assert relink(5.0) == 5.0


def test_what_some_skip_the_copies_skip():
    @only_where(lambda kind: False, otherwise=one)
    @compiled
    def never(number):
        return number - 100.0

    def call(number):
        return never(number)

    assert relinked()(Kernel(call))(1.0) == 11.0
