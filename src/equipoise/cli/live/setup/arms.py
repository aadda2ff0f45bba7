"""``equipoise close-arm``, ``equipoise reopen-arm``, ``equipoise add-arm``."""

from __future__ import annotations

import click

from equipoise.cli.live.common.answers import answer, receipt_option
from equipoise.cli.live.common.arguments import (
    argument,
    arm_argument,
    experiment_argument,
    reason_option,
    writing_options,
)
from equipoise.cli.live.common.opening import opened
from equipoise.cli.options import value_option
from equipoise.cli.values import positive_number, whole_number


@click.command("close-arm", short_help="Give an arm no further units.")
@experiment_argument
@arm_argument
@reason_option(needed=True)
@receipt_option
@writing_options
def close_arm(
    name: str, arm: str, reason: str, with_receipt: bool, store: str, actor: str | None, as_json: bool
) -> None:
    """Give ARM of the experiment NAME no further units. It stays in the estimates."""
    with opened(name, store, actor) as experiment:
        experiment.close_arm(arm, reason=reason)
        facts = {"arm": arm, "closed_arms": list(experiment.closed_arms)}
        answer(experiment, f"{arm} is closed.", facts, as_json=as_json, with_receipt=with_receipt)


@click.command("reopen-arm", short_help="Let a closed arm get units again.")
@experiment_argument
@arm_argument
@reason_option(needed=False)
@receipt_option
@writing_options
def reopen_arm(
    name: str, arm: str, reason: str | None, with_receipt: bool, store: str, actor: str | None, as_json: bool
) -> None:
    """Let the closed ARM of the experiment NAME get units again."""
    with opened(name, store, actor) as experiment:
        experiment.reopen_arm(arm, reason=reason)
        facts = {"arm": arm, "closed_arms": list(experiment.closed_arms)}
        answer(experiment, f"{arm} is open.", facts, as_json=as_json, with_receipt=with_receipt)


@click.command("add-arm", short_help="Let a new arm join.")
@experiment_argument
@argument("arm", "ARM", "What the new arm is called.")
@value_option("--weight", positive_number("--weight", "2"), "W", "Importance.  [default: 1]")
@value_option("--cost", positive_number("--cost", "2.5"), "C", "Cost of a unit.  [default: 1]")
@value_option("--floor", whole_number("--floor", "20", least=0), "K", "Units that it must get.")
@value_option("--cap", whole_number("--cap", "30", least=0), "K", "Units that it may get.")
@reason_option(needed=False)
@receipt_option
@writing_options
def add_arm(
    name: str, arm: str, weight: float | None, cost: float | None, floor: int | None, cap: int | None,
    reason: str | None, with_receipt: bool, store: str, actor: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Let the new ARM join the experiment NAME; what is left of the budget must pay for its start."""
    terms = {"weight": 1.0 if weight is None else weight, "cost": 1.0 if cost is None else cost}
    with opened(name, store, actor) as experiment:
        experiment.add_arm(arm, **terms, floor=floor or 0, cap=cap, reason=reason)
        facts = {"arm": arm, "arms": list(experiment.problem.arms)}
        sentence = f"{arm} has joined: {', '.join(experiment.problem.arms)}."
        answer(experiment, sentence, facts, as_json=as_json, with_receipt=with_receipt)
