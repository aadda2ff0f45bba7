"""The rule: what it is, what it looked at, when it began to adapt, and what chance was left."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.experiment.history.events import ASKED
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.core.policies.base.policy import Policy, policy_fields
from equipoise.core.problem.problem import Problem
from equipoise.report.document import Block, Code, Table, Text
from equipoise.report.experiment_models import MOST_ARMS
from equipoise.report.live.history import CERTAIN, History, UnitPath
from equipoise.version import __version__
from equipoise.words import counted


def rule_blocks(
    history: History, policy: Policy, problem: Problem, seed: int, closed: Sequence[str] = ()
) -> list[Block]:
    """The rule with all its settings, what drove it, and its start."""
    versions = "; then ".join(history.versions) or f"{__version__}, numerics {NUMERICS}"
    rows = [
        ["rule", policy.label],
        ["in a sentence", _sentence(policy)],
        *([f"setting: {name}", value] for name, value in _settings(policy)),
        *_source_hash(history),
        ["seed", str(seed)],
        ["library", f"equipoise {versions}"],
        ["objective", _objective(problem)],
    ]
    return [
        Text(
            "The same contexts, outcomes, unit keys and seed give the same arms on any machine, with "
            "this rule "
            "and this version."
        ),
        Table(["", "exactly"], rows, text_columns=2),
        *_own_source(policy),
        Text(_drivers(policy)),
        Text(_start(history, policy, problem, closed)),
        Text(_batches(history)),
    ]


def chance_realised(history: History, arms: Sequence[str]) -> list[Block]:
    """Propensities as they were: how likely units were to get the arm that they were assigned to."""
    units = [unit for unit in history.units if math.isfinite(unit.propensity)]
    if not units:
        return []
    certain = sum(unit.propensity >= CERTAIN for unit in units)
    if certain == len(units):
        return [
            Text(
                "Propensities: 1 for every unit that the rule assigned. Nothing was drawn by lot, so each "
                "arm was certain once the context was known."
            )
        ]
    rows = []
    for arm in arms[:MOST_ARMS]:
        own = np.array([unit.propensity for unit in units if unit.assigned == arm])
        if not len(own):
            rows.append([arm, "0", "–", "–", "–", "–"])
            continue
        low, middle, high = (float(np.quantile(own, level)) for level in (0.0, 0.5, 1.0))
        share = float(np.mean(own >= CERTAIN))
        rows.append(
            [arm, str(len(own)), f"{low:.3f}", f"{middle:.3f}", f"{high:.3f}", f"{100 * share:.0f} %"]
        )
    text = (
        "Propensities: the probability with which a unit got the arm that it got, known before the draw. "
        f"{100 * certain / len(units):.0f} % of the units had only one possible arm."
    )
    return [Text(text), Table(["arm", "units", "smallest", "median", "largest", "certain"], rows)]


def starts(history: History, problem: Problem) -> dict[str, list[UnitPath]]:
    """Units of every arm's start: those it got while short of d + 1, or while its score was infinite."""
    counts = dict.fromkeys(problem.arms, 0)
    found: dict[str, list[UnitPath]] = {arm: [] for arm in problem.arms}
    for unit in history.units:
        if unit.assigned is None:
            continue
        counts[unit.assigned] += 1
        if unit.rule is None and (unit.forced or counts[unit.assigned] <= problem.dim + 1):
            found[unit.assigned].append(unit)
    return found


def _sentence(policy: Policy) -> str:
    text = inspect.getdoc(type(policy)) or "a policy of one's own, without a description"
    return text.split("\n")[0]


def _settings(policy: Policy) -> list[tuple[str, str]]:
    return [(field.name, _written(getattr(policy, field.name))) for field in policy_fields(type(policy))]


def _written(value: Any) -> str:
    if value is None:
        return "not set"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _objective(problem: Problem) -> str:
    words = {"max": "make the largest error of an arm small", "mean": "make the mean error of the arms small"}
    objective = problem.objective
    text = (
        words[objective] if isinstance(objective, str) else f"make the {objective:g}-norm of the errors small"
    )
    return text if np.all(np.asarray(problem.weights) == 1.0) else f"{text}, arms weighted"


def _source_hash(history: History) -> list[list[str]]:
    """The hash that a log has of the source of a rule of the experimenter's own."""
    created = next(history.of("created"), None)
    found = None if created is None or created.event is None else created.event.get("source")
    return [] if found is None else [["hash of its source", str(found)]]


