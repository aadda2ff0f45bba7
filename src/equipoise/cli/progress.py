"""A progress bar with the time left, on standard error and for terminals only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from equipoise.cli.terminal import progress_output


@contextmanager
def progress_bar(
    label: str, *, first: str = "Compiling (on the first run only)", quiet: bool = False
) -> Iterator[Callable[[int, int], None]]:
    """A function that shows how much is done and how long the rest takes, on terminals only.

    Until it is called, ``first`` is shown.
    """
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = progress_output()
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    hidden = quiet or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as progress:
        task = progress.add_task(first, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total, description=label)
