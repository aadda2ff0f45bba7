"""Who goes first when everything else ties: an order of the arms, drawn anew for every trial.

An arm's place follows from the seed, the number of the trial and the arm's name, so it does not matter
how arms are listed. A name is hashed once; every trial draws one word for every hash, and arms go by
their words.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import State
from equipoise.core.draws.streams import TIE, Stream, new_stream, start, word
from equipoise.core.jit.decorators import compiled

Ties = npt.NDArray[np.uint64]  # [m, 4]: an arm's hash, word and place, and the arm that has this turn

_KEY, _WORD, _PLACE, _TURN = range(4)
# Steps of a Shell sort (Ciura 2001).
_STEPS = (701, 301, 132, 57, 23, 10, 4, 1)


def new_ties(arms: Sequence[str]) -> Ties:
    """Room for orders of these arms."""
    ties = np.zeros((len(arms), 4), np.uint64)
    for i, arm in enumerate(arms):
        digest = hashlib.blake2b(arm.encode(errors="surrogatepass"), digest_size=8).digest()
        ties[i, _KEY] = int.from_bytes(digest, "little")
    return ties


def tie_order(arms: Sequence[str], seed: int, number: int = 0) -> npt.NDArray[np.int64]:
    """Place of every arm in the order of trial ``number``; an experiment is trial 0."""
    ties = new_ties(arms)
    _draw(ties, new_stream(), seed % 2**63, number)
    return ties[:, _PLACE].astype(np.int64)


@compiled
def order_arms(state: State, ties: Ties, stream: Stream) -> None:
    """Write the places of the arms in the order of the state's trial."""
    _draw(ties, stream, state.trial[0].seed, state.trial[0].number)
    for i in range(ties.shape[0]):
        state.arms[i].order = np.int64(ties[i, _PLACE])


@compiled
def _draw(ties: Ties, stream: Stream, seed: int, number: int) -> None:
    for i in range(ties.shape[0]):
        start(stream, seed, number, TIE, ties[i, _KEY], 0)
        ties[i, _WORD] = word(stream)
        ties[i, _TURN] = np.uint64(i)
    for step in _STEPS:
        for i in range(step, ties.shape[0]):
            arm, turn = ties[i, _TURN], i
            while turn >= step and ties[ties[turn - step, _TURN], _WORD] > ties[arm, _WORD]:
                ties[turn, _TURN] = ties[turn - step, _TURN]
                turn -= step
            ties[turn, _TURN] = arm
    for turn in range(ties.shape[0]):
        ties[ties[turn, _TURN], _PLACE] = np.uint64(turn)
