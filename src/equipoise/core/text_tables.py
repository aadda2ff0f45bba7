"""Small tables for terminals, notebooks and pages."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Columns aligned, the first to the left and the rest to the right.

    >>> print(text_table(["arm", "units"], [["placebo", "12"], ["drug", "8"]]))
    arm      units
    placebo     12
    drug         8
    """
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same as an HTML table."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Shown:
    """Something that prints as a table, in notebooks too; ``_table`` has its header and its rows."""

    def _table(self) -> tuple[list[str], list[list[str]]]:
        raise NotImplementedError

    def __str__(self) -> str:
        return text_table(*self._table())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table(*self._table())


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
