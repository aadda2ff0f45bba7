"""``equipoise lose``, ``equipoise withdraw``, ``equipoise received``: units that go another way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.live.common.arguments import argument, id_option, named_unit, reason_option, unit_argument
from equipoise.cli.live.common.changing import Said, changing

if TYPE_CHECKING:
    from equipoise.live.experiment.experiment import LiveExperiment


@changing("lose", "Say that an outcome will never come.")
@unit_argument()
@reason_option(needed=True)
@id_option
def lose(experiment: LiveExperiment, unit: str, reason: str, by_id: bool) -> Said:
    """Say that the outcome of UNIT in the experiment NAME will never come.

    Its context no longer counts; its place in the budget stays used. An outcome that comes after all brings
    it back.
    """
    experiment.lose(named_unit(unit, by_id=by_id), reason=reason)
    return f"{unit} is lost.", {"unit": unit, "status": "lost", "reason": reason}


@changing("withdraw", "Take a unit out for good.")
@unit_argument()
@reason_option(needed=True)
@id_option
def withdraw(experiment: LiveExperiment, unit: str, reason: str, by_id: bool) -> Said:
    """Take UNIT out of the experiment NAME, outcome and context, as if it had never been assigned.

    Its place in the budget stays used, and its data stay in the log; 'equipoise redact' erases them.
    """
    experiment.withdraw(named_unit(unit, by_id=by_id), reason=reason)
    return f"{unit} is withdrawn.", {"unit": unit, "status": "withdrawn", "reason": reason}


@changing("received", "Say that a unit got another arm than assigned.")
@unit_argument()
@argument("arm", "ARM", "The arm that it got in fact.")
@reason_option(needed=True)
@id_option
def received(experiment: LiveExperiment, unit: str, arm: str, reason: str, by_id: bool) -> Said:
    """Say that UNIT of the experiment NAME got ARM, whatever it was assigned to.

    Estimates are as treated; units, exports and reports show both.
    """
    experiment.received(named_unit(unit, by_id=by_id), arm, reason=reason)
    return f"{unit} received {arm}.", {"unit": unit, "arm": arm, "reason": reason}
