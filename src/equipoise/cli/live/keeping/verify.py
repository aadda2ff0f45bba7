"""``equipoise verify``: whether a log is whole, and whether its decisions are those that the rule makes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli import completion
from equipoise.cli.live.common.arguments import argument, reading_options
from equipoise.cli.live.common.opening import opened_store
from equipoise.cli.terminal import print_json, say
from equipoise.errors import EquipoiseError, InvalidArgument

if TYPE_CHECKING:
    from equipoise.live.experiment.verification import Verification

_ARCHIVES = (".jsonl", ".gz")
"""Endings that 'export' takes for an archive's."""


@click.command("verify", short_help="Prove that nothing was lost or changed.")
@argument(
    "name", "NAME|ARCHIVE", "The experiment, or a file of 'export --format archive'.",
    shell_complete=completion.experiments,
)  # fmt: skip
@click.option("--receipt", metavar="RECEIPT", help="Prove that what it acknowledged is still in the log.")
@click.option(
    "--decisions/--no-decisions", default=True, show_default=True,
    help="Decide every unit anew and compare, or only check the chain.",
)  # fmt: skip
@reading_options
def command(name: str, receipt: str | None, decisions: bool, store: str, as_json: bool) -> None:
    """Check the log of the experiment NAME, or of an ARCHIVE, from its first row to its last.

    Every row must be what its hash says, every decision what the rule makes of the rows before. If it is not
    so, the first row that differs is named, and the command ends with 4.
    """
    from equipoise.live.experiment.verification import verify_archive, verify_experiment

    if Path(name).is_file():
        _check_meaning(name, store)
        found = verify_archive(name, receipt=receipt, decisions=decisions)
    else:
        with opened_store(store) as at:
            found = verify_experiment(store=at, name=name, receipt=receipt, decisions=decisions)
    if as_json:
        print_json(_facts(found))
    else:
        say(str(found))


def _check_meaning(file: str, url: str) -> None:
    """Refuse a file that is called as an experiment is: the proof would be of the wrong one."""
    from equipoise.live.stores.names import DEFAULT_PROJECT

    if Path(file).suffix in _ARCHIVES:
        return
    try:
        with opened_store(url) as store:
            known, shown = store.head(file).name, store.url
    except EquipoiseError:  # no such experiment, or no store that could have one
        return
    other = "rename the file" if "/" in known else f"type {DEFAULT_PROJECT}/{known}"
    raise InvalidArgument(
        f"{file} is a file here, and an experiment in {shown}",
        hint=f"type ./{file} for the file; for the experiment {other}",
    )


def _facts(found: Verification) -> dict[str, Any]:
    return {
        "experiment": found.name,
        "mode": found.mode,
        "verified": True,
        "rows": found.rows,
        "units": found.units,
        "decisions": found.decided,
        "decisions_not_compared": found.incomparable,
        "numerics": list(found.numerics),
        "decisions_not_verifiable": found.undecided,
        "redacted": found.redacted,
        "redacted_units": found.redacted_units,
        "restored": list(found.restored),
        "began": found.began.isoformat(),
        "ended": found.ended.isoformat(),
        "head": str(found.head),
        "receipt": None if found.receipt is None else str(found.receipt),
    }
