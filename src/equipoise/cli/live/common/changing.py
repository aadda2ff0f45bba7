"""Commands that make one change: every one opens the experiment, changes it and answers in the same way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.live.common.answers import answer, receipt_option
from equipoise.cli.live.common.arguments import experiment_argument, writing_options
from equipoise.cli.live.common.opening import opened

if TYPE_CHECKING:
    pass

Said = tuple[str, Mapping[str, Any]]
"""A sentence for people, and the same as facts for ``--json``."""


def changing(
    command: str, short_help: str, *, kind: type[click.Command] = click.Command
) -> Callable[[Callable[..., Said]], click.Command]:
    """A command around a function that changes the experiment NAME and tells what was done.

    The function gets the experiment and what its own arguments and options were; NAME, ``--receipt``,
    ``--store`` and what else all of them have is added here.
    """

    def made(change: Callable[..., Said]) -> click.Command:
        def run(
            name: str, with_receipt: bool, store: str, actor: str | None, as_json: bool, **own: Any
        ) -> None:
            with opened(name, store, actor) as experiment:
                sentence, facts = change(experiment, **own)
                answer(experiment, sentence, facts, as_json=as_json, with_receipt=with_receipt)

        run.__doc__ = change.__doc__
        shared = receipt_option(writing_options(run))
        # What decorators have left on the function, last option first.
        shared.__click_params__ += getattr(change, "__click_params__", [])
        return click.command(command, cls=kind, short_help=short_help)(experiment_argument(shared))

    return made
