"""How arms are chosen in a stage, as compiled trials read it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equipoise.core.arms.state import State
from equipoise.core.arrays import Counts, Vector
from equipoise.core.choice.decide import CHOOSE, decide
from equipoise.core.jit.decorators import inlined
from equipoise.core.jit.handles import handled
from equipoise.core.stages.stage import Stage, is_due

TERMS = np.dtype(
    [
        ("score", "i8"),  # address of the score
        ("ends", "i8"),  # whether another stage may follow
        ("needed_in_all", "i8"),  # see Stage
        ("reserve", "f8"),
    ],
    align=True,
)


@handled
class Rule(NamedTuple):
    """The policy of a stage, and what ends the stage."""

    terms: npt.NDArray[Any]  # TERMS[1]
    settings: Vector
    columns: Counts  # features that it sees
    needed: Counts  # [m] outcomes an arm that end the stage
    scores: Vector  # [m] scratch


def rule_of(stage: Stage) -> Rule:
    """The rule of a stage."""
    terms = np.zeros(1, TERMS)
    terms["score"] = stage.score
    terms["ends"], terms["needed_in_all"] = stage.may_end, stage.needed_in_all
    terms["reserve"] = stage.reserve
    return Rule(terms, stage.settings, stage.columns, stage.needed, np.zeros(len(stage.state.arms)))


@inlined
def next_is_due(state: State, rule: Rule) -> bool:
    """Whether the next stage begins with the next unit."""
    terms = rule.terms[0]
    return terms.ends and is_due(state, rule.needed, terms.needed_in_all, terms.reserve)


@inlined
def decide_by_rule(state: State, rule: Rule) -> int:
    """Assign the unit whose context stands in the next free row; its arm, or ``NO_ARM``."""
    return decide(state, rule.terms[0].score, rule.settings, rule.scores, CHOOSE)
