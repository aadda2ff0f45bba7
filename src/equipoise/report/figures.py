"""Drawings for reports: matplotlib in, an SVG that takes the page's fonts out; html.py adds dark colours."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from equipoise.extras import need
from equipoise.report.document import Figure
from equipoise.studies.colours import GRID, INK, PAPER, QUIET

_STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.size": 10.5,
    "text.color": INK,
    "text.parse_math": False,  # a name may contain dollar signs
    "axes.labelcolor": INK,
    "axes.edgecolor": QUIET,
    "axes.linewidth": 0.8,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": QUIET,
    "ytick.color": QUIET,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "lines.linewidth": 1.6,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",  # text stays text: it can be searched and read aloud
    "svg.hashsalt": "equipoise",  # the same figure gives the same bytes
}


def report_style() -> AbstractContextManager[None]:
    """Matplotlib settings of reports, whatever the user's own are."""
    import matplotlib.style

    context: AbstractContextManager[None] = matplotlib.style.context(["default", _STYLE], after_reset=True)
    return context


def new_figure(
    draw: Callable[[Any], None], *, caption: str, description: str, wide: bool = False, height: float = 3.6
) -> Figure:
    """A figure in the report's style; ``draw`` gets matplotlib axes.

    Examples
    --------
    >>> figure = new_figure(lambda axes: axes.plot([1, 2], [3, 4]), caption="A line", description="It rises.")
    >>> figure.image.startswith("<svg")
    True
    """
    need("matplotlib")
    from matplotlib.figure import Figure as Canvas

    with report_style(), warnings.catch_warnings():
        # Text stays text: the reader's fonts may have what these lack.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        canvas = Canvas(figsize=(10.6 if wide else 5.2, height), layout="constrained")
        draw(canvas.subplots())
        return figure_from(canvas, caption=caption, description=description, wide=wide)


def name_rows(axes: Any, names: Sequence[str]) -> None:
    """Names above their rows instead of beside them: a policy's spec can be long."""
    axes.set_ylim(len(names), -0.15)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", visible=False)
    for row, name in enumerate(names):
        axes.text(
            0.0, row + 0.05, name, transform=axes.get_yaxis_transform(), va="center", fontweight="bold",
            bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 1.0},
        )  # fmt: skip


def legend_above(axes: Any) -> None:
    """Where it hides nothing, in as many columns as its names leave room for."""
    names = axes.get_legend_handles_labels()[1]
    width = 0.075 * max(map(len, names), default=1) + 0.45  # inches a name takes, with its marker
    columns = max(1, int((axes.figure.get_figwidth() - 0.6) / width))
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, borderaxespad=0.2, handletextpad=0.4,
        columnspacing=1.4,
    )  # fmt: skip


def figure_of_file(path: Path, *, caption: str, description: str, wide: bool = False) -> Figure:
    """A drawing that was saved as SVG."""
    return Figure(_inline(path.read_text(encoding="utf-8")), caption, description, wide)


def figure_from(canvas: Any, *, caption: str, description: str, wide: bool = False) -> Figure:
    """A matplotlib figure of your own, as it is."""
    buffer = io.StringIO()
    canvas.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return Figure(_inline(buffer.getvalue()), caption, description, wide)


def isolated(svg: str, name: str, description: str) -> str:
    """The drawing with ids that no other drawing on the page has, and its (escaped) description."""
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'\bhref="#', f'href="#{name}-', svg)
    svg = svg.replace("url(#", f"url(#{name}-")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{description}" ', 1)


def _inline(svg: str) -> str:
    """Without what only a file of its own needs, and with the page's fonts."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\s+xmlns(:\w+)?="[^"]*"', "", svg)
    svg = svg.replace("xlink:href=", "href=")
    # The fonts that matplotlib measured with are wider than most, so the page's own fit.
    svg = re.sub(r"(font: [^;\"]*?px) [^;\"]*", r"\1 system-ui, 'Segoe UI', Roboto, Arial, sans-serif", svg)
    svg = re.sub(r"<style>\s*@media.*?</style>\s*", "", svg, flags=re.DOTALL)  # the page has its own
    return svg.strip()
