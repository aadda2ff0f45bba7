"""``equipoise close-arm``, ``equipoise reopen-arm``, ``equipoise add-arm``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from equipoise.cli.live.common.arguments import (
    argument,
    arm_argument,
    reason_option,
)
from equipoise.cli.live.common.changing import Said, changing
from equipoise.cli.options import value_option
from equipoise.cli.values import positive_number, whole_number

if TYPE_CHECKING:
    from equipoise.cli.live.common.changing import Changed


@changing("close-arm", "Give an arm no further units.", demands="close an arm")
@arm_argument
@reason_option(needed=True)
def close_arm(experiment: Changed, name: str, arm: str, reason: str) -> Said:
    """Give ARM of the experiment NAME no further units. It stays in the estimates."""
    experiment.close_arm(arm, reason=reason)
    facts = {"arm": arm, "closed_arms": list(experiment.closed_arms)}
    return Said(f"{arm} is closed.", f"{arm} would be closed; nothing was.", facts)


@changing("reopen-arm", "Let a closed arm get units again.")
@arm_argument
@reason_option(needed=False)
def reopen_arm(experiment: Changed, name: str, arm: str, reason: str | None) -> Said:
    """Let the closed ARM of the experiment NAME get units again."""
    experiment.reopen_arm(arm, reason=reason)
    facts = {"arm": arm, "closed_arms": list(experiment.closed_arms)}
    return Said(f"{arm} is open.", f"{arm} would be open; nothing was changed.", facts)


@changing("add-arm", "Let a new arm join.")
@argument("arm", "ARM", "What the new arm is called.")
@value_option("--weight", positive_number("--weight", "2"), "W", "Importance.  [default: 1]")
@value_option("--cost", positive_number("--cost", "2.5"), "C", "Cost of a unit.  [default: 1]")
@value_option("--floor", whole_number("--floor", "20", least=0), "K", "Units that it must get.")
@value_option("--cap", whole_number("--cap", "30", least=0), "K", "Units that it may get.")
@reason_option(needed=False)
def add_arm(
    experiment: Changed, name: str, arm: str, weight: float | None, cost: float | None,
    floor: int | None, cap: int | None, reason: str | None,
) -> Said:  # fmt: skip
    """Let the new ARM join the experiment NAME; what is left of the budget must pay for its start."""
    terms = {"weight": 1.0 if weight is None else weight, "cost": 1.0 if cost is None else cost}
    experiment.add_arm(arm, **terms, floor=floor or 0, cap=cap, reason=reason)
    facts = {"arm": arm, "arms": list(experiment.problem.arms)}
    arms = ", ".join(experiment.problem.arms)
    return Said(f"{arm} has joined: {arms}.", f"{arm} would join: {arms}; nothing was changed.", facts)
