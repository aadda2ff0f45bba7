"""``equipoise expire``: outcomes that have been awaited for too long are declared lost."""

from __future__ import annotations

from datetime import timedelta

import click

from equipoise.cli.live.common.answers import answer, receipt_option
from equipoise.cli.live.common.arguments import experiment_argument, reason_option, writing_options
from equipoise.cli.live.common.opening import opened
from equipoise.cli.live.common.rehearsing import check_change
from equipoise.cli.live.common.times import duration_of
from equipoise.cli.options import value_option
from equipoise.cli.terminal import print_json, say
from equipoise.words import counted, lasting


@click.command("expire", short_help="Declare outcomes lost that are long overdue.")
@experiment_argument
@value_option(
    "--older-than", duration_of("--older-than"), "TIME",
    "Units that were assigned longer ago than this, e.g. 30d.", required=True,
)  # fmt: skip
@reason_option(needed=True)
@click.option("--dry-run", is_flag=True, help="Only list the units.")
@receipt_option
@writing_options
def command(
    name: str, older_than: timedelta, reason: str, dry_run: bool, with_receipt: bool, store: str,
    actor: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Declare all pending outcomes of the experiment NAME lost whose units were assigned long ago.

    An outcome that comes after all brings its unit back.
    """
    with opened(name, store, actor) as experiment:
        if dry_run:
            check_change(experiment, reason, "declare units lost")
            late = experiment.overdue(older_than).records()
            _list(experiment.name, [unit["unit"] or unit["id"] for unit in late], as_json=as_json)
            return
        units = experiment.expire(older_than, reason)
        facts = {"units": units, "reason": reason}
        sentence = f"{counted(len(units), 'unit')} older than {lasting(older_than)} declared lost."
        answer(experiment, sentence, facts, as_json=as_json, with_receipt=with_receipt)


def _list(name: str, units: list[str | int], *, as_json: bool) -> None:
    if as_json:
        print_json({"experiment": name, "dry_run": True, "units": units})
        return
    say(f"{counted(len(units), 'unit')} would be declared lost; nothing was.")
    for unit in units:
        say(f"  {unit}")
