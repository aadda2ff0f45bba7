"""What asking prints: arms, and nothing that would help to guess the next one unless it was asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from equipoise.cli.live.common.answers import answer
from equipoise.cli.live.common.rehearsing import rehearsal
from equipoise.cli.terminal import new_table, output, print_json, print_table, say
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.core.experiment.assignment import Assignment
    from equipoise.live.experiment.experiment import LiveExperiment


def say_assigned(
    experiment: LiveExperiment, assignment: Assignment, *, scores: bool, as_json: bool, with_receipt: bool
) -> None:
    """One unit's arm."""
    sentence = f"{assignment.unit}: {assignment.arm}"
    facts = _facts(assignment, scores=scores)
    answer(experiment, sentence, facts, as_json=as_json, with_receipt=with_receipt)
    if scores and not as_json:
        _print_scores(assignment)


def say_assigned_together(
    experiment: LiveExperiment,
    units: Sequence[Assignment],
    before: int,
    *,
    scores: bool,
    as_json: bool,
    with_receipt: bool,
) -> None:
    """The arms of many units, in the order of the file; ``before`` is the last row before they were asked."""
    new = sum(unit.receipt is not None and unit.receipt.sequence > before for unit in units)
    known = len(units) - new
    facts = {"new": new, "known": known, "units": [_facts(unit, scores=scores) for unit in units]}
    had = f" {counted(known, 'unit')} had {'its' if known == 1 else 'their'} arm already." if known else ""
    if not as_json:
        table = new_table("unit", "arm", text_columns=2)
        for unit in units:
            table.add_row(str(unit.unit), unit.arm)
        print_table(table, title=counted(len(units), "unit"))
    answer(
        experiment,
        f"{counted(new, 'unit')} assigned and stored.{had} {counted(experiment.remaining, 'unit')} left.",
        facts,
        as_json=as_json,
        with_receipt=with_receipt,
    )


def say_checked(
    experiment: LiveExperiment,
    keys: Sequence[str],
    contexts: Sequence[Any],
    arms: Sequence[str] | None,
    *,
    given: Sequence[str] | None = None,
    reason: str | None = None,
    as_json: bool,
) -> None:
    """What a dry run found: whether asking would go through, and no arm."""
    copy = rehearsal(experiment, reason, None if given is None else "give units their arms")
    before = copy.asked
    copy.ask_many(contexts, units=keys, arms=arms, given_arms=given)
    new = copy.asked - before
    left = experiment.remaining
    if as_json:
        facts = {"dry_run": True, "new": new, "known": len(keys) - new, "remaining": left}
        print_json({"experiment": experiment.name, **facts})
        return
    others = len(keys) - new
    known = f", and {others:,} {'has its' if others == 1 else 'have their'} arm already" if others else ""
    say(f"{counted(new, 'unit')} would be assigned{known}; nothing was. {counted(left, 'unit')} left.")


def _facts(assignment: Assignment, *, scores: bool) -> dict[str, Any]:
    facts: dict[str, Any] = {"unit": assignment.unit, "id": assignment.id, "arm": assignment.arm}
    if scores:
        facts["scores"] = {arm: _plain(score) for arm, score in assignment.scores.items()}
        facts["propensities"] = assignment.propensities
    return facts


def _plain(score: float) -> float | None:
    return score if math.isfinite(score) else None


def _print_scores(assignment: Assignment) -> None:
    table = new_table("arm", "score", "propensity")
    for arm, score in assignment.scores.items():
        table.add_row(arm, f"{score:.6g}", f"{assignment.propensities[arm]:.4g}")
    output().print()
    print_table(table, title="Scores when it was assigned")
