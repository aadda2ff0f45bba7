"""Normal contexts and truths of a block of trials, drawn on a GPU: four numbers a thread at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import intrinsic

from equipoise.core.arithmetic.lanes import LANES as VECTOR
from equipoise.core.arithmetic.lanes import PLACES as LANE_PLACES
from equipoise.core.draws import normal
from equipoise.core.draws.streams import BLOCK, fill_normals
from equipoise.core.jit.kernel import Kernel
from equipoise.core.jit.relinking import Relinker
from equipoise.lab.gpu.layout import Layout, Places
from equipoise.lab.gpu.memory import Assembler
from equipoise.lab.gpu.places import PLACES
from equipoise.lab.gpu.teams.lanes import LANES, Team, number_of
from equipoise.lab.pieces.contexts.gaussian import GaussianContexts, address_of
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.world import truth_address


def drawing_layout(world: Any) -> Layout:
    """Where the arrays of a world lie that is drawn."""
    return Layout({"world": world}, {"world": Places(long=PLACES["world"].long)}, Team(LANES))


def draw_program(layout: Layout) -> Callable[..., None]:
    """Takes the seed, the number of the first trial and how many there are."""
    relink = Relinker()
    relink.replace(normal.generated, _four_normals)
    relink.replace(normal.TABLE, normal.TABLE_BY_TERMS)
    draw = relink(Kernel(_draw_some, inline=True))
    world_of = Assembler("world", layout.groups["world"], layout.places["world"]).handle()
    thread, block, threads, blocks = map(number_of, ("tid", "ctaid", "ntid", "nctaid"))

    def run(seed: int, first: int, count: int) -> None:
        world = world_of(0, 0)
        lines, parts = world.contexts.shape[1] + world.coefs.shape[1], -(-world.contexts.shape[2] // BLOCK)
        for place in range(block(), count, blocks()):
            for number in range(thread(), lines * parts, threads()):
                draw(world, seed, first, place, number // parts, number % parts)

    return run


def _draw_some(world: Any, seed: int, first: int, place: int, line: int, part: int) -> None:
    """One block of words of a unit's context; the lines after all units are the arms' truths."""
    contexts, coefs = world.contexts[place], world.coefs[place]
    units, dim = contexts.shape
    if line < units:
        varying = world.setting[0].intercept
        if part == 0:
            for c in range(varying):
                contexts[line, c] = 1.0
        column = varying + BLOCK * part
        target = contexts[line : line + 1, column : min(column + BLOCK, dim)]
        fill_normals(address_of(seed, first + place, line), part, target, 0, 0)
    else:
        i, column = line - units, BLOCK * part
        target = coefs[i : i + 1, column : min(column + BLOCK, dim)]
        fill_normals(truth_address(seed, first + place, i), part, target, 0, 0)


@intrinsic
def _four_normals(typing_context, table, words):
    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        numbers = arguments[1]
        for place in LANE_PLACES:
            word = builder.bitcast(builder.extract_element(numbers, place), normal.WORD)
            numbers = builder.insert_element(numbers, normal.generate_one(builder, data, word), place)
        return numbers

    return VECTOR(table, VECTOR), generate


def is_drawn_there(scenario: Scenario) -> bool:
    """Whether all that is drawn beforehand are normal contexts and truths, which the GPU draws itself."""
    contexts = scenario.contexts
    varying = scenario.dim - int(scenario.intercept)
    return (
        type(contexts) is GaussianContexts
        and np.array_equal(contexts.covariance_matrix(varying), np.eye(varying))
        and scenario.truth is None
        and scenario.coef is None
        and scenario.curvature == 0.0
        and scenario.coef_drift == 0.0
        and scenario.outcomes is None
        and not scenario.noise_shape.at_hand
        and scenario.delay is None
        and not scenario.lost
        and scenario.drop_out is None
        and not scenario.closures
    )
