"""``equipoise redact``: a person's data, erased for good."""

from __future__ import annotations

import sys

import click

from equipoise.cli.live.common.answers import answer, receipt_option
from equipoise.cli.live.common.arguments import (
    experiment_argument,
    id_option,
    named_unit,
    reason_option,
    unit_argument,
    writing_options,
)
from equipoise.cli.live.common.opening import opened
from equipoise.cli.live.units.entering import rehearsal
from equipoise.cli.terminal import print_json, say, visible
from equipoise.errors import InvalidArgument


@click.command("redact", short_help="Erase a person's data for good.")
@experiment_argument
@unit_argument()
@reason_option(needed=True)
@click.option("--yes", is_flag=True, help="Erase without asking.")
@click.option("--dry-run", is_flag=True, help="Only check whether it can be erased.")
@id_option
@receipt_option
@writing_options
def command(
    name: str, unit: str, reason: str, yes: bool, dry_run: bool, by_id: bool, with_receipt: bool, store: str,
    actor: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Erase key, context and outcome of UNIT of the experiment NAME from the log, for good.

    What estimates need stays as sums over all erased units; 'verify' then says "redacted", not "broken".
    Backups, exports and archives that were made before still have the data.
    """
    if not yes and not dry_run:
        _confirm(unit)
    with opened(name, store, actor) as experiment:
        if dry_run:
            rehearsal(experiment, reason, "redact a unit").redact(named_unit(unit, by_id=by_id))
            if as_json:
                print_json({"experiment": experiment.name, "dry_run": True, "reason": reason})
            else:
                say(f"{unit} would be erased for good; nothing was.")
            return
        experiment.redact(named_unit(unit, by_id=by_id), reason=reason)
        answer(
            experiment,
            "Erased. Backups and exports from before still have the data.",
            {"reason": reason},
            as_json=as_json,
            with_receipt=with_receipt,
        )


def _confirm(unit: str) -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidArgument(
            "erasing cannot be undone, and nobody can be asked here", hint="type --yes to erase all the same"
        )
    if not click.confirm(visible(f"Erase {unit} for good? This cannot be undone."), err=True):
        raise click.Abort
