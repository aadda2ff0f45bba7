"""What is printed after a change: one line for people, or an object with the receipt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.terminal import print_json, say

if TYPE_CHECKING:
    from equipoise.live.experiment.experiment import LiveExperiment

receipt_option = click.option(
    "--receipt", "with_receipt", is_flag=True, help="Print the receipt, which 'verify --receipt' proves."
)


def answer(
    experiment: LiveExperiment,
    sentence: str,
    facts: Mapping[str, Any],
    *,
    as_json: bool,
    with_receipt: bool = False,
) -> None:
    """Say that something is stored."""
    receipt = None if experiment.receipt is None else str(experiment.receipt)
    if as_json:
        print_json({"experiment": experiment.name, **facts, "receipt": receipt})
        return
    say(sentence)
    if with_receipt and receipt is not None:
        say(f"Receipt: {receipt}")
