"""Reports and results in files: checked before the work, written whole or not at all."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from equipoise.errors import OutputNotWritable
from equipoise.lab.result import SimulationResult
from equipoise.report.document import Report
from equipoise.report.html import render
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
        A simulation's result, or a :class:`~equipoise.report.Report` of your own.
    title, again
        Heading and command line of a simulation's report; a report of your own has them inside.
    """
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
    losses = result.losses()
    with _explained(folder):
        if find_spec("pyarrow") is not None:
            table = folder / "losses.parquet"
            losses.write_parquet(table)
        else:
            table = folder / "losses.csv"
            with table.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, losses.columns)
                writer.writeheader()
                writer.writerows(losses.records())
        archive = folder / "result.npz"
        result.save(archive)
    return [report, table, archive]


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
