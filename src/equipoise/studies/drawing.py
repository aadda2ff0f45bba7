"""How figures look, and how they are saved: the same on every machine, with their settings inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from equipoise.files import write_whole

INK = "#222222"
QUIET = "#6E6E6E"
GRID = "#E6E6E6"

# Okabe and Ito's colours (2008), with the red of Tol's vibrant set, which is darker than their
# vermilion, stay apart in every common form of colour blindness; markers and dashes differ as well.
LOOKS: dict[str, dict[str, Any]] = {
    "uniform": {"color": "#E69F00", "marker": "s", "linestyle": (0, (5, 2))},
    "oracle": {"color": "#222222", "marker": "D", "linestyle": (0, (1, 1.5))},
    "var-ucb": {"color": "#CC3311", "marker": "^", "linestyle": (0, (6, 2, 1.5, 2))},
    "trace-ucb": {"color": "#0072B2", "marker": "o", "linestyle": "-"},
    "trace-gain": {"color": "#009E73", "marker": "v", "linestyle": "-"},
}

_STYLE = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "text.color": INK,
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


_DPI = 120  # sharp on a page, and below 300 kB


@contextmanager
def house_style() -> Iterator[None]:
    """A user's own style, or their TeX, must not change the figures."""
    import matplotlib.style

    with matplotlib.style.context(["default", _STYLE], after_reset=True):
        yield


def save(figure: Any, folder: Path, name: str, *, title: str, settings: str) -> list[Path]:
    """SVG and PNG, both with title and settings as metadata; returns the files."""
    metadata = {"Title": title, "Description": settings}
    looks: dict[str, dict[str, Any]] = {
        "svg": {"metadata": {**metadata, "Date": None}},
        "png": {"metadata": metadata, "dpi": _DPI, "pil_kwargs": {"optimize": True}},
    }
    files = []
    for kind, look in looks.items():
        files.append(folder / f"{name}.{kind}")
        write_whole(files[-1], partial(figure.savefig, format=kind, **look), hint="choose another directory")
    return files


def plain_log_ticks(axis: Any, *, steps: tuple[float, ...] = (1.0, 2.0, 5.0)) -> None:
    """Log scale with labels like 0.2, 0.5, 1, which people read faster than powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=steps, numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
