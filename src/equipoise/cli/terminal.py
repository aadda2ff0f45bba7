"""Tables and sentences for terminals, pipes and files alike."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Wide enough for every table of this package.
_WIDTH_WITHOUT_TERMINAL = 100


def output() -> Console:
    """Standard output, with text printed as it is: brackets and colons are no markup here."""
    from rich.console import Console

    told = sys.stdout.isatty() or "COLUMNS" in os.environ
    width = None if told else _WIDTH_WITHOUT_TERMINAL
    return Console(width=width, markup=False, emoji=False, highlight=False)


def progress_output() -> Console:
    """Standard error, so that a progress bar never ends up in a file of results."""
    from rich.console import Console

    return Console(stderr=True, markup=False, emoji=False, highlight=False)


def new_table(*columns: str, text_columns: int = 1) -> Table:
    """An empty table: the first ``text_columns`` to the left, numbers to the right."""
    from rich import box
    from rich.table import Table

    # Without edges and with two blanks between columns, every table fits in 80 columns.
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position < text_columns else "right")
    return table


def print_table(table: Table, *, title: str) -> None:
    """The title, which unlike rich's own may be wider than the table, the table, and a blank line."""
    console = output()
    console.print(title, style="bold")
    console.print(table)
    console.print()
