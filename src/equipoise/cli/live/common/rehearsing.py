"""Dry runs: everything is checked that could be refused, and nothing is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.terminal import print_json, say

if TYPE_CHECKING:
    from equipoise.core.experiment.experiment import Experiment
    from equipoise.live.experiment.experiment import LiveExperiment

rehearsal_option = click.option("--dry-run", is_flag=True, help="Only check, and say what would be entered.")
check_option = click.option("--dry-run", is_flag=True, help="Only check, and say what would happen.")


def rehearsal(experiment: LiveExperiment, reason: str | None = None, to: str | None = None) -> Experiment:
    """A copy, which finds whatever is wrong; ``to`` is what a reason is demanded for."""
    check_change(experiment, reason, to)
    return experiment.in_memory()


def check_change(experiment: LiveExperiment, reason: str | None, to: str | None) -> None:
    """Refuse a reason that is none, and a store that cannot be written."""
    from equipoise.live.experiment.actors import demanded, optional

    if to is None:
        optional(reason)
    else:
        demanded(reason, to)
    experiment.store.try_writing(experiment.name)


def say_rehearsed(name: str, sentence: str, facts: Mapping[str, Any], *, as_json: bool) -> None:
    """Say what would have happened to an experiment."""
    if as_json:
        print_json({"experiment": name, "dry_run": True, **facts})
    else:
        say(sentence)
