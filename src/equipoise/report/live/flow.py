"""The flow of units: how many were assigned to every arm, and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from equipoise.report.document import Block, Figure, Table, Text
from equipoise.report.experiment_models import MOST_ARMS, further
from equipoise.report.live.history import LOST, PENDING, TOLD, WITHDRAWN, History, UnitPath
from equipoise.report.numbers import shortened
from equipoise.studies.colours import INK, PAPER, QUIET, STRIPE
from equipoise.words import counted, lasting

_MOST_DRAWN, _MOST_COLUMNS = 6, 5


def flow_blocks(history: History, arms: Sequence[str]) -> list[Block]:
    """A diagram of few arms, and a table."""
    units = history.units
    if not units:
        return [Text("No unit has been assigned yet.")]
    assigned = {arm: [unit for unit in units if unit.assigned == arm] for arm in arms}
    got = {arm: [unit for unit in units if unit.arm == arm] for arm in arms}
    erased = sum(unit.assigned is None for unit in units)
    text = (
        "Every unit that was assigned, by the arm that it was assigned to. The last line is by the arm that "
        "units received, which is how estimates count them."
    )
    if history.overdue is not None:
        assert history.deadline is not None
        text += f" Overdue is an outcome that has not come within {lasting(history.deadline)}."
    if any(unit.redacted for unit in units):
        text += (
            " A redacted unit is counted as redacted and as nothing else; its outcome, if it counted, stays "
            "in the models by frozen sums."
        )
    if erased:
        text += f" Of {counted(erased, 'unit')} whose data were erased the arm is not known here."
    blocks: list[Block] = [Text(text + further(len(arms) - MOST_ARMS, "arm"))]
    if len(arms) <= _MOST_DRAWN:
        blocks.append(_figure(history, arms, assigned, got))
    return [*blocks, _table(history, arms, assigned, got)]


def _lines(history: History) -> list[tuple[str, Callable[[UnitPath], bool]]]:
    """What units are counted by, those that never occur left out."""
    late = history.overdue or frozenset()
    lines: list[tuple[str, Callable[[UnitPath], bool], bool]] = [
        ("assigned", lambda unit: True, True),
        ("by the rule", lambda unit: unit.rule is None, False),
        ("arm given by a person", lambda unit: unit.rule is not None, False),
        ("some arms not allowed", lambda unit: unit.restricted, False),
        ("received another arm", lambda unit: unit.received is not None, False),
        ("outcome known", lambda unit: unit.status == TOLD, True),
        ("outcome corrected", lambda unit: unit.corrections > 0, False),
        ("outcome awaited", lambda unit: unit.status == PENDING, True),
        ("of these overdue", lambda unit: unit.status == PENDING and unit.id in late, False),
        ("lost", lambda unit: unit.status == LOST, True),
        ("withdrawn", lambda unit: unit.status == WITHDRAWN, True),
        ("redacted", lambda unit: unit.redacted, False),
        ("of these in the models", lambda unit: unit.kept, False),
    ]
    persons = any(unit.rule is not None for unit in history.units)
    return [
        (words, holds)
        for words, holds, always in lines
        if always
        or (words == "by the rule" and persons)
        or (words != "by the rule" and any(map(holds, history.units)))
        or (words == "of these overdue" and history.overdue is not None)
    ]


def _table(
    history: History,
    arms: Sequence[str],
    assigned: dict[str, list[UnitPath]],
    got: dict[str, list[UnitPath]],
) -> Table:
    shown = list(arms[:MOST_ARMS])
    lines = _lines(history)
    groups = [list(history.units), *(assigned[arm] for arm in shown)]
    cells = [[str(sum(map(holds, group))) for _, holds in lines] for group in groups]
    treated = [list(history.units), *(got[arm] for arm in shown)]
    known = [str(sum(unit.counts for unit in group)) for group in treated]
    cells = [[*row, last] for row, last in zip(cells, known, strict=True)]
    words = [*(words for words, _ in lines), "outcomes of those who got the arm"]
    names = ["all arms", *shown]
    if len(shown) > _MOST_COLUMNS:
        return Table(["arm", *words], [[name, *row] for name, row in zip(names, cells, strict=True)])
    rows = [[word, *(row[k] for row in cells)] for k, word in enumerate(words)]
    return Table(["units", *(shortened(name) for name in names)], rows)


# The diagram: a box of all units, and below it a column an arm. Lengths are in points.
_WIDTH, _GAP, _LINE, _PAD = 152.0, 16.0, 13.0, 8.0
_FONT = "system-ui, 'Segoe UI', Roboto, Arial, sans-serif"


def _figure(
    history: History,
    arms: Sequence[str],
    assigned: dict[str, list[UnitPath]],
    got: dict[str, list[UnitPath]],
) -> Figure:
    columns = [_column(history, arm, assigned[arm], got[arm]) for arm in arms]
    width = max(len(arms) * (_WIDTH + _GAP) - _GAP, 1.6 * _WIDTH)
    left = 0.5 * (width - len(arms) * (_WIDTH + _GAP) + _GAP)
    units, persons = len(history.units), sum(unit.rule is not None for unit in history.units)
    first = [f"{counted(units, 'unit')} assigned"]
    first += [f"{persons} of them by a person"] if persons else []
    drawn, top = [_box(0.5 * (width - 1.2 * _WIDTH), 0.5, 1.2 * _WIDTH, first)], _height(first)
    rail = top + 14.0
    drawn.append(_line(0.5 * width, top, 0.5 * width, rail))
    middles = [left + k * (_WIDTH + _GAP) + 0.5 * _WIDTH for k in range(len(arms))]
    if len(arms) > 1:
        drawn.append(_line(middles[0], rail, middles[-1], rail))
    level = rail
    for stage in range(3):
        tallest = max(_height(column[stage]) for column in columns)
        for middle, column in zip(middles, columns, strict=True):
            drawn.append(_line(middle, level, middle, level + 14.0, arrow=True))
            start = middle - 0.5 * _WIDTH
            drawn.append(_box(start, level + 14.0, _WIDTH, column[stage], tallest, aside=stage == 1))
        level += 14.0 + tallest
    height = level + 1.0
    svg = (
        f'<svg width="{width:.1f}pt" height="{height:.1f}pt" viewBox="0 0 {width:.1f} {height:.1f}">'
        + "".join(drawn)
        + "</svg>"
    )
    spoken = "; ".join(
        f"{arm}: {', '.join([*column[0][1:], *column[1], *column[2]])}"
        for arm, column in zip(arms, columns, strict=True)
    )
    return Figure(
        svg,
        "Flow of units, from assignment to estimates.",
        f"{' '.join(first)}. {spoken}.",
        wide=len(arms) > 3,
    )


def _column(
    history: History, arm: str, assigned: Sequence[UnitPath], got: Sequence[UnitPath]
) -> list[list[str]]:
    """Lines of an arm's three boxes: assigned, not in the estimates, in the estimates."""
    late = history.overdue or frozenset()
    pending = [unit for unit in assigned if unit.status == PENDING]
    awaited = f"{len(pending)} awaited"
    if history.overdue is not None:
        awaited += f", {sum(unit.id in late for unit in pending)} overdue"
    out = [
        awaited,
        f"{sum(unit.status == LOST for unit in assigned)} lost",
        f"{sum(unit.status == WITHDRAWN for unit in assigned)} withdrawn",
    ]
    gone = sum(unit.redacted and not unit.kept for unit in assigned)
    out += [f"{gone} redacted"] if gone else []
    left = sum(unit.received is not None and unit.counts for unit in assigned)
    joined = sum(unit.received is not None and unit.counts for unit in got)
    out += [f"{left} got another arm"] if left else []
    known = sum(unit.counts for unit in got)
    last = [counted(known, "outcome"), "in the model"]
    last += [f"{joined} assigned elsewhere"] if joined else []
    kept = sum(unit.kept for unit in got)
    last += [f"{kept} redacted since"] if kept else []
    persons = sum(unit.rule is not None for unit in assigned)
    first = [shortened(arm, 20), f"{len(assigned)} assigned"] + (
        [f"{persons} by a person"] if persons else []
    )
    return [first, out, last]


