"""Normal contexts and truths of a block of trials, drawn on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.core.draws.normal import TABLE_BY_TERMS
from equipoise.core.draws.streams import block_words
from equipoise.core.jit.kernel import Kernel
from equipoise.lab.gpu.layout import Layout, Places, Share
from equipoise.lab.gpu.memory import Assembler
from equipoise.lab.gpu.places import PLACES
from equipoise.lab.gpu.teams.lanes import WARP, Team, number_of, wait
from equipoise.lab.gpu.teams.lines import cuts_of, drawing_of
from equipoise.lab.pieces.contexts.gaussian import GaussianContexts, address_of
from equipoise.lab.scenario import Scenario
from equipoise.lab.trial.world import truth_address

_thread, _block, _threads, _blocks = map(number_of, ("tid", "ctaid", "ntid", "nctaid"))


def drawing_layout(world: Any) -> Layout:
    """Where the arrays of a world lie that is drawn."""
    groups, places = {"world": world}, {"world": Places(long=PLACES["world"].long)}
    known = {"world": {"setting": {"intercept": int(world.setting[0]["intercept"])}}}
    layout = Layout(groups, places, Team(WARP), known=known)
    return replace(layout, share=Share({}, max(cut.bytes for cut in cuts_of(layout).values())))


def draw_program(layout: Layout) -> Callable[..., None]:
    """Takes the seed, the number of the first trial and how many there are."""
    world_of = Assembler("world", layout.groups["world"], layout.places["world"]).handle()
    draw_contexts = Kernel(_drawer("contexts", address_of), inline=True)
    draw_truths = Kernel(_drawer("coefs", truth_address), inline=True)

    def run(seed: int, first: int, count: int) -> None:
        world = world_of(0, 0)
        draw_contexts(world.contexts, seed, first, count)
        draw_truths(world.coefs, seed, first, count)

    return run


def _drawer(name: str, address: Any) -> Callable[..., None]:
    """Draws an array of lines, every trial's after those of the trial before."""
    pieces_of, find, has_block, blocks_of, leave, write = drawing_of(name)

    def draw(array: Any, seed: int, first: int, count: int) -> None:
        lines = array.shape[1]
        pieces = lines * pieces_of()
        warps, lane = _threads() // WARP, _thread() % WARP
        begin, step = (_block() * warps + _thread() // WARP) * WARP, _blocks() * warps * WARP
        place, piece = begin // pieces, begin % pieces
        places_on, pieces_on = step // pieces, step % pieces
        while place < count:
            mine, trial = piece + lane, first + place
            while mine >= pieces:
                mine -= pieces
                trial += 1
            line, part = find(mine)
            source, block = address(seed, trial, line), part * blocks_of()
            line, part = find(piece)
            # Written one by one, because a loop is not known to be short before its blocks are long.
            leave(part, 0, block_words(source, block))
            if has_block(1):
                leave(part, 1, block_words(source, block + 1))
            if has_block(2):
                leave(part, 2, block_words(source, block + 2))
            if has_block(3):
                leave(part, 3, block_words(source, block + 3))
            if has_block(4):
                leave(part, 4, block_words(source, block + 4))
            wait()
            line += place * lines
            write(array, part, line, count * lines - line, TABLE_BY_TERMS)
            wait()
            place, piece = place + places_on, piece + pieces_on
            if piece >= pieces:
                place, piece = place + 1, piece - pieces

    return draw


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
