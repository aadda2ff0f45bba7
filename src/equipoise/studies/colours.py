"""One colour a policy, in every figure and report: :func:`policy_looks` is where it comes from.

Every colour has a twin for dark pages. Colours of policies that are often compared stay apart in every common
form of colour blindness; others that come close differ in their marker. The same policy with other settings
keeps hue and marker and gets another shade and dash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any
from zlib import crc32

PAPER, INK, QUIET, GRID, STRIPE = "#ffffff", "#1d2329", "#5b6570", "#e8ebee", "#f5f7f8"
_DARK_PAPER = "#14181c"
# For series that are no policies, such as arms: Okabe and Ito's hues (2008), dark enough for white paper.
_SERIES = {
    "#0072b2": "#5ab4ea",
    "#d55e00": "#ff9350",
    "#00886a": "#3fcfa6",
    "#a3569b": "#e29ad9",
    "#96750a": "#e5c04d",
    "#5d6b7a": "#a8b4c2",
    "#8c564b": "#d3a296",
}
SERIES = tuple(_SERIES)
# Differ in shape as well as in colour, for print and for the colour-blind.
MARKERS = ("o", "s", "D", "^", "v", "P", "X")

_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1.5, 2)))
_SOLID, _DASHED, _DOTTED, _MIXED = range(4)
# Light, dark, marker, dash.
_POLICIES: dict[str, tuple[str, str, str, int]] = {
    "uniform": ("#8b9199", "#8a939d", "s", _DASHED),
    "oracle": (INK, "#e4e8ec", "D", _DOTTED),
    "trace-ucb": ("#005aa3", "#4aa3f0", "o", _SOLID),
    "trace-gain": ("#00875f", "#45e0b0", "v", _SOLID),
    "var-ucb": ("#cc3311", "#ff7f61", "^", _MIXED),
    "sparse-trace-ucb": ("#8e3a99", "#dd9cf0", "P", _SOLID),
    "ch-as": ("#b08900", "#e8cf5a", "X", _MIXED),
    "b-as": ("#8c4a3c", "#d9a08f", "D", _MIXED),
    "gafs-max": ("#d0701a", "#ffa64d", "<", _DASHED),
    "gfsp-max": ("#7d1f55", "#e07bb0", ">", _DASHED),
    "best-allocation": ("#3c4f66", "#c3d3e6", "h", _DOTTED),
    "sparse-oracle": ("#4a3326", "#e8d3c0", "P", _DOTTED),
    "uniform-lasso": ("#a08c66", "#c2ad85", "8", _DASHED),
    "static-lasso": ("#56631a", "#a9b544", "*", _DOTTED),
    "complete": ("#00869b", "#55cfe0", "8", _SOLID),
    "permuted-blocks": ("#4b3fb5", "#a79bff", "p", _SOLID),
    "efron": ("#7a8b00", "#cbdc4a", "p", _SOLID),
    "minimisation": ("#c2397a", "#ff8fc0", "d", _SOLID),
    "da-optimal": ("#6f4fc9", "#c0a6ff", "v", _DASHED),
    "balancing-walk": ("#00605a", "#6fd6cc", "*", _SOLID),
    "wei-urn": ("#6d7fb3", "#a9bbee", ">", _SOLID),
    "neyman-balanced": ("#3d8b37", "#86dc7c", "h", _SOLID),
}
# For policies of one's own: far from those that they are usually compared with.
_SPARE: tuple[tuple[str, str, str, int], ...] = (
    ("#c2397a", "#ff8fc0", "d", _SOLID),
    ("#b08900", "#e8cf5a", "X", _SOLID),
    ("#00869b", "#55cfe0", "8", _SOLID),
    ("#4b3fb5", "#a79bff", "p", _SOLID),
    ("#d0701a", "#ffa64d", "<", _SOLID),
    ("#7a8b00", "#cbdc4a", "*", _SOLID),
)
# What a policy is told about its world is no setting.
_FACTS = ("noise=", "support=")
_SHADES = 3


@dataclass(frozen=True)
class Look:
    """Colour, marker and dash of a policy; ``dark`` is the colour's twin on a dark page."""

    color: str
    dark: str
    marker: str
    dash: Any
    text: str
    """A shade in which small letters can be read."""

    @property
    def line(self) -> dict[str, Any]:
        """For matplotlib's ``plot``."""
        return {"color": self.color, "marker": self.marker, "linestyle": self.dash}

    @property
    def point(self) -> dict[str, Any]:
        """For markers alone."""
        return {"color": self.color, "marker": self.marker}


