"""Tables and sentences for terminals, pipes and files alike: the one door through which text leaves."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.segment import Segment
    from rich.table import Table
    from rich.text import Text

# Wide enough for every table of this package.
_WIDTH_WITHOUT_TERMINAL = 100
# What a terminal obeys rather than shows: controls but for tabs and ends of lines, directions of writing,
# separators that some take for ends of lines, and halves of characters.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_LEAST_TEXT = 12  # letters that a column of text may be narrowed to
_WIDEST_HEADING = 18
_PLAIN_TERMINALS = ("dumb", "unknown")


def visible(text: str) -> str:
    r"""The text with everything that a terminal would obey written out, as JSON does.

    >>> visible("a\x1b[2Jb")
    'a\\u001b[2Jb'
    """
    return _OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def say(text: str = "", *, err: bool = False, label: str = "", **style: Any) -> None:
    """A line on standard output, or on standard error, after a label in colour."""
    stream = sys.stderr if err else sys.stdout
    colour = wants_colour(stream)
    shown = f"{click.style(label, **style) if colour else label} " if label else ""
    click.echo(shown + visible(text), err=err, color=colour)


def print_json(record: Mapping[str, Any]) -> None:
    """What every ``--json`` prints: one object that says which command, version and numerics it is from.

    Not-a-numbers must have become null before.
    """
    from equipoise.core.arithmetic.numerics import NUMERICS
    from equipoise.version import __version__

    origin = {"command": _command(), "version": __version__, "numerics": NUMERICS}
    say(json.dumps({**origin, **record}, indent=2, allow_nan=False))


def _command() -> str:
    """The command that runs, as it is typed after the program's name."""
    context = click.get_current_context(silent=True)
    names: list[str] = []
    while context is not None and context.parent is not None:
        names.insert(0, str(context.info_name))
        context = context.parent
    return " ".join(names)


def wants_colour(stream: IO[str]) -> bool:
    """Whether the stream gets colours: NO_COLOR says no, FORCE_COLOR yes, else a terminal that shows them."""
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR")
    if forced:
        return forced != "0"
    return _is_terminal(stream)


def output() -> Console:
    """Standard output, with text printed as it is: brackets and colons are no markup here."""
    told = sys.stdout.isatty() or "COLUMNS" in os.environ
    return _console(sys.stdout, width=None if told else _WIDTH_WITHOUT_TERMINAL)


def progress_output() -> Console:
    """Standard error, so that a progress bar never ends up in a file of results."""
    return _console(sys.stderr, stderr=True, force_terminal=_is_terminal(sys.stderr))


def new_table(*columns: str, text_columns: int = 1) -> Table:
    """An empty table: the first ``text_columns`` to the left, numbers to the right."""
    from rich import box
    from rich.table import Table

    # Without edges and with two blanks between columns, every table fits in 80 columns.
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for position, column in enumerate(columns):
        if position < text_columns:
            table.add_column(column, justify="left", overflow="fold")
        else:  # a number and its error stay on one line
            table.add_column(_in_lines(column), justify="right", no_wrap=True)
    return table


def print_table(table: Table, *, title: str) -> None:
    """The title, which unlike rich's own may be wider than the table, the table, and a blank line.

    A table that is wider than the terminal is printed in parts, each with the columns of text.
    """
    console = output()
    console.print(title, style="bold")
    for part in _parts(table, console.width):
        console.print(part)
        console.print()


def _parts(table: Table, width: int) -> list[Table]:
    """The table, cut into tables that fit; every one has the columns of text."""
    from rich.cells import cell_len

    gap = 2
    texts = [column for column in table.columns if not column.no_wrap]
    numbers = [column for column in table.columns if column.no_wrap]
    widest = [max(map(_width, map(str, [column.header, *column.cells]))) for column in numbers]
    # Text gives way, down to one that can still be read.
    needed = sum(
        gap + min(_LEAST_TEXT, max(map(cell_len, map(str, [column.header, *column.cells]))))
        for column in texts
    )
    if not numbers or needed + sum(widest) + gap * len(numbers) <= width:
        return [table]
    parts: list[list[Any]] = [[]]
    used = needed
    for column, own in zip(numbers, widest, strict=True):
        if parts[-1] and used + own + gap > width:
            parts.append([])
            used = needed
        parts[-1].append(column)
        used += own + gap
    return [_columns_of(table, [*texts, *part]) for part in parts]


def _columns_of(table: Table, columns: list[Any]) -> Table:
    """A table of some of the columns."""
    from rich import box
    from rich.table import Table

    part = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        part.add_column(column.header, justify=column.justify, no_wrap=column.no_wrap, overflow="fold")
    for place, row in enumerate(zip(*(list(column.cells) for column in columns), strict=True)):
        part.add_row(*row, end_section=table.rows[place].end_section)
    return part


def _in_lines(header: str) -> str:
    """A heading over numbers, such as a policy's text form, in lines that are not much wider than they are.

    >>> _in_lines("trace-ucb:width=theory:bound=3").splitlines()
    ['trace-ucb:', 'width=theory:', 'bound=3']
    """
    lines = [""]
    for word in re.split(r"(?<=[:, ])", header):
        if len(lines[-1]) + len(word.rstrip()) > _WIDEST_HEADING and lines[-1]:
            lines[-1] = lines[-1].rstrip()
            lines.append("")
        lines[-1] += word
    return "\n".join(lines)


def _width(text: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.split("\n")))


def _is_terminal(stream: IO[str]) -> bool:
    return stream.isatty() and os.environ.get("TERM") not in _PLAIN_TERMINALS


def _console(stream: IO[str], **settings: Any) -> Console:
    colour = wants_colour(stream)
    if not colour:
        settings["color_system"] = None
    elif not _is_terminal(stream):
        settings["color_system"] = "standard"
    settings.setdefault("force_terminal", colour or stream.isatty())
    console: Console = _careful_console()(**settings, markup=False, emoji=False, highlight=False)
    return console


@cache
def _careful_console() -> Any:
    """A console that prints nothing a terminal would obey but its own colours."""
    from rich.console import Console

    class CarefulConsole(Console):
        def render_str(self, text: str, **rest: Any) -> Text:
            # Here, so that columns are as wide as what is shown.
            return super().render_str(visible(text), **rest)

        def render(self, *content: Any, **options: Any) -> Iterable[Segment]:
            # And here, for texts that are made elsewhere.
            for segment in super().render(*content, **options):
                yield segment if segment.control else segment._replace(text=visible(segment.text))

    return CarefulConsole
