"""How long ``reproduce`` waits for programs of a GPU that takes no time, by how many helpers compile them.

Helpers only sleep: some seconds until they are there, then for every step as long as tasks are said to take,
and twice that, as on a machine of whose processors each is at work. So two orders of tasks and points can be
compared; how long a GPU's machine really works is seen there alone.

Usage: python benchmarks/gpu/waiting.py [--helpers 16 8 …] [--output FILE]
"""

from __future__ import annotations

import argparse
import datetime
import time
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest import mock

from host import idle_gpu, reproduced

import equipoise as eq
from equipoise.core.arithmetic.numerics import NUMERICS
from equipoise.core.jit import storage
from equipoise.core.text_tables import markdown_table
from equipoise.lab.gpu.ahead import rounds
from equipoise.lab.gpu.ahead.helpers import Helpers
from equipoise.lab.gpu.ahead.stock import Step
from equipoise.lab.gpu.ahead.tasks import done_name
from equipoise.studies.runner import Runner

START, LONGER = 2.0, 2.5
"""Until a helper is there, and how much longer tasks take where all processors are at work."""


class Sleeper:
    """A helper that does nothing but take its time."""

    def __enter__(self) -> Sleeper:
        time.sleep(START)
        return self

    def __exit__(self, *error: object) -> None:
        pass


def waited(helpers: int, gpu: Any) -> list[str]:
    """A line of the table."""
    made: dict[str, float] = {}
    points: list[float] = []
    point = Runner.point

    def does(helper: Sleeper, step: Step) -> bool:
        drafting, finishing = step.task["seconds"]
        time.sleep(LONGER * (drafting if step.is_draft else finishing))
        if not step.is_draft:
            made[done_name(gpu, step.task)] = time.perf_counter()
        return True

    def watched(*arguments: Any, **options: Any) -> Any:
        points.append(time.perf_counter())
        return point(*arguments, **options)

    with (
        mock.patch.object(rounds, "_processors", return_value=helpers),
        mock.patch.object(rounds, "does", does),
        mock.patch.object(storage, "read", lambda name: b"" if name in made else None),
        mock.patch.object(Helpers, "start", side_effect=Sleeper),
        mock.patch.object(Helpers, "end"),
        mock.patch.object(Runner, "point", watched),
    ):
        begin = time.perf_counter()
        reproduced()
        end = time.perf_counter()
    return [str(helpers), *(f"{when - begin:.1f}" for when in (min(points), max(made.values()), end))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--helpers", type=int, nargs="+", default=[16, 8])
    parser.add_argument("--output", type=Path, help="a file for the same text")
    options = parser.parse_args()
    with idle_gpu() as gpu:
        lines = [waited(helpers, gpu) for helpers in options.helpers]
    text = markdown_table(["helpers", "s until the first point", "s until all programs", "s in all"], lines)
    text += (
        "\n`equipoise reproduce a b c d e f` with a GPU that takes no time, and helpers that sleep. "
        f"equipoise {eq.__version__}, numerics {NUMERICS}, Numba {metadata.version('numba')}, "
        f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d}. Printed by `python benchmarks/gpu/waiting.py`.\n"
    )
    print(text)
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
