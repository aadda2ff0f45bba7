"""The report of a sweep: a figure and a table a loss, and how policies differ at every point."""

from __future__ import annotations

import shlex
from typing import Any

from equipoise.extras import is_installed
from equipoise.lab.results.words import LOSSES, explained_losses, loss_words
from equipoise.report.document import Block, Code, Figure, Report, Section, Table, Text
from equipoise.report.numbers import change, with_error
from equipoise.studies.sweep import SweepResult
from equipoise.words import counted

# Longer tables are for the files beside the report.
_MOST_ROWS = 400


def sweep_report(
    result: SweepResult, *, title: str = "Sweep report", loss: str | None = None, again: str | None = None
) -> Report:
    """Figures, tables and settings of ``result``; ``loss`` comes first."""
    first = result.loss if loss is None else loss
    losses = [first, *(other for other in LOSSES if other != first)]
    sections = [Section(_heading(loss_words(name)), _loss_blocks(result, name)) for name in losses]
    if len(result.policies) > 1:
        sections.append(Section("Paired differences", _difference_blocks(result)))
    axes = {f"values of {name}": ", ".join(map(str, values)) for name, values in result.axes.items()}
    return Report(
        title=title,
        subtitle=f"{' against '.join(result.axes)} · {counted(len(result), 'point')} · "
        f"{counted(len(result.policies), 'policy', 'policies')} · "
        f"{counted(result.trials, 'trial')} each",
        summary=_summary(result, first),
        sections=sections,
        settings={
            "equipoise": result.version,
            "seed": str(result.seed),
            "trials": f"{result.trials:,} of every policy at every point, on common random numbers",
            "policies": "\n".join(result.policies),
            **axes,
            "axes": "joined, value by value" if result.joined else "a grid",
            "errors after ±": "one standard error over trials",
            "unit of losses": "squared units of the outcome",
        },
        again=_again(result, again),
        metadata=result.metadata,
    )


def _summary(result: SweepResult, loss: str) -> str:
    """How the first and the best policy compare at both ends."""
    from equipoise.studies.sweep.points import place_words
    from equipoise.studies.sweep.result import loss_at

    sentences = []
    base = result.policies[0]
    for place in dict.fromkeys((0, len(result) - 1)):
        own = {policy: loss_at(result.results[place], policy, loss) for policy in result.policies}
        best = min(own, key=lambda policy: own[policy].value)
        where = place_words(result.places[place])
        text = f"At {where} the {loss_words(loss)} is {with_error(own[base])} with {base}"
        if best != base:
            compared = change(own[best].value, own[base].value)
            text += f" and smallest with {best}: {with_error(own[best])}, {compared} {base}"
            close = [other for other in own if _is_close(result, place, other, best, loss)]
            text += f"; {' and '.join(close)} within two standard errors of it" if close else ""
        sentences.append(f"{text}.")
    return " ".join(sentences)


def _is_close(result: SweepResult, place: int, policy: str, best: str, loss: str) -> bool:
    """Whether a policy is not clearly behind the best one; paired, where that is possible."""
    if policy == best or loss not in LOSSES:
        return False
    behind = result.results[place].difference(policy, best, loss)
    return not behind.value > 2.0 * behind.stderr


def _loss_blocks(result: SweepResult, loss: str) -> list[Block]:
    from equipoise.studies.sweep.result import loss_at

    rows = [
        [*map(str, at.values()), *(with_error(loss_at(found, policy, loss)) for policy in result.policies)]
        for at, found in result
    ]
    table = Table([*result.axes, *result.policies], rows[:_MOST_ROWS], text_columns=len(result.axes))
    blocks: list[Block] = [table]
    if is_installed("matplotlib"):
        blocks.insert(0, _figure(result, loss))
    else:
        blocks.append(Text("Figures need matplotlib: pip install 'equipoise[plot]'."))
    if loss == result.loss:
        blocks.append(Text(explained_losses()))
    if len(rows) > _MOST_ROWS:
        blocks.append(Text(f"{len(rows) - _MOST_ROWS} further points are in the files beside this report."))
    return blocks


def _figure(result: SweepResult, loss: str) -> Figure:
    from equipoise.report.figures import figure_from
    from equipoise.studies.sweep.drawing import spoken

    canvas = result.figure(loss)
    return figure_from(
        canvas,
        caption=f"{_heading(loss_words(loss))} of every policy. Bands and bars reach two standard errors.",
        description=spoken(result, loss),
        wide=len([axes for axes in canvas.axes if axes.get_visible()]) > 1,
    )


def _difference_blocks(result: SweepResult) -> list[Block]:
    first, *others = result.policies
    rows = [
        [
            *map(str, at.values()),
            policy,
            *(with_error(found.difference(policy, first, loss)) for loss in LOSSES),
        ]
        for at, found in result
        for policy in others
    ]
    text = (
        f"Every policy minus {first}, trial by trial: all met the same units. "
        "The errors are those of the differences. Below zero is better."
    )
    columns = [*result.axes, "policy", *map(loss_words, LOSSES)]
    return [Text(text), Table(columns, rows[:_MOST_ROWS], text_columns=len(result.axes) + 1)]


def _again(result: SweepResult, command: str | None) -> list[Code]:
    axes = {name: list(values) for name, values in result.axes.items()}
    joined = ", joined=True" if result.joined else ""
    python = (
        "from pathlib import Path\n\nimport equipoise as eq\n\n"
        'scenario = eq.Scenario.from_toml(Path("scenario.toml").read_text())\n'
        f"result = eq.sweep(scenario, policies={list(result.policies)!r}, trials={result.trials}, "
        f"seed={result.seed}{joined}, **{axes!r})\n"
    )
    blocks = [Code(result.scenario.to_toml().strip(), "The scenario, scenario.toml:")]
    # Values that are words here, such as pieces, are objects in Python.
    if all(_is_plain(value) for values in result.axes.values() for value in values):
        blocks.append(Code(python.strip(), "In Python:"))
    if command is not None:
        blocks.insert(0, Code(command, "In a terminal:"))
    return blocks


def _is_plain(value: Any) -> bool:
    return not isinstance(value, str) or shlex.quote(value) == value


def _heading(words: str) -> str:
    return words[0].upper() + words[1:]
