"""Reports and results in files."""

from __future__ import annotations

import csv
import io
from functools import singledispatch
from pathlib import Path

from equipoise.core.experiment.experiment import Experiment
from equipoise.errors import InvalidArgument
from equipoise.extras import is_installed
from equipoise.files import make_folder, write_whole
from equipoise.lab.replay import ReplayResult, ReplayResults
from equipoise.lab.results.simulation import SimulationResult
from equipoise.lab.results.table import TidyTable
from equipoise.report.document import Report
from equipoise.report.experiment import experiment_report
from equipoise.report.html import render
from equipoise.report.replay import replay_report
from equipoise.report.simulation import simulation_report

_ELSEWHERE = "choose another folder"


def write_report(
    path: str | Path,
    content: Report | SimulationResult | ReplayResults | Experiment,
    *,
    title: str | None = None,
    again: str | None = None,
) -> Path:
    """Write one HTML file that needs no network.

    Parameters
    ----------
    content
        Result of a simulation or of replays, an experiment as it is now, or a
        :class:`~equipoise.report.Report` of your own.
    title, again
        Heading and command line of what is not a report yet; a report of your own has them inside.
    """
    path = Path(path)
    page = render(report_of(content, title, again))
    make_folder(path.parent, hint=_ELSEWHERE)
    write_whole(path, page, hint=_ELSEWHERE)
    return path


@singledispatch
def report_of(content: object, title: str | None, again: str | None) -> Report:
    """The report of anything that has one; every kind registers what makes it."""
    raise InvalidArgument(
        f"there is no report of {type(content).__name__!r} objects",
        hint="give an experiment, the result of simulate or replay, or a Report",
    )


@report_of.register
def _(content: Report, title: str | None, again: str | None) -> Report:
    return content


@report_of.register
def _(content: SimulationResult, title: str | None, again: str | None) -> Report:
    return simulation_report(content, title=title or "Simulation report", again=again)


@report_of.register
def _(content: ReplayResult, title: str | None, again: str | None) -> Report:
    return replay_report([content], title=title or "Replay report", again=again)


@report_of.register
def _(content: ReplayResults, title: str | None, again: str | None) -> Report:
    return replay_report(content, title=title or "Replay report", again=again)


@report_of.register
def _(content: Experiment, title: str | None, again: str | None) -> Report:
    return experiment_report(content, title=title or "Experiment report", again=again)


def write_results(folder: str | Path, result: SimulationResult, *, again: str | None = None) -> list[Path]:
    """The report, the table of losses and every trial's numbers; returns the files."""
    folder = Path(folder)
    report = write_report(folder / "report.html", result, again=again)
    archive = folder / "result.npz"
    table = _write_table(folder / "losses", result.losses())
    result.save(archive)
    return [report, table, archive]


def write_replays(folder: str | Path, results: ReplayResults, *, again: str | None = None) -> list[Path]:
    """The report, the table of losses by budget and every trial's numbers; returns the files."""
    folder = Path(folder)
    report = write_report(folder / "report.html", replay_report(results, again=again))
    table = _write_table(folder / "losses", results.losses())
    archives = []
    for result in results:
        archives.append(folder / f"result-{result.table.budget}.npz")
        result.save(archives[-1])
    return [report, table, *archives]


def _write_table(path: Path, table: TidyTable) -> Path:
    if is_installed("pyarrow"):
        path = path.with_suffix(".parquet")
        table.write_parquet(path)
        return path
    path = path.with_suffix(".csv")
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, table.columns)
    writer.writeheader()
    writer.writerows(table.records())
    write_whole(path, text.getvalue(), hint=_ELSEWHERE)
    return path
