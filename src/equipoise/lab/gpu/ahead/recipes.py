"""Programs that are not compiled yet: how each is, and which of them are alike but for sizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from equipoise.core.policies.base.policy import Policy, parse_policy
from equipoise.lab.gpu.ahead.tasks import Task
from equipoise.lab.gpu.bench import Drawing
from equipoise.lab.gpu.driver import Device, Program
from equipoise.lab.gpu.programs.drawing import is_drawn_there
from equipoise.lab.gpu.seat import Seat
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.world import Draws


class Recipe(NamedTuple):
    """How a program is compiled."""

    family: str
    """The same for programs that have the same draft."""
    draft: Callable[[], str]
    """Numba's part."""
    program: Callable[[], Program]
    """All of it."""


def recipe_of(device: Device, scenario: Scenario, policy: Policy, what: str) -> Recipe | None:
    """That of the program that ``"draws"`` trials, or of one of a policy's seat, if it has that."""
    draws = Draws(scenario, 0, block=1)
    if what == "draws":
        if not is_drawn_there(scenario):
            return None
        drawing = Drawing(draws.world, device)
        return Recipe(repr(drawing.draft_key), drawing.draft, drawing.program)
    seat = Seat(scenario, policy, 0, draws, device)
    if what not in seat.plans:
        return None
    return Recipe(repr(seat.draft_key(what)), partial(seat.draft, what), partial(seat.program, what))


def family_of(task: Task, device: Device) -> str | None:
    """The family of a task's program; None if there is no program, or that cannot be told."""
    try:
        scenario, policy = Scenario.from_dict(task["scenario"]), parse_policy(task["policy"])
        recipe = recipe_of(device, scenario, policy, task["what"])
    except Exception:  # whoever needs the program will say what is wrong
        return None
    return None if recipe is None else recipe.family
