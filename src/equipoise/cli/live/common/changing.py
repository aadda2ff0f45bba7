"""Commands that make one change: every one opens the experiment, changes it and answers in the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from equipoise.cli.live.common.answers import answer, receipt_option
from equipoise.cli.live.common.arguments import experiment_argument, writing_options
from equipoise.cli.live.common.opening import opened
from equipoise.cli.live.common.rehearsing import check_option, rehearsal, say_rehearsed

if TYPE_CHECKING:
    from equipoise.core.experiment.experiment import Experiment
    from equipoise.live.experiment.experiment import LiveExperiment

    Changed = LiveExperiment | Experiment
    """What is changed; in a dry run a copy."""


class Said(NamedTuple):
    """What a change is answered with."""

    done: str
    """A sentence for people."""
    would: str
    """The same of a dry run."""
    facts: Mapping[str, Any]
    """For ``--json``."""


def changing(
    command: str, short_help: str, *, demands: str | None = None
) -> Callable[[Callable[..., Said]], click.Command]:
    """A command around a function that changes the experiment NAME and tells what was done.

    The function gets the experiment, or in a dry run a copy of it, the experiment's name and what its own
    arguments and options were; NAME, ``--dry-run``, ``--receipt``, ``--store`` and what else all of them have
    is added here. ``demands`` is what a reason is needed for.
    """

    def made(change: Callable[..., Said]) -> click.Command:
        def run(
            name: str, dry_run: bool, with_receipt: bool, store: str, actor: str | None, as_json: bool,
            **own: Any,
        ) -> None:  # fmt: skip
            with opened(name, store, actor) as experiment:
                if dry_run:
                    copy = rehearsal(experiment, own.get("reason"), demands)
                    said = change(copy, experiment.name, **own)
                    say_rehearsed(experiment.name, said.would, said.facts, as_json=as_json)
                    return
                said = change(experiment, experiment.name, **own)
                answer(experiment, said.done, said.facts, as_json=as_json, with_receipt=with_receipt)

        run.__doc__ = change.__doc__
        shared = check_option(receipt_option(writing_options(run)))
        # What decorators have left on the function, last option first.
        shared.__click_params__ += getattr(change, "__click_params__", [])
        return click.command(command, short_help=short_help)(experiment_argument(shared))

    return made