def _own_source(policy: Policy) -> list[Block]:
    """The source of a rule that the library does not bring."""
    if type(policy).__module__.startswith("equipoise."):
        return []
    try:
        source = inspect.getsource(type(policy))
    except (OSError, TypeError):
        return [Text("The rule is one of the experimenter's own; its source is not at hand.")]
    return [Code(source.rstrip(), "The rule is one of the experimenter's own:")]


def _drivers(policy: Policy) -> str:
    kind = type(policy)
    if kind.weighs or (isinstance(policy, AbsentPolicy) and policy.traits.get("weighs")):
        text = (
            "What drove allocation: every unit was drawn by lot, with probabilities that this design "
            "computes "
            "from past assignments and contexts, and if it adapts to the noise from the arms' σ̂²."
        )
    else:
        seen = ["how many units every arm had and which contexts (Tr ΣS⁻¹)", "the arms' noise variances σ̂²"]
        if kind.pools:
            seen.append("how much these resemble each other")
        if kind.looks:
            seen.append("the context of the unit at hand")
        text = f"What drove allocation, as far as the rule makes use of it: {', '.join(seen)}."
    text += (
        " Never coefficients: no rule can see which arm does better, so results did not steer it. What "
        "persons did is under Deviations."
    )
    chance = policy.lots()
    if chance:
        text += (
            f" With a probability of {chance:g} a unit was drawn by lot among the arms that were possible "
            "for it."
        )
    if kind.staged:
        text += " But outcomes chose the features, and by them the contexts that the rule sees; see Models."
    return text


def _start(history: History, policy: Policy, problem: Problem, closed: Sequence[str]) -> str:
    if type(policy).staged:
        return _choosing(history, problem)
    if not type(policy).forced_start:
        return "Start: the rule has no forced start; it applies from the first unit."
    text = (
        f"Start (burn-in): arms short of {problem.dim + 1} units go first, since no model with a "
        "noise variance can "
        "be fitted to fewer. "
    )
    begun = {arm: units for arm, units in starts(history, problem).items() if units}
    if not begun:
        return text + "No unit has been assigned yet."
    joined = [entry.event["arm"] for entry in history.of("arm_added") if entry.event is not None]
    first = [unit for arm, units in begun.items() if arm not in joined for unit in units]
    forced = sum(map(len, begun.values()))
    text += f"{counted(forced, 'unit was', 'units were')} of this kind"
    short = _short(history, problem, closed)
    if any(arm not in joined for arm in short):
        text += "; the start is not over"
    elif first:
        last = max(first, key=lambda unit: unit.id)
        text += f"; the start ended with unit {_named(last)}"
    for arm in joined:
        if arm in short:
            text += f", that of {arm}, which joined later, is not over"
        elif arm in begun:
            text += f", that of {arm}, which joined later, ended with unit {_named(begun[arm][-1])}"
    return text + ". All others that the rule assigned followed what was known of contexts and noise then."


def _short(history: History, problem: Problem, closed: Sequence[str]) -> list[str]:
    """Open arms that are still to get the units of their start."""
    given = Counter(unit.assigned for unit in history.units)
    return [arm for arm in problem.arms if arm not in closed and given[arm] <= problem.dim]


def _choosing(history: History, problem: Problem) -> str:
    """When outcomes chose features, where a log tells."""
    text = (
        "Start (burn-in): the first units choose features; then arms that lack units for a model of these go "
        "first."
    )
    units = 0
    for entry in history.entries:
        units += entry.kind in ASKED
        if entry.kind == "features_chosen" and entry.event is not None:
            names = [problem.feature_names[column] for column in entry.event["columns"]]
            on = f" on {entry.time:%Y-%m-%d}" if entry.time else ""
            text += f" After {counted(units, 'unit')}{on} these were chosen: {', '.join(names) or 'none'}."
    return text


def _named(unit: UnitPath) -> str:
    return f"number {unit.id}" + (f" on {unit.time:%Y-%m-%d}" if unit.time else "")


def _batches(history: History) -> str:
    together = sum(unit.together for unit in history.units)
    if not together:
        return "Allocation was updated with every unit; outcomes counted from the moment they were told."
    return (
        f"{counted(together, 'unit was', 'units were')} assigned in batches, all others one by one; within a "
        "batch no outcome of the batch is known."
    )
