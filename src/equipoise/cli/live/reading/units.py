"""``equipoise units``: what is known of every unit."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.live.common.arguments import experiment_argument, reading_options
from equipoise.cli.live.common.opening import opened
from equipoise.cli.options import path_option
from equipoise.cli.terminal import new_table, print_json, print_table, say
from equipoise.errors import InvalidArgument
from equipoise.files import check_file, check_new
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.core.tables.tidy import TidyTable
    from equipoise.live.experiment.experiment import LiveExperiment

_STATUSES = ("pending", "overdue", "told", "lost", "withdrawn", "redacted")
# More would only scroll by; files and --json have them all.
_MOST_ROWS = 50
# What the screen has no room for.
_HIDDEN = ("id", "propensity", "closed_at")


@click.command("units", short_help="What is known of every unit.")
@experiment_argument
@click.option("--status", type=click.Choice(_STATUSES), help="Only units of this status.")
@click.option("--arm", metavar="ARM", help="Only units of this arm, as treated.")
@click.option("--scores", is_flag=True, help="Scores of every arm at the choice, too.")
@click.option("--all", "everything", is_flag=True, help=f"Show more than the last {_MOST_ROWS}.")
@click.option(
    "--format", "format_", type=click.Choice(["table", "csv", "parquet"]), default="table", show_default=True,
    help="CSV goes to standard output unless there is --output; Parquet needs --output.",
)  # fmt: skip
@path_option("--output", "FILE", "Where to write it.")
@click.option("--overwrite", is_flag=True, help="Replace a file of that name.")
@reading_options
def command(
    name: str, status: str | None, arm: str | None, scores: bool, everything: bool, format_: str,
    output: Path | None, overwrite: bool, store: str, as_json: bool,
) -> None:  # fmt: skip
    """All units of the experiment NAME: key, arm, status, outcome, propensity, times, context, and so on."""
    if format_ == "table" and output is not None:
        raise InvalidArgument("--output is for files", hint="type --format csv or --format parquet")
    if format_ != "table" and as_json:
        raise InvalidArgument("--json and --format do not go together", hint="leave one out")
    if format_ == "parquet" and output is None:
        raise InvalidArgument("Parquet is no text to print", hint="type --output FILE.parquet")
    if output is not None:
        if not overwrite:
            check_new([output], hint="type --overwrite to replace it, or another name")
        check_file(output)
    with opened(name, store) as experiment:
        if arm is not None:
            experiment.problem.index(arm)  # a misspelt arm is no empty table
        table = _chosen(experiment, status, arm, scores=scores)
    if as_json:
        print_json({"experiment": name, "units": [_plain(record) for record in table.records()]})
    elif format_ == "parquet":
        assert output is not None
        table.write_parquet(output)
        say(f"{counted(len(table), 'unit')} written to {output}")
    elif format_ == "csv":
        text = table.to_csv(output)
        say(
            text.removesuffix("\n")
            if output is None
            else f"{counted(len(table), 'unit')} written to {output}"
        )
    else:
        _show(table, everything=everything)


def _chosen(experiment: LiveExperiment, status: str | None, arm: str | None, *, scores: bool) -> TidyTable:
    from equipoise.core.tables.tidy import TidyTable

    table = experiment.units(scores=scores)
    if status is None and arm is None:
        return table
    late = set(experiment.overdue().column("id")) if status == "overdue" else set()
    kept = [
        tuple(record.values())
        for record in table.records()
        if (arm is None or record["arm"] == arm)
        and (status is None or (record["id"] in late if status == "overdue" else record["status"] == status))
    ]
    return TidyTable(table.columns, kept, table.metadata)


def _show(table: TidyTable, *, everything: bool) -> None:
    if not len(table):
        say("No units.")
        return
    records = table.records() if everything else table.records()[-_MOST_ROWS:]
    moved = any(record["arm"] != record["assigned"] for record in records)
    by_persons = any(record["given_by_person"] for record in records)
    hidden = {*_HIDDEN, *(() if moved else ("assigned",)), *(() if by_persons else ("given_by_person",))}
    fields = [name for name in table.columns if name not in hidden]
    shown = new_table(*fields)
    for record in records:
        shown.add_row(*(_cell(record[name]) for name in fields))
    of = f"; the last {len(records)}, all with --all" if len(records) < len(table) else ""
    print_table(shown, title=f"{counted(len(table), 'unit')}{of}")


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    from equipoise.cli.live.reading.standing import finite

    plain = {}
    for name, value in record.items():
        value = value.isoformat() if isinstance(value, datetime) else value
        plain[name] = finite(value) if isinstance(value, float) else value
    return plain
