"""Reports and results in files."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping
from functools import singledispatch
from pathlib import Path

from equipoise.core.estimates.estimates import Estimates
from equipoise.core.experiment.reading import ExperimentReader
from equipoise.core.tables.tidy import TidyTable
from equipoise.core.theory.plan import Plan
from equipoise.errors import InvalidArgument
from equipoise.extras import is_installed
from equipoise.files import check_new, make_folder, write_whole
from equipoise.lab.replay import ReplayResult, ReplayResults
from equipoise.lab.results.simulation import SimulationResult
from equipoise.report.document import Report
from equipoise.report.estimates import estimates_report
from equipoise.report.experiment import experiment_report
from equipoise.report.page.html import render
from equipoise.report.plan import plan_report
from equipoise.report.replay import replay_report
from equipoise.report.simulation import SCENARIO_FILE, simulation_report
from equipoise.report.studies.sweep import sweep_report
from equipoise.studies.sweep import SweepResult

_ELSEWHERE = "choose another folder"


def write_report(
    path: str | Path,
    content: Report | SimulationResult | SweepResult | ReplayResults | ExperimentReader | Estimates | Plan,
    *,
    title: str | None = None,
    again: str | None = None,
    statements: Mapping[str, str] | None = None,
    simulation: SimulationResult | Plan | None = None,
    overwrite: bool = False,
) -> Path:
    """Write one HTML file that needs no network.

    Parameters
    ----------
    content
        Result of a simulation, a sweep or of replays, an experiment as it is now, in memory or live, its
        estimates, a plan, or a
        :class:`~equipoise.report.Report` of your own.
    title, again
        Heading and command line of what is not a report yet; a report of your own has them inside.
    statements, simulation
        For the report of an experiment, see :func:`~equipoise.report.experiment_report`: what only people
        know, and operating characteristics.
    overwrite
        Whether a file that is there already is replaced; else it is refused.
    """
    path = _checked_path(path)
    if isinstance(content, ExperimentReader):
        report = experiment_report(
            content,
            title=title or "Experiment report",
            again=again,
            statements=statements,
            simulation=simulation,
        )
    elif statements is not None or simulation is not None:
        raise InvalidArgument(
            "statements and a simulation belong to the report of an experiment, not of "
            f"{_described(content)}",
            hint="leave them out, or give the experiment",
        )
    else:
        report = report_of(content, title, again)
    if not overwrite:
        check_new([path])
    page = render(report)
    make_folder(path.parent, hint=_ELSEWHERE)
    write_whole(path, page, hint=_ELSEWHERE)
    return path


def _checked_path(path: object) -> Path:
    if isinstance(path, str | os.PathLike):
        return Path(path)
    hint = "the file comes first: write_report('report.html', result)"
    raise InvalidArgument(f"a report cannot be written to {_described(path)}", hint=hint)


def _described(thing: object) -> str:
    name = type(thing).__name__
    return f"{'an' if name[:1] in 'AEIOUaeiou' else 'a'} {name}"


@singledispatch
def report_of(content: object, title: str | None, again: str | None) -> Report:
    """The report of anything that has one; every kind registers what makes it."""
    raise InvalidArgument(
        f"there is no report of {_described(content)}",
        hint="give an experiment, its estimates, a plan, a Report, or what simulate, sweep or replay found",
    )


@report_of.register
def _(content: Report, title: str | None, again: str | None) -> Report:
    return content


@report_of.register
def _(content: SimulationResult, title: str | None, again: str | None) -> Report:
    return simulation_report(content, title=title or "Simulation report", again=again)


@report_of.register
def _(content: SweepResult, title: str | None, again: str | None) -> Report:
    return sweep_report(content, title=title or "Sweep report", again=again)


@report_of.register
def _(content: ReplayResult, title: str | None, again: str | None) -> Report:
    return replay_report([content], title=title or "Replay report", again=again)


@report_of.register
def _(content: ReplayResults, title: str | None, again: str | None) -> Report:
    return replay_report(content, title=title or "Replay report", again=again)


@report_of.register
def _(content: Estimates, title: str | None, again: str | None) -> Report:
    return estimates_report(content, title=title or "Estimates", again=again)


@report_of.register
def _(content: Plan, title: str | None, again: str | None) -> Report:
    return plan_report(content, title=title or "Plan", again=again)


def write_results(
    folder: str | Path, result: SimulationResult, *, again: str | None = None, overwrite: bool = False
) -> list[Path]:
    """The report, the table of losses, the scenario and every trial's numbers; returns the files."""
    folder = Path(folder)
    files = [folder / name for name in ("report.html", _table_name("losses"), SCENARIO_FILE, "result.npz")]
    if not overwrite:
        check_new(files)
    page, table, scenario, archive = files
    write_report(page, simulation_report(result, again=again, beside=True), overwrite=True)
    _write_table(table, result.losses())
    write_whole(scenario, result.scenario.to_toml(), hint=_ELSEWHERE)
    result.save(archive)
    return files


def write_replays(
    folder: str | Path, results: ReplayResults, *, again: str | None = None, overwrite: bool = False
) -> list[Path]:
    """The report, the table of losses by budget and every trial's numbers; returns the files."""
    folder = Path(folder)
    archives = [folder / f"result-{result.table.budget}.npz" for result in results]
    page, table = folder / "report.html", folder / _table_name("losses")
    if not overwrite:
        check_new([page, table, *archives])
    write_report(page, replay_report(results, again=again), overwrite=True)
    _write_table(table, results.losses())
    for archive, result in zip(archives, results, strict=True):
        result.save(archive)
    return [page, table, *archives]


def write_sweep(
    folder: str | Path,
    result: SweepResult,
    *,
    loss: str | None = None,
    again: str | None = None,
    overwrite: bool = False,
) -> list[Path]:
    """Report, tables of losses and differences, record, scenario and figure; returns the files."""
    folder, chosen = Path(folder), result.loss if loss is None else loss
    tables = {_table_name("losses"): result.losses()}
    if len(result.policies) > 1:
        tables[_table_name("differences")] = result.differences()
    texts = {SCENARIO_FILE: result.scenario.to_toml(), "sweep.json": json.dumps(result.record(), indent=2)}
    page, files = folder / "report.html", [folder / name for name in (*tables, *texts)]
    drawn = is_installed("matplotlib")
    if not overwrite:
        check_new([page, *files, *([folder / "sweep.svg", folder / "sweep.png"] if drawn else [])])
    write_report(page, sweep_report(result, loss=chosen, again=again), overwrite=True)
    for name, table in tables.items():
        _write_table(folder / name, table)
    for name, text in texts.items():
        write_whole(folder / name, text, hint=_ELSEWHERE)
    if drawn:
        from equipoise.studies.sweep.drawing import draw_sweep

        files += draw_sweep(result, folder, "sweep", loss=chosen)
    return [page, *files]


def _table_name(stem: str) -> str:
    return f"{stem}.{'parquet' if is_installed('pyarrow') else 'csv'}"


def _write_table(path: Path, table: TidyTable) -> None:
    if path.suffix == ".parquet":
        table.write_parquet(path)
        return
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, table.columns)
    writer.writeheader()
    writer.writerows(table.records())
    write_whole(path, text.getvalue(), hint=_ELSEWHERE)
