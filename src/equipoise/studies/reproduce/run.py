"""Reproduce: run the sweeps, check the claims, draw the figures."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from equipoise.errors import DataNotFound, InvalidArgument
from equipoise.files import write_whole
from equipoise.studies.drawing import need_matplotlib
from equipoise.studies.paper.claims import check_claims
from equipoise.studies.paper.drawing import draw_figure, draw_tables
from equipoise.studies.paper.figure1 import PANELS, Sweep, compared_policies, measure_sweep, needed_sweeps
from equipoise.studies.paper.figure2 import TABLES, TRIALS, TableSweep, open_sweep
from equipoise.studies.paper.panel_result import PanelResult
from equipoise.studies.paper.widths import WidePanel, claims_by_width, width_policies
from equipoise.studies.rate.drawing import draw_rate
from equipoise.studies.rate.measure import measure_rate, rate_work
from equipoise.studies.reproduce.choice import RATE, chosen_panels
from equipoise.studies.reproduce.record import Reproduction
from equipoise.studies.runner import Meter, Progress, Runner, scaled, simulation_work
from equipoise.studies.sparse.drawing import draw_sparse, figure_name
from equipoise.studies.sparse.studies import STUDIES
from equipoise.studies.sparse.study import SparseResult
from equipoise.studies.store import Store, open_folder

OUTPUT = "equipoise-reproduce"
WIDTH_TRIALS = 2_000


def reproduce(
    panels: Sequence[str] = (),
    *,
    output: str | Path = OUTPUT,
    trials_scale: float = 1.0,
    width_trials: int = WIDTH_TRIALS,
    seed: int = 1,
    workers: int | None = None,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
    data: str | Path | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """The paper's figures and our rate figure, with the claims about them checked.

    Parameters
    ----------
    panels
        ``"a"`` to ``"f"`` of Figure 1, ``"jester"`` and ``"movielens"`` of Figure 2, and ``"rate"``; all
        unless given, those of Figure 2 if their ratings are there. Only if named: ``"support"``,
        ``"sparse-budget"`` and ``"sparse-screen"`` about Sparse-Trace-UCB, or ``"sparse"`` for the three.
    output
        Folder of the figures and of ``reproduce.json``; made if it does not exist.
    trials_scale
        Multiplies every number of trials; 1 gives the paper's.
    width_trials
        Trials a point of the comparison of widths; multiplied as well. 0 leaves it out.
    workers, executor
        Where trials run, as in :func:`equipoise.simulate`.
    checkpoint
        Folder that keeps finished points; ``checkpoint`` inside ``output`` unless given.
    data
        Folder with the ratings of Figure 2; ``EQUIPOISE_DATA``, or what was fetched, unless given.
    progress
        Called with a label, the work done and all work.
    """
    names = chosen_panels(panels)
    _check(trials_scale, width_trials)
    need_matplotlib()
    output = open_folder(Path(output), option="--output")
    kept = open_folder(
        output / "checkpoint" if checkpoint is None else Path(checkpoint), option="--checkpoint"
    )
    tables, left_out = _open_tables([name for name in names if name in TABLES], data, asked=bool(panels))
    policies = compared_policies()
    sweeps = needed_sweeps(names)
    drawn = [name for name in names if name in PANELS]
    tried = scaled(width_trials, trials_scale) if width_trials and (drawn or tables) else 0
    replayed = scaled(TRIALS, trials_scale)
    total = _work(sweeps, len(policies), trials_scale, tried) + (
        rate_work(trials_scale) if RATE in names else 0.0
    )
    total += _replay_work(tables, len(policies), replayed, min(tried, replayed))
    studies = [STUDIES[name] for name in names if name in STUDIES]
    total += sum(study.work(trials_scale) for study in studies)
    runner = Runner(seed, workers, Store(kept), Meter(total, progress), executor)

    points = {s.name: measure_sweep(runner, s, policies, scaled(s.trials, trials_scale)) for s in sweeps}
    results = {name: PanelResult(PANELS[name], points[PANELS[name].sweep.name]) for name in drawn}
    for table in tables:
        replays = [runner.point(a, policies, replayed, name=table.panel.id) for a in table.arenas]
        results[table.panel.id] = PanelResult(table.panel, replays)
    by_width = {}
    if tried:
        varied = {
            s.name: measure_sweep(runner, s, width_policies(s.noise), tried, label=f"{s.name}-widths")
            for s in sweeps
        }
        wide = [
            WidePanel(PANELS[name], PANELS[name].sweep.noise, varied[PANELS[name].sweep.name])
            for name in drawn
        ]
        for table in tables:
            compared = width_policies(table.noise)
            label = f"{table.panel.id}-widths"
            replays = [runner.point(a, compared, min(tried, replayed), name=label) for a in table.arenas]
            wide.append(WidePanel(table.panel, table.noise, replays))
        by_width = claims_by_width(wide)
    rate = measure_rate(runner, trials_scale) if RATE in names else None
    sparse = tuple(study.measure(runner, trials_scale) for study in studies)

    from equipoise import __version__

    found = Reproduction(
        version=__version__,
        seed=seed,
        policies=(*(policies if len(studies) < len(names) else ()), *_policies_of(sparse)),
        trials={name: scaled(PANELS[name].sweep.trials, trials_scale) for name in drawn}
        | {table.panel.id: replayed for table in tables}
        | {of: trials for result in sparse for of, trials in result.trials.items()},
        results=results,
        findings=check_claims(results) + (() if rate is None else rate.findings()),
        sparse=sparse,
        width_trials=tried,
        by_width=by_width,
        rate=rate,
        figures=tuple(
            [output / f"figure1.{kind}" for kind in ("svg", "png") if drawn]
            + [output / f"figure2.{kind}" for kind in ("svg", "png") if tables]
            + [output / f"rate.{kind}" for kind in ("svg", "png") if rate is not None]
            + [output / f"{figure_name(result)}.{kind}" for result in sparse for kind in ("svg", "png")]
        ),
        left_out=left_out,
    )
    if drawn:
        draw_figure(found, output)
    if tables:
        draw_tables(found, output)
    if rate is not None:
        draw_rate(found, output)
    draw_sparse(found, output)
    write_whole(output / "reproduce.json", json.dumps(found.record(), indent=2, allow_nan=False) + "\n")
    return found


def _policies_of(results: Sequence[SparseResult]) -> list[str]:
    return list(dict.fromkeys(policy for result in results for policy in result.policies))


def _open_tables(
    names: Sequence[str], folder: str | Path | None, *, asked: bool
) -> tuple[list[TableSweep], tuple[str, ...]]:
    """Tables at hand, and why others are not; one that was asked for by name must be there."""
    tables, left_out = [], []
    for name in names:
        try:
            tables.append(open_sweep(name, folder))
        except DataNotFound as error:
            if asked:
                raise
            left_out.append(str(error))
    return tables, tuple(left_out)


def _check(trials_scale: float, width_trials: int) -> None:
    if not 0.0 < trials_scale < math.inf:
        raise InvalidArgument(
            f"trials_scale={trials_scale!r} is not a positive number", hint="1 gives the paper's counts"
        )
    if width_trials < 0:
        raise InvalidArgument(
            f"width_trials={width_trials!r} is not a whole number of at least 0", hint="0 leaves widths out"
        )


def _work(sweeps: Sequence[Sweep], policies: int, scale: float, tried: int) -> float:
    return sum(
        simulation_work(scenario, policies, scaled(sweep.trials, scale))
        + simulation_work(scenario, len(width_policies(sweep.noise)), tried)
        for sweep in sweeps
        for scenario in sweep.scenarios
    )


def _replay_work(tables: Sequence[TableSweep], policies: int, trials: int, tried: int) -> float:
    return sum(
        simulation_work(arena, policies, trials)
        + simulation_work(arena, len(width_policies(table.noise)), tried)
        for table in tables
        for arena in table.arenas
    )