def policy_looks(specs: Iterable[str]) -> list[Look]:
    """The look of every policy of a figure, by its name and settings, e.g. ``trace-ucb:width=2``.

    A policy looks the same in every figure. Only where two of one figure would look the same, as can
    happen among settings of one policy and among policies of one's own, the later one gives way.

    Examples
    --------
    >>> gain, ours = policy_looks(["trace-gain", "my-policy"])
    >>> gain == policy_looks(["uniform", "trace-gain"])[1], gain.color != ours.color
    (True, True)
    """
    found: list[Look] = []
    for spec in specs:
        looks = list(_candidates(spec))
        found.append(next((look for look in looks if look not in found), looks[0]))
    return found


def _candidates(spec: str) -> Iterator[Look]:
    """Looks in the order in which a policy takes them."""
    name, _, rest = spec.partition(":")
    settings = ":".join(part for part in rest.split(":") if part and not part.startswith(_FACTS))
    if name in _POLICIES:
        bases: tuple[tuple[str, str, str, int], ...] = (_POLICIES[name],)
    else:
        start = crc32(name.encode()) % len(_SPARE)
        bases = (*_SPARE[start:], *_SPARE[:start])
    variants = _SHADES * len(_DASHES)
    if settings:
        first = 1 + crc32(settings.encode()) % (variants - 1)
        order = [*range(first, variants), *range(1, first), 0]
        yield from (_variant(base, variant) for base, variant in product(bases, order))
    else:
        yield from (_variant(base, variant) for variant, base in product(range(variants), bases))


def _variant(base: tuple[str, str, str, int], variant: int) -> Look:
    light, dark, marker, dash = base
    shades = _shades(light, dark)
    color, twin = shades[variant % _SHADES]
    text = light if light == INK else shades[1][0]
    return Look(color, twin, marker, _DASHES[(dash + variant) % len(_DASHES)], text)


def _shades(light: str, dark: str) -> list[tuple[str, str]]:
    """The colour, a stronger and a weaker shade, each with its twin."""
    strong = _mixed(light, "#000000", 0.4) if _brightness(light) > 60 else _mixed(light, PAPER, 0.25)
    bright = _mixed(dark, PAPER, 0.5) if _brightness(dark) < 215 else _mixed(dark, _DARK_PAPER, 0.25)
    return [
        (light, dark),
        (strong, bright),
        (_mixed(light, PAPER, 0.4), _mixed(dark, _DARK_PAPER, 0.4)),
    ]


def _mixed(color: str, other: str, share: float) -> str:
    return "#" + "".join(
        f"{round((1.0 - share) * int(color[i : i + 2], 16) + share * int(other[i : i + 2], 16)):02x}"
        for i in (1, 3, 5)
    )


def _brightness(color: str) -> float:
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return 0.3 * red + 0.59 * green + 0.11 * blue


def _twins() -> dict[str, str]:
    found = {PAPER: _DARK_PAPER, INK: "#e4e8ec", QUIET: "#9aa5b0", GRID: "#2a3037", STRIPE: "#1c2127"}
    found |= _SERIES
    for light, dark, _, _ in (*_POLICIES.values(), *_SPARE):
        for shade, twin in _shades(light, dark):
            found.setdefault(shade, twin)
    return found


DARK = _twins()
"""The dark twin of every colour that figures are drawn in."""


def dark_rules(svg: str) -> str:
    """A style sheet that shows a drawing of matplotlib's in dark colours where the reader wants them.

    The drawing keeps its own colours for programs that know no style sheets, and for paper. Rules name no
    parents: those of a marker that is drawn again and again are not seen from inside it.

    >>> print(dark_rules('<path style="stroke: #1d2329"/>'))
    @media screen and (prefers-color-scheme: dark) {
      [style*="stroke: #1d2329"] { stroke: #e4e8ec !important; }
    }
    """
    rules = [
        f'  [style*="{what}: {light}"] {{ {what}: {dark} !important; }}'
        for light, dark in DARK.items()
        for what in ("fill", "stroke")
        if f"{what}: {light}" in svg
    ]
    return "\n".join(["@media screen and (prefers-color-scheme: dark) {", *rules, "}"])
