"""What is compared takes turns: rates at a pace of one's own, right after something else, or all in all."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import clients

Rates = dict[str, list[float]]
PACE = 0.15
"""Seconds that something is done before it is timed: so long a change of the folder by others is felt."""


def in_turns(rounds: int, acts: dict[str, Callable[[], float]]) -> Rates:
    """The rates of everything, each measured once a round."""
    rates: dict[str, list[float]] = {name: [] for name in acts}
    order, draw = list(acts), random.Random(1)
    for _ in range(rounds):
        draw.shuffle(order)
        for name in order:
            rates[name].append(acts[name]())
    return rates


def rate(
    number: int,
    act: Callable[[], object],
    *,
    after: Callable[[], object] | None = None,
    seconds: Callable[[Callable[[], Any]], float] = clients.seconds,
) -> Callable[[], float]:
    """Something that is done ``number`` times, as a rate: at a pace of its own, or right after something."""

    def timed() -> float:
        if after is None:
            until = time.perf_counter() + PACE
            while time.perf_counter() < until:
                act()
        else:
            after()
        return number / seconds(act)

    return timed


def lasting(number: int, act: Callable[[], object], seconds: float) -> Callable[[], float]:
    """The rate of something that is done ``number`` times over and over, with all that comes now and then."""

    def timed() -> float:
        begin, rounds = time.perf_counter(), 0
        while time.perf_counter() < begin + seconds:
            act()
            rounds += 1
        return number * rounds / (time.perf_counter() - begin)

    return timed


def repeat(number: int, act: Callable[[], object]) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(number):
            act()

    return repeated
