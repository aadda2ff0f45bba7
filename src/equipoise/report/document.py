"""What a report is made of, as plain data; :mod:`equipoise.report.page.html` turns it into a page.

All text is plain text: it is escaped where it is rendered, so names may contain anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from equipoise.errors import InvalidArgument


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Table:
    """Cells as text. The first ``text_columns`` are words, the rest numbers."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    text_columns: int = 1

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise InvalidArgument(f"a row of {len(row)} cells under {len(self.columns)} columns")


@dataclass(frozen=True)
class Figure:
    """An SVG drawing, from :func:`equipoise.report.figure_from`, or the bytes of a PNG image.

    ``description`` says in words what is seen, for readers who cannot see it.
    """

    image: str | bytes
    caption: str
    description: str
    wide: bool = False
    """Whether it takes the whole width instead of half of it."""


@dataclass(frozen=True)
class Code:
    """Something to copy, such as a command line."""

    text: str
    caption: str = ""


@dataclass(frozen=True)
class Points:
    """Sentences one below the other, each with a dot before it."""

    texts: Sequence[str]


Block = Text | Points | Table | Figure | Code


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, kw_only=True)
class Report:
    """A whole report.

    Parameters
    ----------
    title, subtitle
        What it is about, and the size of it in one line.
    warnings
        What speaks against the numbers; stands on top.
    headline
        The one number that matters, in a sentence that comes before everything else.
    summary
        The rest of the answer, in a few sentences.
    sections
        Tables, figures and text.
    settings
        Everything the numbers depend on, by name.
    again
        What to type to get the same numbers again.
    metadata
        The settings once more as plain values, for programs that read the file.

    Examples
    --------
    >>> from equipoise.report import render
    >>> report = Report(title="A < B", sections=[Section("Counts", [Table(["arm", "units"], [["A", "3"]])])])
    >>> "A &lt; B" in render(report)
    True
    """

    title: str
    subtitle: str = ""
    warnings: Sequence[str] = ()
    headline: str = ""
    summary: str = ""
    sections: Sequence[Section] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    again: Sequence[Code] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
