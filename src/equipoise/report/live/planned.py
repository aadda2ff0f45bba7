"""What was planned, and what changed: the experiment as it was created against what it is now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from equipoise.core.experiment.history.events import ASKED
from equipoise.core.problem.features.features import Features
from equipoise.core.problem.problem import Problem
from equipoise.errors import EquipoiseError
from equipoise.report.document import Block, Table, Text
from equipoise.report.live.deviations import DECISIONS, deviations, when
from equipoise.report.live.history import History

_MOST_NAMES = 12


def planned_blocks(history: History, problem: Problem, closed: tuple[str, ...]) -> list[Block]:
    """The plan beside the present, and the decisions between them."""
    created = next(history.of("created"), None)
    now = _facts(problem)
    if created is None or created.event is None:
        rows = [[name, value] for name, value in now.items()]
        return [
            Text(
                "An experiment in memory does not keep what it was created with; arms that have joined are "
                "listed last. This is how it is now."
            ),
            Table(["", "now"], rows, text_columns=2),
        ]
    first = _planned(created.event)
    rows = [
        [name, first.get(name, "–"), "as planned" if first.get(name) == value else value]
        for name, value in now.items()
    ]
    by = f" by {created.actor}" if created.actor else ""
    text = f"Created on {when(created.time)} UTC{by}{f': {created.reason}' if created.reason else ''}."
    blocks: list[Block] = [Text(text), Table(["", "planned", "now"], rows, text_columns=3)]
    made = _decisions(history)
    if closed:
        blocks.append(Text(f"Closed now: {', '.join(closed)}."))
    if not made:
        blocks.append(
            Text("Decisions: arms and budget were never changed, and the experiment was never paused.")
        )
        return blocks
    return [
        *blocks,
        Table(
            ["date (UTC)", "decision", "after units", "by", "reason"],
            made,
            text_columns=5,
            caption="Decisions that changed the experiment.",
        ),
    ]


def _decisions(history: History) -> list[list[str]]:
    """Cells of decisions, with how many units had been assigned."""
    found, units = [], 0
    for entry in history.entries:
        units += entry.kind in ASKED
        if entry.kind in DECISIONS:
            for date, what, _, actor, reason in deviations(History(entries=[entry], units=history.units)):
                found.append([date, what, str(units), actor, reason])
    return found


def _planned(created: Mapping[str, Any]) -> dict[str, str]:
    try:
        return _facts(Problem.from_dict(created["problem"]))
    except (EquipoiseError, KeyError):
        return {}


def _facts(problem: Problem) -> dict[str, str]:
    """A problem in words."""
    features = problem.features
    names = problem.feature_names
    listed = ", ".join(names[:_MOST_NAMES]) + (" …" if len(names) > _MOST_NAMES else "")
    facts = {
        "arms": ", ".join(problem.arms),
        "features": f"{len(names)}: {listed}",
        "budget": f"{problem.budget:,.10g}" + ("" if np.any(np.asarray(problem.costs) != 1.0) else " units"),
        "objective": str(problem.objective),
        "target population Σ": "learned from the contexts seen" if problem.moment is None else "given",
    }
    if isinstance(features, Features):
        facts["formula"] = features.formula
    if problem.outcome is not None:
        facts["outcome"] = repr(problem.outcome)
    for name, usual in (("weights", 1.0), ("costs", 1.0), ("floors", 0.0), ("caps", np.inf)):
        values = np.asarray(getattr(problem, name), float)
        if np.any(values != usual):
            facts[name] = ", ".join(
                f"{arm} {value:.10g}"
                for arm, value in zip(problem.arms, values, strict=True)
                if value != usual
            )
    return facts