def _height(lines: Sequence[str]) -> float:
    return 2.0 * _PAD + _LINE * len(lines) - 3.0


def _box(
    x: float,
    y: float,
    width: float,
    lines: Sequence[str],
    height: float | None = None,
    *,
    aside: bool = False,
) -> str:
    tall = _height(lines) if height is None else height
    fill = STRIPE if aside else PAPER
    dash = "; stroke-dasharray: 3 2" if aside else ""
    parts = [
        f'<rect x="{x + 0.5:.1f}" y="{y:.1f}" width="{width - 1.0:.1f}" height="{tall:.1f}" rx="3" '
        f'style="fill: {fill}; stroke: {QUIET}; stroke-width: 0.8{dash}"/>'
    ]
    for k, line in enumerate(lines):
        weight = "600 " if k == 0 and not aside else ""
        parts.append(
            f'<text x="{x + 0.5 * width:.1f}" y="{y + _PAD + 8.0 + _LINE * k:.1f}" text-anchor="middle" '
            f'style="fill: {INK}; font: {weight}10px {_FONT}">{escape(line)}</text>'
        )
    return "".join(parts)


def _line(x: float, y: float, to_x: float, to_y: float, *, arrow: bool = False) -> str:
    style = f"fill: none; stroke: {QUIET}; stroke-width: 0.8"
    drawn = f'<path d="M {x:.1f} {y:.1f} L {to_x:.1f} {to_y:.1f}" style="{style}"/>'
    if arrow:
        tip = f"M {to_x - 3:.1f} {to_y - 5:.1f} L {to_x:.1f} {to_y - 0.5:.1f} L {to_x + 3:.1f} {to_y - 5:.1f}"
        drawn += f'<path d="{tip}" style="{style}"/>'
    return drawn
