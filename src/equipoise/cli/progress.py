"""A progress bar with the time left, on standard error and for terminals only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from equipoise.cli.terminal import progress_output

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
