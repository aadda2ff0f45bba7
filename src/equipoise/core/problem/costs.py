"""What a unit of an arm costs, and how many units an arm must and may get: checked numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from equipoise.core.arithmetic.sums import exact_sum
from equipoise.core.arrays import Vector
from equipoise.core.problem.real import real_number
from equipoise.errors import BudgetTooSmall, InvalidArgument, InvalidProblem, LimitConflict, UnknownArm

NO_CAP = 2**53
"""Above any number of units, and exact as a float."""

# A unit is paid for if at most this share of its cost is missing: sums of costs such as 0.1 are rounded.
ROUNDING = 1e-6
_SUM_ROUNDING = 1e-12


def positive_numbers(what: str, names: tuple[str, ...], given: Mapping[str, float] | Vector | None) -> Vector:
    """One positive number an arm, 1 unless given; ``what`` names them in errors, e.g. ``"weight"``."""
    vector = np.ones(len(names))
    for name, value in _by_arm(what, names, given, usual=1.0).items():
        vector[names.index(name)] = positive_number(what, name, value)
    vector.setflags(write=False)
    return vector


def whole_numbers(
    what: str, names: tuple[str, ...], given: Mapping[str, float] | Vector | None, *, unless_given: float
) -> Vector:
    """One whole number an arm."""
    vector = np.full(len(names), unless_given)
    for name, value in _by_arm(what, names, given, usual=unless_given).items():
        vector[names.index(name)] = whole_number(what, name, value)
    vector.setflags(write=False)
    return vector


def positive_number(what: str, name: str, value: Any) -> float:
    """The number, or an error that says whose it is."""
    try:
        number = real_number(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 < number < math.inf:
        raise InvalidArgument(f"{what} {value!r} of arm {name!r} is not a positive number")
    return number


def whole_number(what: str, name: str, value: Any) -> float:
    """The number of units, or an error that says whose it is."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0 or isinstance(value, bool):
        raise InvalidArgument(f"{what} {value!r} of arm {name!r} is not a whole number of at least 0")
    if number > NO_CAP:
        raise InvalidArgument(
            f"the {what} of arm {name!r} is more than can be counted", hint="give at most 2^53 units"
        )
    return float(number)


def check_limits(names: tuple[str, ...], floors: Vector, caps: Vector, *, least: int) -> None:
    """Refuse a floor above its cap, and a cap below the ``least`` that estimating an arm takes."""
    for name, floor, cap in zip(names, floors, caps, strict=True):
        if floor > cap:
            raise LimitConflict(
                f"arm {name!r} must get {floor:.0f} units and may get {cap:.0f}",
                hint="lower its floor, or raise its cap",
            )
        if cap < least:
            raise LimitConflict(
                f"with a cap of {cap:.0f} arm {name!r} can never be estimated: that takes {least} units",
                hint=f"raise its cap to {least}, or leave the arm out",
            )


def check_money(budget: float, costs: Vector, floors: Vector, caps: Vector) -> None:
    """Refuse floors that the budget does not pay for, and caps that leave some of it unspent."""
    floor_cost, cap_cost = exact_sum(costs * floors), exact_sum(costs * caps)
    if not covers(budget, floor_cost):
        raise BudgetTooSmall(
            f"a budget of {budget:.10g} does not pay for the floors: they take {floor_cost:.10g}",
            hint=f"give budget={floor_cost:.10g} or more, or lower floors",
        )
    if not covers(cap_cost, budget):
        raise LimitConflict(
            f"the caps leave {budget - cap_cost:.10g} of the budget of {budget:.10g} unspent",
            hint=f"raise caps, or give budget={cap_cost:.10g}",
        )


def covers(money: float, needed: float) -> bool:
    """Whether money is enough, but for the rounding of sums."""
    return bool(money >= needed * (1.0 - _SUM_ROUNDING))


def most_units(money: float, costs: npt.ArrayLike, rooms: npt.ArrayLike) -> int:
    """The largest number of units that money buys, cheapest arms first; ``rooms`` may be infinite.

    >>> most_units(20.0, [1.0, 3.0], [5, np.inf])
    10
    """
    units = 0
    for cost, room in sorted(zip(np.asarray(costs).tolist(), np.asarray(rooms).tolist(), strict=True)):
        paid = min(room, max(money, 0.0) / cost + ROUNDING)
        if units + paid >= NO_CAP:
            raise InvalidProblem(
                f"the budget buys {units + paid:.3g} units: more than can be counted",
                hint="units must stay below 2^53: give a smaller budget, or costs in another unit of money",
            )
        bought = math.floor(paid)
        units += bought
        money -= bought * cost
    return units


def units_left(
    money: float,
    *,
    costs: Vector,
    floors: Vector,
    caps: Vector,
    counts: Vector,
    assigned: Vector,
    open: Vector,
) -> int:
    """The most units that can still be assigned when ``money`` is left; 0 only if no arm may be chosen.

    Where losses have put floors out of reach it is an upper bound.
    """
    rooms = np.where(open, caps - assigned, 0.0)
    owed = np.minimum(np.maximum(floors - counts, 0.0), rooms)
    owed[money < costs * (1.0 - ROUNDING)] = 0.0
    reserve = exact_sum(costs * owed)
    if not covers(money, reserve):
        return most_units(money, costs, rooms)
    return int(exact_sum(owed)) + most_units(money - reserve, costs, rooms - owed)


def _by_arm(
    what: str, names: tuple[str, ...], given: Mapping[str, Any] | Vector | None, *, usual: float
) -> Mapping[str, Any]:
    if isinstance(given, np.ndarray):
        given = _of_another(what, names, given, usual)
    if given is not None and not isinstance(given, Mapping):
        raise InvalidArgument(f"{what}s={given!r} does not name arms", hint=f"e.g. {{{names[0]!r}: 2}}")
    for name in given or {}:
        if name not in names:
            raise UnknownArm(f"{what} for unknown arm {name!r}", hint=f"the arms are {', '.join(names)}")
    return given or {}


def _of_another(what: str, names: tuple[str, ...], given: Vector, usual: float) -> dict[str, Any]:
    """What another problem holds, for dataclasses.replace; where nothing was given, arms may be others."""
    unusual = {place: value for place, value in enumerate(given.tolist()) if value != usual}
    if unusual and len(given) != len(names):
        raise InvalidArgument(
            f"{len(given)} {what}s for {len(names)} arms", hint=f"name them, e.g. {{{names[0]!r}: 2}}"
        )
    # Whole numbers are held as floats; whole_number takes none.
    return {
        names[place]: int(value) if what in ("floor", "cap") and value == round(value) else value
        for place, value in unusual.items()
    }
