"""``equipoise redact``: persons' data, erased for good."""

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
from equipoise.cli.live.common.bulk import file_option
from equipoise.cli.live.common.opening import opened
from equipoise.cli.live.common.rehearsing import rehearsal, say_rehearsed
from equipoise.cli.live.units.entering import check_one_way, lines_by_unit, unit_column_option
from equipoise.cli.terminal import visible
from equipoise.errors import AssignmentNotFound, InvalidArgument
from equipoise.words import counted


@click.command("redact", short_help="Erase a person's data for good, or many from a file.")
@experiment_argument
@unit_argument(needed=False)
@file_option
@unit_column_option
@reason_option(needed=True)
@click.option("--yes", is_flag=True, help="Erase without asking.")
@click.option("--dry-run", is_flag=True, help="Only check whether it can be erased.")
@id_option
@receipt_option
@writing_options
def command(
    name: str, unit: str | None, source: str | None, unit_column: str, reason: str, yes: bool, dry_run: bool,
    by_id: bool, with_receipt: bool, store: str, actor: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Erase key, context and outcome of UNIT of the experiment NAME from the log, for good.

    What estimates need stays as sums over all erased units; 'verify' then says "redacted", not "broken".
    Backups, exports and archives that were made before still have the data.

    With --file the data of all its units, or of none. Its keys are forgotten, too, so that the same file is
    refused the next time; a file of numbers, with --id, can be run again.

    \b
    Examples:
      equipoise redact trial-1 P-017 --reason "asked for on 3 May"
      equipoise redact trial-1 --file erase.csv --reason "end of storage" --dry-run
    """
    missing = "UNIT is" if unit is None else ""
    check_one_way(unit, source, missing, f"equipoise redact {name} P-017 --reason TEXT")
    if source is not None:
        units = list(lines_by_unit(source, unit_column, by_id=by_id))
    else:
        assert unit is not None
        units = [named_unit(unit, by_id=by_id)]
    what = unit or counted(len(units), "unit")
    if not yes and not dry_run:
        _confirm(what)
    try:
        with opened(name, store, actor) as experiment:
            target = rehearsal(experiment, reason, "redact units") if dry_run else experiment
            new = target.redact_many(units, reason)
            facts = {"reason": reason, "new": new, "known": len(units) - new}
            if dry_run:
                would = what if unit is not None else counted(new, "unit")
                sentence = f"{would} would be erased for good; nothing was."
                say_rehearsed(experiment.name, sentence, facts, as_json=as_json)
                return
            erased = "Erased." if unit is not None else f"{counted(new, 'unit')} erased."
            sentence = f"{erased} Backups and exports from before still have the data."
            answer(experiment, sentence, facts, as_json=as_json, with_receipt=with_receipt)
    except AssignmentNotFound as error:
        error.hint = (
            f"'equipoise units {name}' lists the keys; a unit that was erased has none any more: "
            "take it out, or type its number and --id"
        )
        raise


def _confirm(what: str) -> None:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidArgument(
            "erasing cannot be undone, and nobody can be asked here", hint="type --yes to erase all the same"
        )
    if not click.confirm(visible(f"Erase {what} for good? This cannot be undone."), err=True):
        raise click.Abort
