"""``equipoise report``: the experiment as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from equipoise.cli.live.common.arguments import experiment_argument, reading_options
from equipoise.cli.live.common.opening import opened
from equipoise.cli.options import import_option, path_option
from equipoise.cli.terminal import print_json, say
from equipoise.files import check_file, check_new


@click.command("report", short_help="The experiment as one HTML file.")
@experiment_argument
@path_option("--output", "FILE.html", "Where to write it.  [default: NAME.html]")
@click.option("--overwrite", is_flag=True, help="Replace a file of that name.")
@import_option
@reading_options
def command(name: str, output: Path | None, overwrite: bool, store: str, as_json: bool) -> None:
    """Write the report of the experiment NAME: one HTML file that needs nothing else.

    Units, allocation over time, models and contrasts, deviations with their reasons, and how to verify it.
    """
    path = Path(f"{name.replace('/', '-')}.html") if output is None else output
    if not overwrite:
        check_new([path], hint="type --overwrite to replace it, or --output for another file")
    check_file(path)
    with opened(name, store) as experiment:
        from equipoise.report import write_report

        write_report(path, experiment, overwrite=True)
    if as_json:
        print_json({"experiment": name, "report": str(path)})
    else:
        say(f"Report: {path}")
