"""Reproduce: run the sweeps, check the claims, draw the figures."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from equipoise.errors import InvalidArgument
from equipoise.lab.reproduce.claims import check_claims
from equipoise.lab.reproduce.drawing import need_matplotlib
from equipoise.lab.reproduce.figure import draw_figure
from equipoise.lab.reproduce.panels import (
    PANELS,
    RATE,
    Sweep,
    chosen_panels,
    compared_policies,
    needed_sweeps,
    scaled,
)
from equipoise.lab.reproduce.rate import measure_rate, rate_work
from equipoise.lab.reproduce.rate_figure import draw_rate
from equipoise.lab.reproduce.record import Reproduction
from equipoise.lab.reproduce.results import PanelResult
from equipoise.lab.reproduce.store import Store, open_folder
from equipoise.lab.reproduce.sweep import Meter, Progress, Runner, simulation_work
from equipoise.lab.reproduce.widths import claims_by_width, width_policies

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
    progress: Progress | None = None,
) -> Reproduction:
    """The paper's Figure 1 and our rate figure, with the claims about them checked.

    Parameters
    ----------
    panels
        ``"a"`` to ``"f"`` and ``"rate"``; all unless given.
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
    policies = compared_policies()
    sweeps = needed_sweeps(names)
    drawn = [name for name in names if name in PANELS]
    tried = scaled(width_trials, trials_scale) if width_trials and drawn else 0
    total = _work(sweeps, len(policies), trials_scale, tried) + (
        rate_work(trials_scale) if RATE in names else 0.0
    )
    runner = Runner(seed, workers, Store(kept), Meter(total, progress), executor)

    points = {s.name: runner.sweep(s, policies, scaled(s.trials, trials_scale)) for s in sweeps}
    results = {name: PanelResult(PANELS[name], points[PANELS[name].sweep.name]) for name in drawn}
    by_width = {}
    if tried:
        varied = {s.name: runner.sweep(s, width_policies(s), tried, label=f"{s.name}-widths") for s in sweeps}
        by_width = claims_by_width(drawn, varied)
    rate = measure_rate(runner, trials_scale) if RATE in names else None

    from equipoise import __version__

    found = Reproduction(
        version=__version__,
        seed=seed,
        policies=tuple(policies),
        trials={name: scaled(PANELS[name].sweep.trials, trials_scale) for name in drawn},
        results=results,
        findings=check_claims(results) + (() if rate is None else rate.findings()),
        width_trials=tried,
        by_width=by_width,
        rate=rate,
        figures=tuple(
            [output / f"figure1.{kind}" for kind in ("svg", "png") if drawn]
            + [output / f"rate.{kind}" for kind in ("svg", "png") if rate is not None]
        ),
    )
    if drawn:
        draw_figure(found, output)
    if rate is not None:
        draw_rate(found, output)
    (output / "reproduce.json").write_text(json.dumps(found.record(), indent=2, allow_nan=False) + "\n")
    return found


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
        + simulation_work(scenario, len(width_policies(sweep)), tried)
        for sweep in sweeps
        for scenario in sweep.scenarios
    )
