"""The target population, and the units that came, in the user's own words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from equipoise.core.diagnosis.balance import Balance
from equipoise.core.problem.features.category import Category
from equipoise.core.problem.features.features import Features
from equipoise.core.problem.features.number import Number
from equipoise.core.problem.problem import Problem
from equipoise.report.document import Block, Table, Text
from equipoise.report.experiment_models import MOST_FEATURES, further
from equipoise.report.live.history import REDACTED, WITHDRAWN, History, UnitPath
from equipoise.report.numbers import shortened
from equipoise.words import counted

_MOST_ARMS = 6


def population_blocks(history: History, problem: Problem, balance: Balance) -> list[Block]:
    """Whom the models must serve, and whom the experiment saw, by arm where arms are few."""
    if problem.moment is None:
        text = (
            "The models are to serve people like those who came: Σ = E[xxᵀ], which errors are "
            "measured by, was "
            "learned from all contexts seen. Whoever wants to use them elsewhere checks that people "
            "there are "
            "like these."
        )
    else:
        text = (
            "The models are to serve a population whose Σ = E[xxᵀ] was given when the experiment was "
            "created. "
            "Errors are those to expect there, whoever came."
        )
    units = [unit for unit in history.units if unit.status not in (WITHDRAWN, REDACTED)]
    if not units:
        return [Text(text)]
    arms = list(problem.arms) if len(problem.arms) <= _MOST_ARMS else []
    features = problem.features
    recorded = [unit for unit in units if unit.given is not None]
    if isinstance(features, Features) and recorded:
        rows = [
            row for name in features.used for row in _field_rows(name, features.fields[name], recorded, arms)
        ]
        known, caption = len(recorded), "Mean (standard deviation) of numbers, units (share) of categories."
    else:
        rows, known = _feature_rows(balance, arms), len(units)
        caption = "Mean (standard deviation) of every feature, as models see it; of arms without units lost."
    left = len(rows) - MOST_FEATURES
    text += f" {counted(known, 'unit is', 'units are')} described, withdrawn and redacted ones aside."
    return [
        Text(text + further(left, "line")),
        Table(["", "all units", *(shortened(arm) for arm in arms)], rows[:MOST_FEATURES], caption=caption),
    ]


def _field_rows(name: str, field: Any, units: Sequence[UnitPath], arms: Sequence[str]) -> list[list[str]]:
    groups = [list(units), *([unit for unit in units if unit.arm == arm] for arm in arms)]
    values = [[(unit.given or {}).get(name) for unit in group] for group in groups]
    if isinstance(field, Number):
        unit = f", {field.unit}" if field.unit else ""
        return [[f"{name}{unit}", *(_mean(each) for each in values)]]
    if isinstance(field, Category):
        counts = [Counter(map(str, each)) for each in values]
        return [
            [
                f"{name}: {level}",
                *(_share(count, str(level), len(each)) for count, each in zip(counts, values, strict=True)),
            ]
            for level in field.levels
        ]
    return []


def _mean(values: Sequence[Any]) -> str:
    known = np.array([float(value) for value in values if isinstance(value, int | float)])
    known = known[np.isfinite(known)]
    if not len(known):
        return "–"
    missing = len(values) - len(known)
    # Of a single unit there is none.
    text = f"{known.mean():.4g}" + (f" ({known.std(ddof=1):.3g})" if len(known) > 1 else "")
    return f"{text}; {missing} missing" if missing else text


def _share(counts: Counter[str], level: str, total: int) -> str:
    return f"{counts[level]} ({100 * counts[level] / total:.0f} %)" if total else "–"


def _feature_rows(balance: Balance, arms: Sequence[str]) -> list[list[str]]:
    rows = []
    for j, name in enumerate(balance.names):
        cells = [_both(balance.means[j], balance.spreads[j])]
        cells += [_both(balance[arm].means[j], balance[arm].spreads[j]) for arm in arms]
        rows.append([name, *cells])
    return rows


def _both(mean: float, spread: float) -> str:
    return f"{mean:.4g} ({spread:.3g})" if math.isfinite(mean) else "–"
