"""Reports and results in files: checked before the work, written whole or not at all."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from equipoise.errors import OutputNotWritable
from equipoise.lab.replay import ReplayResult
from equipoise.lab.result import SimulationResult
from equipoise.lab.table import Table
from equipoise.report.document import Report
from equipoise.report.html import render
from equipoise.report.replay import replay_report
from equipoise.report.simulation import simulation_report


def write_report(
    path: str | Path,
    content: Report | SimulationResult,
    *,
    title: str | None = None,
    again: str | None = None,
) -> Path:
    """Write one HTML file that needs no network.

    Parameters
    ----------
    content
        Result of a simulation or a replay, or a :class:`~equipoise.report.Report` of your own.
    title, again
        Heading and command line of a result's report; a report of your own has them inside.
    """
    if isinstance(content, ReplayResult):
        content = replay_report([content], title=title or "Replay report", again=again)
    if isinstance(content, SimulationResult):
        content = simulation_report(content, title=title or "Simulation report", again=again)
    path = Path(path)
    page = render(content)
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Renamed when it is complete, so that no reader ever meets half a report.
        partial = path.with_name(path.name + ".partial")
        partial.write_text(page, encoding="utf-8")
        partial.replace(path)
    return path


def write_results(folder: str | Path, result: SimulationResult, *, again: str | None = None) -> list[Path]:
    """The report, the table of losses and every trial's numbers; returns the files."""
    folder = Path(folder)
    report = write_report(folder / "report.html", result, again=again)
    archive = folder / "result.npz"
    with _explained(folder):
        table = _write_table(folder / "losses", result.losses())
        result.save(archive)
    return [report, table, archive]


def write_replays(
    folder: str | Path, results: Sequence[ReplayResult], *, again: str | None = None
) -> list[Path]:
    """The report, the table of losses by budget and every trial's numbers; returns the files."""
    folder = Path(folder)
    report = write_report(folder / "report.html", replay_report(results, again=again))
    rows = [(result.table.budget, *row.values()) for result in results for row in result.losses().records()]
    columns = ["budget", *results[0].losses().columns]
    with _explained(folder):
        table = _write_table(folder / "losses", Table(columns, rows, results[0].metadata))
        archives = []
        for result in results:
            archives.append(folder / f"result-{result.table.budget}.npz")
            result.save(archives[-1])
    return [report, table, *archives]


def _write_table(path: Path, table: Table) -> Path:
    if find_spec("pyarrow") is not None:
        path = path.with_suffix(".parquet")
        table.write_parquet(path)
        return path
    path = path.with_suffix(".csv")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, table.columns)
        writer.writeheader()
        writer.writerows(table.records())
    return path


def check_writable(folder: str | Path) -> None:
    """Refuse a folder that could not be made or written to; makes nothing."""
    folder = Path(folder)
    with _explained(folder):
        existing = folder.absolute()
        while not existing.exists():
            existing = existing.parent
        if not existing.is_dir():
            raise NotADirectoryError(20, f"{existing.name} is not a folder")
        with tempfile.TemporaryFile(dir=existing):
            pass


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputNotWritable(
            f"cannot write to {path}: {error.strerror or error}", hint="choose another folder"
        ) from None
