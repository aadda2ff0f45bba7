"""``equipoise export``: the units as a table, or the whole experiment as one file."""

from __future__ import annotations

from pathlib import Path

import click

from equipoise.cli.live.common.arguments import argument, experiment_argument, reading_options
from equipoise.cli.live.common.opening import opened
from equipoise.cli.terminal import print_json, say
from equipoise.errors import InvalidArgument
from equipoise.files import check_file, check_new
from equipoise.words import counted

_SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".jsonl": "archive", ".gz": "archive"}


@click.command("export", short_help="Write the units, or the whole log, to a file.")
@experiment_argument
@argument("file", "FILE", "The file to write.", type=click.Path(path_type=Path))
@click.option(
    "--format", "format_", type=click.Choice(["csv", "parquet", "archive"]),
    help="What to write.  [default: by the ending .csv, .parquet, .jsonl or .jsonl.gz]",
)  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace a file of that name.")
@reading_options
def command(name: str, file: Path, format_: str | None, overwrite: bool, store: str, as_json: bool) -> None:
    """Write the experiment NAME to FILE.

    csv and parquet are a table of units with scores, propensities and times. An archive is the whole log,
    chain included, as one text file, compressed if its name ends in .gz: 'equipoise import' makes the same
    experiment of it in another store, and 'equipoise verify' proves it without any store.
    """
    kind = format_ or _SUFFIXES.get(file.suffix)
    if kind is None:
        raise InvalidArgument(
            f"what to write to {file} is not clear", hint="type --format csv, parquet or archive"
        )
    if not overwrite:
        check_new([file], hint="type --overwrite to replace it, or another name")
    check_file(file)
    with opened(name, store) as experiment:
        if kind == "archive":
            experiment.archive(file)
            head = experiment.store.head(experiment.name)
            what = f"The log of {experiment.name}, {counted(head.sequence, 'row')},"
        else:
            table = experiment.units(scores=True)
            table.to_csv(file) if kind == "csv" else table.write_parquet(file)
            what = counted(len(table), "unit")
    if as_json:
        print_json({"experiment": name, "file": str(file), "format": kind})
    else:
        say(f"{what} written to {file}")
