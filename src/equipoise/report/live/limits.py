"""Limitations, as far as the data show them: one sentence each, only those that hold here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from equipoise.core.diagnosis.balance import Balance
from equipoise.core.diagnosis.complaint import imbalance
from equipoise.core.diagnosis.guessing import Predictability
from equipoise.core.diagnosis.lack_of_fit import LackOfFit
from equipoise.core.diagnosis.time_trend import TimeTrends
from equipoise.core.estimates.estimates import Estimates
from equipoise.core.policies.base.absent import AbsentPolicy
from equipoise.core.policies.base.policy import Policy
from equipoise.report.document import Block, Points, Text
from equipoise.report.live.history import LOST, PENDING, PRACTICE, TOLD, WITHDRAWN, History
from equipoise.report.live.over_time import trend_sentence
from equipoise.report.live.statements import SEEING
from equipoise.report.numbers import p_text
from equipoise.words import counted

# Degrees of freedom below which intervals rest mostly on their correction.
_FEW = 10


@dataclass(frozen=True)
class Findings:
    """What limitations are read off."""

    history: History
    estimates: Estimates
    policy: Policy
    balance: Balance
    fit: LackOfFit
    trends: TimeTrends
    guessed: Predictability
    closed: tuple[str, ...]
    remaining: int
    weighted: bool
    statements: dict[str, str]


def limit_blocks(findings: Findings) -> list[Block]:
    """All that hold here, a paragraph each."""
    said = [*_design(findings), *_conduct(findings), *_models(findings)]
    return [
        Text("Found by the program; those that only people know of are missing here."),
        Points(said),
    ]


def _design(found: Findings) -> Iterator[str]:
    problem = found.estimates.problem
    if found.history.mode == PRACTICE:
        yield "This was practice: units were not real."
    if found.remaining:
        yield (
            f"The experiment is not over: {counted(found.remaining, 'unit')} can still be assigned. "
            "Intervals are for whoever looks once; who looks often and stops when pleased has wider ones."
        )
    if problem.moment is None:
        yield (
            "Σ was learned from the units that came. Errors are promised for people like them, and nobody "
            "else."
        )
    if found.guessed.units and not found.history.drawn:
        yield (
            "Nothing was drawn by lot. Who knew the rule, the past and the context knew the next "
            "arm; results "
            "rest on the linear model, and on nobody having chosen whom to enrol."
        )
    elif found.guessed.units and found.guessed.best > 1.5 * found.guessed.chance:
        yield (
            f"The next arm could be guessed in {100 * found.guessed.best:.0f} % of the units by who "
            "knew rule, past "
            f"and context; blind guessing has {100 * found.guessed.chance:.0f} %."
        )
    silent = [name for name in ("blinding", "access", "seed") if name not in found.statements]
    if silent:
        yield f"Not stated: {'; '.join(SEEING[name].lower() for name in silent)}."


def _conduct(found: Findings) -> Iterator[str]:
    history, units = found.history, found.history.units
    if not history.logged:
        yield "There is no log, so deviations, dates and reasons are not known, and nothing can be verified."
    count = {
        status: sum(unit.status == status for unit in units) for status in (PENDING, LOST, WITHDRAWN, TOLD)
    }
    if count[PENDING]:
        yield (
            f"{counted(count[PENDING], 'outcome is', 'outcomes are')} still awaited. If those that "
            "come late differ "
            "from the others, models will change when they come."
        )
    if count[LOST]:
        yield (
            f"{counted(count[LOST], 'outcome was', 'outcomes were')} lost, "
            f"{100 * count[LOST] / len(units):.0f} % of "
            "the units. Nothing was imputed: models are right if losses do not depend on outcomes, given the "
            "context and the arm."
        )
    if count[WITHDRAWN]:
        yield f"{counted(count[WITHDRAWN], 'unit was', 'units were')} withdrawn, and left out altogether."
    persons = sum(unit.rule is not None for unit in units)
    if persons:
        yield (
            f"{counted(persons, 'arm was', 'arms were')} given by persons. Who chose them may have "
            "seen more than "
            "the context says; weighting by propensities leaves these units out."
        )
    moved = sum(unit.received is not None for unit in units)
    if moved:
        yield (
            f"{counted(moved, 'unit')} received another arm than assigned. Estimates are as "
            "treated: "
            "right if the reason for it has nothing to do with the outcome, given the context."
        )
    corrected = sum(unit.corrections > 0 for unit in units)
    if corrected:
        yield (
            f"{counted(corrected, 'outcome was', 'outcomes were')} corrected. Units assigned in "
            "between followed "
            "the old values."
        )
    erased = sum(unit.redacted for unit in units)
    if erased:
        yield (
            f"The data of {counted(erased, 'unit')} were erased. Outcomes that counted in the models still "
            "do, by frozen sums, and cannot be looked at again: plain means and tests of fit, balance and "
            "drift go without them."
        )
    if found.closed:
        yield (
            f"Closed: {', '.join(found.closed)}. These arms saw only units of the time before, and "
            "are compared "
            "with others across time."
        )
    added = [entry.event["arm"] for entry in history.of("arm_added") if entry.event is not None]
    if added:
        yield (
            f"Joined later: {', '.join(added)}. Comparisons with older arms also compare times; Time "
            "trends tell how "
            "much that may matter."
        )
    if len(history.versions) > 1:
        yield f"Several versions of the library wrote the log: {'; '.join(history.versions)}."
    if any(history.of("restored")):
        yield "The log was restored from a backup; what was acknowledged after that backup is not in it."


def _models(found: Findings) -> Iterator[str]:
    arms = list(found.estimates)
    few = [arm.arm for arm in arms if arm.dof < _FEW]
    if few:
        yield (
            f"Few outcomes: {', '.join(few)} {'has' if len(few) == 1 else 'have'} fewer than {_FEW} "
            "degrees of "
            "freedom. Intervals rest on Gaussian noise and on a correction that was fitted by simulation."
        )
    if any(arm.chosen for arm in arms):
        yield "Outcomes have chosen the features; intervals are as if these had been known."
    if found.fit.p_value < 0.05:
        yield (
            f"Outcomes are not clearly linear in the features ({p_text(found.fit.p_value)}): intervals "
            "promise less than they say."
        )
    aside = imbalance(found.balance) if any(arm.units for arm in found.balance) else None
    if aside is not None:
        yield f"Contexts are out of balance: {aside}. Harmless where lines fit."
    if found.trends.p_value < 0.05:
        yield (
            f"{trend_sentence(found.trends)} Models are of an average over the time of the experiment; with "
            "a drift, arms that got their units at other times are compared unfairly."
        )
    if not found.weighted and any(math.isfinite(arm.expected_error) for arm in arms):
        why = (
            "no unit with an outcome could have gone to every arm"
            if found.history.drawn
            else "there are no propensities"
        )
        yield f"Where the truth is not linear, no result here is free of the model: {why}."
    if isinstance(found.policy, AbsentPolicy):
        yield (
            "Expected errors and noise are estimates, and not corrected for adaptive allocation: the policy "
            "is not at hand."
        )
    else:
        yield (
            "Expected errors and noise are estimates; the correction for adaptive allocation is right on "
            "average, as far as simulations went."
        )
