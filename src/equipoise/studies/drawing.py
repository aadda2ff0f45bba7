"""How figures look, and how they are saved: the same on every machine, with their settings inside."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from equipoise.files import Content, write_whole
from equipoise.studies.colours import GRID, INK, PAPER, QUIET, dark_rules

_STYLE = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "text.color": INK,
    "text.parse_math": False,  # a name may contain dollar signs
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": INK,
    "ytick.color": INK,
    "ytick.minor.size": 0,
    "xtick.minor.size": 0,
    "svg.fonttype": "none",
    # Without a salt of its own every drawing would get other ids.
    "svg.hashsalt": "equipoise",
}


# Largest over smallest, from which on an axis is logarithmic.
_DWARFED = 12.0
_DPI = 120  # sharp on a page, and below 300 kB


@contextmanager
def house_style() -> Iterator[None]:
    """A user's own style, or their TeX, must not change the figures."""
    import matplotlib.style

    with matplotlib.style.context(["default", _STYLE], after_reset=True):
        yield


def save(figure: Any, folder: Path, name: str, *, title: str, settings: str) -> list[Path]:
    """SVG, light or dark as its reader likes, and PNG, both with their settings inside; returns the files."""
    metadata = {"Title": title, "Description": settings}
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={**metadata, "Date": None})
    figure.set_layout_engine("none")  # the PNG has the SVG's places
    png = partial(figure.savefig, format="png", metadata=metadata, dpi=_DPI, pil_kwargs={"optimize": True})
    files: dict[str, Content] = {"svg": _themed(drawn.getvalue()), "png": png}
    for kind, content in files.items():
        write_whole(folder / f"{name}.{kind}", content, hint="choose another directory")
    return [folder / f"{name}.{kind}" for kind in files]


def _themed(svg: str) -> str:
    start = svg.index("<svg")
    end = svg.index(">", start) + 1
    return f"{svg[:end]}\n <style>\n{dark_rules(svg)}\n </style>{svg[end:]}"


def wants_log(values: Iterable[float]) -> bool:
    """Whether some values dwarf others, so that a straight axis would show nothing but the largest.

    >>> wants_log([0.2, 0.3, 4.0]), wants_log([0.2, 0.3, 0.4]), wants_log([0.0, 1.0])
    (True, False, False)
    """
    known = [value for value in values if math.isfinite(value)]
    return bool(known) and min(known) > 0.0 and max(known) > _DWARFED * min(known)


def add_caption(figure: Any, text: str) -> None:
    """Lines below everything that say where the numbers come from; the figure grows by what they need."""
    width, height = figure.get_size_inches()
    broken = [line for part in text.split("\n") for line in textwrap.wrap(part, int(17.5 * width))]
    room = 0.14 * len(broken) + 0.2
    figure.set_figheight(height + room)
    share = room / (height + room)
    figure.get_layout_engine().set(rect=(0.0, share, 1.0, 1.0 - share), w_pad=0.1, h_pad=0.08, wspace=0.02)
    figure.text(
        0.12 / width, 0.1 / (height + room), "\n".join(broken), fontsize=7.5, color=QUIET, linespacing=1.4
    )


def plain_log_ticks(axis: Any, *, steps: tuple[float, ...] = (1.0, 2.0, 5.0)) -> None:
    """Log scale with labels like 0.2, 0.5, 1, which people read faster than powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=steps, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
