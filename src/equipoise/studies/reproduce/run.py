"""Reproduce: measure what was chosen, draw the figures, write everything to a folder."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

from equipoise.errors import InvalidArgument
from equipoise.extras import need
from equipoise.files import write_whole
from equipoise.studies.paper.drawing import draw_figure1, draw_figure2
from equipoise.studies.rate.drawing import draw_rate
from equipoise.studies.reproduce.choice import chosen_panels
from equipoise.studies.reproduce.plan import new_plan
from equipoise.studies.reproduce.record import Reproduction
from equipoise.studies.runner import Meter, Progress, Runner
from equipoise.studies.sparse.drawing import draw_study
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
    device: str = "cpu",
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
    workers, executor, device
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
    need("matplotlib")
    output = open_folder(Path(output), option="--output")
    kept = open_folder(
        output / "checkpoint" if checkpoint is None else Path(checkpoint), option="--checkpoint"
    )
    plan = new_plan(names, scale=trials_scale, width_trials=width_trials, data=data, asked=bool(panels))
    runner = Runner(seed, workers, Store(kept), Meter(plan.work(), progress), executor, device)
    measured = plan.measure(runner)
    found = dataclasses.replace(measured, figures=tuple(_draw(measured, output)))
    write_whole(output / "reproduce.json", json.dumps(found.record(), indent=2, allow_nan=False) + "\n")
    return found


def _draw(found: Reproduction, folder: Path) -> list[Path]:
    """Draw every figure at hand; returns the files."""
    files = []
    if figure1 := found.figure1_results():
        files += draw_figure1(figure1, folder, settings=found.settings)
    if figure2 := found.figure2_results():
        files += draw_figure2(figure2, folder, settings=found.settings)
    if found.rate is not None:
        files += draw_rate(found.rate, folder, origin=found.origin)
    for result in found.sparse:
        files += draw_study(result, folder, origin=found.origin)
    return files


def _check(trials_scale: float, width_trials: int) -> None:
    if not 0.0 < trials_scale < math.inf:
        raise InvalidArgument(
            f"trials_scale={trials_scale!r} is not a positive number", hint="1 gives the paper's counts"
        )
    if width_trials < 0:
        raise InvalidArgument(
            f"width_trials={width_trials!r} is not a whole number of at least 0", hint="0 leaves widths out"
        )
