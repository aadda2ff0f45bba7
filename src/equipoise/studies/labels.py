"""Names beside the lines of a figure, instead of a legend that hides or is cut off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from equipoise.studies.colours import QUIET

_SIZE = 9.0
_GAP = 8.0  # points between the axes and the names
_LINE = 1.25  # height of a line over the size of its letters


@dataclass(frozen=True)
class LineEnd:
    """A name, where its line ends, and the colour of its letters."""

    label: str
    x: float
    y: float
    color: str


def label_lines(axes: Any, ends: Sequence[LineEnd], *, width: int = 24) -> None:
    """Write every name to the right of the axes, at the height at which its line ends.

    Names that would lie upon each other make room, and thin lines lead to them. Call it last: scales, limits
    and the place of the axes must be known. Names longer than ``width`` go on below, after a colon.
    """
    label_panels([(axes, ends)], width=width)


def label_panels(panels: Sequence[tuple[Any, Sequence[LineEnd]]], *, width: int = 24) -> None:
    """The same for several axes of a figure, which is laid out once for all of them."""
    panels = [(axes, ends) for axes, ends in panels if ends]
    if panels:
        panels[0][0].figure.draw_without_rendering()
    for axes, ends in panels:
        _write_names(axes, ends, width)


def _write_names(axes: Any, ends: Sequence[LineEnd], width: int) -> None:
    box = axes.get_window_extent()
    point = axes.figure.dpi / 72.0
    texts = [wrapped(end.label, width) for end in ends]
    heights = [_SIZE * _LINE * point * (text.count("\n") + 1) for text in texts]
    wanted = [float(axes.transData.transform((end.x, end.y))[1]) for end in ends]
    places = spread(wanted, heights, box.y0, box.y1)
    for end, text, place, height in zip(ends, texts, places, wanted, strict=True):
        at = axes.transAxes.inverted().transform((box.x1, place))[1]
        axes.annotate(
            text, (1.0, at), xycoords="axes fraction", xytext=(_GAP, 0), textcoords="offset points",
            fontsize=_SIZE, color=end.color, ha="left", va="center", linespacing=1.05, annotation_clip=False,
        )  # fmt: skip
        if abs(place - height) > 0.35 * _SIZE * point:
            lead = {"arrowstyle": "-", "color": QUIET, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
            axes.annotate(
                "", (end.x, end.y), xycoords="data", xytext=(1.0 + (_GAP - 2) * point / box.width, at),
                textcoords="axes fraction", arrowprops=lead, annotation_clip=False,
            )  # fmt: skip


def spread(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float]:
    """Middles as near as possible to those wanted, none upon another, from ``low`` to ``high`` if they fit.

    >>> spread([10.0, 11.0], [4.0, 4.0], 0.0, 20.0)
    [8.5, 12.5]
    >>> spread([0.0, 20.0], [4.0, 4.0], 0.0, 20.0)
    [2.0, 18.0]
    """
    # Neighbours that touch become one block, which stands where its members want it on average.
    blocks: list[tuple[list[int], float]] = []
    for index in sorted(range(len(wanted)), key=lambda i: wanted[i]):
        members = [index]
        middle = _middle(members, wanted, heights, low, high)
        while blocks:
            before, place = blocks[-1]
            if place + _half(before, heights) <= middle - _half(members, heights):
                break
            blocks.pop()
            members = [*before, *members]
            middle = _middle(members, wanted, heights, low, high)
        blocks.append((members, middle))
    places = [0.0] * len(wanted)
    for members, middle in blocks:
        edge = middle - _half(members, heights)
        for index in members:
            places[index] = edge + 0.5 * heights[index]
            edge += heights[index]
    return places


def _half(members: Sequence[int], heights: Sequence[float]) -> float:
    return 0.5 * sum(heights[index] for index in members)


def _middle(
    members: Sequence[int], wanted: Sequence[float], heights: Sequence[float], low: float, high: float
) -> float:
    """Where a block stands: its members' own wishes, as far as the axes reach."""
    half, offset, wishes = _half(members, heights), 0.0, 0.0
    for index in members:
        wishes += wanted[index] - (offset + 0.5 * heights[index]) + half
        offset += heights[index]
    return max(low + half, min(high - half, wishes / len(members)))


def wrapped(name: str, width: int = 24) -> str:
    r"""A policy's name and settings on as many lines as they need.

    >>> wrapped("trace-ucb:width=2"), wrapped("trace-ucb:width=theory:bound=3:delta=0.05")
    ('trace-ucb:width=2', 'trace-ucb:width=theory\n:bound=3:delta=0.05')

    Words that have lines of their own keep them.

    >>> wrapped("dashed: bias of\nthe width alone")
    'dashed: bias of\nthe width alone'
    """
    first, *rest = name.split(":")
    lines = [first]
    for part in rest:
        if len(lines[-1]) + 1 + len(part.partition("\n")[0]) <= width:
            lines[-1] += f":{part}"
        else:
            lines.append(f":{part}")
    return "\n".join(lines)
