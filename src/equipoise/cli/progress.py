"""A progress bar with the time left, on standard error and for terminals only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from equipoise.cli.terminal import progress_output, say
from equipoise.words import counted

_COMPILING = "Compiling (on the first run only)"


@contextmanager
def progress_bar(
    label: str, *, first: str = _COMPILING, quiet: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """A function that shows how much is done and how long the rest takes, on terminals only.

    Until it is called, ``first`` is shown.
    """
    with labelled_progress(first=first, quiet=quiet) as show:
        yield lambda done, total: show(label, done, total)


@contextmanager
def trials_bar(
    label: str, *, total: int, checkpoint: Path | None, quiet: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """A bar for trials; Ctrl-C ends with how many of ``total`` are kept."""
    done = 0

    def count(finished: int, planned: int) -> None:
        nonlocal done, total
        done, total = finished, planned
        show(finished, planned)

    try:
        with progress_bar(label, quiet=quiet) as show:
            yield count
    except KeyboardInterrupt:
        say(_farewell(done, total, checkpoint), err=True)
        raise click.Abort from None


def _farewell(done: int, total: int, checkpoint: Path | None) -> str:
    if checkpoint is None:
        return (
            f"Stopped after {done} of {counted(total, 'trial')}. None are kept; with --checkpoint DIR they "
            "would be."
        )
    return (
        f"Stopped. {done} of {counted(total, 'trial')} are kept in {checkpoint}: type the same line again "
        "to go on."
    )


@contextmanager
def labelled_progress(
    *, first: str = _COMPILING, quiet: bool = False
) -> Iterator[Callable[[str, float, float], None]]:
    """The same for work in several parts, each with a label of its own."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = progress_output()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task(first, total=None)

        def show(label: str, done: float, total: float) -> None:
            progress.update(task, description=label, completed=done, total=total)

        yield show
