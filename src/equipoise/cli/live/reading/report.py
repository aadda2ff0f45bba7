"""``equipoise report``: the experiment as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from equipoise.cli.live.common.arguments import experiment_argument, reading_options
from equipoise.cli.live.common.opening import opened
from equipoise.cli.live.common.toml_files import read_toml
from equipoise.cli.options import path_option
from equipoise.cli.terminal import print_json, say
from equipoise.errors import DataNotFound
from equipoise.files import check_file, check_new

_RESULT = "result.npz"
"""What simulations are kept as, in the folder of their report."""


@click.command("report", short_help="The experiment as one HTML file.")
@experiment_argument
@path_option("--output", "FILE.html", "Where to write it.  [default: NAME.html]")
@click.option("--overwrite", is_flag=True, help="Replace a file of that name.")
@path_option(
    "--statements", "FILE.toml", 'What only you know, e.g. blinding = "Raters did not know the arms."'
)
@path_option(
    "--simulation", "DIR|FILE.npz", "Operating characteristics: what 'equipoise simulate --output DIR' wrote."
)
@reading_options
def command(
    name: str,
    output: Path | None,
    overwrite: bool,
    statements: Path | None,
    simulation: Path | None,
    store: str,
    as_json: bool,
) -> None:
    """Write the report of the experiment NAME: one HTML file that needs nothing else.

    Units, allocation over time, models and contrasts, deviations with their reasons, and how to verify it.
    """
    path = Path(f"{name.replace('/', '-')}.html") if output is None else output
    if not overwrite:
        check_new([path], hint="type --overwrite to replace it, or --output for another file")
    check_file(path)
    said = None if statements is None else read_toml(statements, "what is stated")
    with opened(name, store) as experiment:
        from equipoise.lab.results.simulation import SimulationResult
        from equipoise.report import write_report

        simulated = None if simulation is None else SimulationResult.load(_result_in(simulation))
        write_report(
            path,
            experiment,
            title=f"Report of {experiment.name}",
            statements=said,
            simulation=simulated,
            overwrite=True,
        )
    if as_json:
        print_json({"experiment": name, "report": str(path)})
    else:
        say(f"Report: {path}")


def _result_in(path: Path) -> Path:
    """The file of trials, also where the folder that has it was named."""
    if not path.is_dir():
        return path
    file = path / _RESULT
    if not file.is_file():
        raise DataNotFound(
            f"there is no {_RESULT} in {path}", hint=f"'equipoise simulate … --output {path}' writes one"
        )
    return file
