"""The report of a replay: what policies reached on a table, what they saved, and the table itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from equipoise.core.estimates.estimators import estimator_words
from equipoise.extras import is_installed
from equipoise.lab.replay import ReplayResult
from equipoise.lab.replay.result import NOT_ASKED
from equipoise.lab.replay.scale import NOTABLE, ratio_words, spread_ratio
from equipoise.lab.results.words import loss_words
from equipoise.report.document import Block, Code, Report, Section, Table, Text
from equipoise.report.numbers import change, with_error
from equipoise.report.simulation import (
    FEW_TRIALS,
    difference_blocks,
    headline,
    is_told,
    loss_blocks,
    objective_words,
    pull_blocks,
    spread_blocks,
)
from equipoise.words import counted

_CENTER = {
    "intercept": "every arm learns an intercept of its own from the outcomes it has read",
    "table": "contexts and targets are centred by the whole table, held-out outcomes included",
    "none": "columns are used as they are",
}
_SCALE = {
    "targets": "each divided by its standard deviation in the whole table, for policies and losses alike",
    "none": "as they are",
}
_MOMENT = {"table": "told to policies, from the whole table", "online": "learned from the contexts met"}


def replay_report(
    results: Sequence[ReplayResult], *, title: str = "Replay report", again: str | None = None
) -> Report:
    """Tables, figures and settings of a replay at one budget or several."""
    first = results[0]
    table = first.table
    sections = [Section("The table", _table(first))]
    if len(results) > 1:
        sections.append(Section("By budget", _by_budget(results)))
    for result in results:
        where = f"{result.table.budget:,} units: " if len(results) > 1 else ""
        sections += _sections(result, where)
    budgets = ", ".join(f"{result.table.budget:,}" for result in results)
    return Report(
        title=title,
        subtitle=f"{table.table} · {counted(table.rows, 'row')} · "
        f"{counted(len(table.targets), 'arm')} · {counted(table.dim, 'feature')} · "
        f"{budgets} units · {counted(first.trials, 'trial')}",
        headline=replay_headline(results),
        summary=" ".join(
            text
            for result in results
            for text in (replay_summary(result), result.caution)
            if text is not None
        ),
        sections=sections,
        settings={
            "equipoise": first.version,
            "table": f"{table.table}, hash {table.digest}",
            "seed": str(first.seed),
            "trials": f"{first.trials:,} of every policy, on the same rows in the same order",
            "policies": "\n".join(policy.spec for policy in first.policies.values()),
            "objective": objective_words(first),
            "targets": _SCALE[table.scale],
            "rows": table.split_words or "dealt one by one; those that were not dealt measure errors",
            "centring": _CENTER[table.center],
            "Σ": _MOMENT[table.moment],
            "final models": estimator_words(table.estimator, table.ridge),
            "errors after ±": "one standard error over trials",
            "unit of losses": f"{first.unit}, on rows that no policy saw",
        },
        again=_again(results, again),
        metadata={**first.metadata, "budgets": [result.table.budget for result in results]},
    )


def replay_headline(results: Sequence[ReplayResult]) -> str:
    """The number that matters: units saved at the largest budget, or what was gained there."""
    last = max(results, key=lambda result: result.table.budget)
    known = {name: saved for name, saved in last.saved.items() if saved.limit is None and not is_told(name)}
    if known and last.trials >= FEW_TRIALS:
        best = max(known, key=lambda name: known[name].saved.value)
        saved = known[best]
        if saved.saved.value > 2.0 * saved.saved.stderr:
            text = (
                f"{best} reaches with {last.table.budget:,} units what uniform sampling needs "
                f"{with_error(saved.uniform_budget)} for: it saves {with_error(saved.saved)} units"
            )
            return f"{text}." if last.caution is None else f"{text}, on models that are not worth having yet."
    return headline(last)


def replay_summary(result: ReplayResult) -> str:
    """What was reached with how many units, in words."""
    first, *others = result.policies
    base = result[first].median_max()
    share = " of a target's variance" if result.table.scale == "targets" else ""
    loss = f"a {loss_words('median_max')} of {with_error(base)}{share}"
    text = f"With {result.table.budget:,} units, {first} reached {loss}"
    parts = []
    for name in others:
        own = result[name].median_max()
        part = f"{name} {with_error(own)}, {change(own.value, base.value)} it"
        if name in result.saved:
            saved = result.saved[name]
            part += f" (units saved: {saved})"
        parts.append(part)
    return "; ".join([text, *parts]) + "."


def saved_text(result: ReplayResult) -> str:
    """What "units saved" means here."""
    loss = loss_words(next(iter(result.saved.values())).loss)
    return (
        f"The budget with which uniform sampling reaches a policy's {loss}, minus the policy's budget. "
        "Uniform sampling was replayed at further budgets; between two of them the loss is taken to follow a "
        "power of the budget."
    )


def _sections(result: ReplayResult, where: str) -> list[Section]:
    found = {"Losses": loss_blocks(result)}
    if result.saved:
        found["Units saved"] = _saved(result)
    elif result.unsaved != NOT_ASKED:
        found["Units saved"] = [Text(f"Units saved cannot be said: {result.unsaved}.")]
    found["Every target"] = _by_target(result)
    if len(result.policies) > 1:
        found["Paired differences"] = difference_blocks(result)
    found["Units an arm"] = pull_blocks(result)
    found["Spread over trials"] = spread_blocks(result)
    return [Section(f"{where}{title.lower()}" if where else title, blocks) for title, blocks in found.items()]


def _saved(result: ReplayResult) -> list[Block]:
    rows = [[name, str(saved), with_error(saved.uniform_budget)] for name, saved in result.saved.items()]
    return [Text(saved_text(result)), Table(["policy", "units saved", "uniform would need"], rows)]


def _by_target(result: ReplayResult) -> list[Block]:
    table = result.table
    found = {(row["policy"], row["target"]): row for row in result.by_target()}
    rows = []
    for target in table.targets:
        own = [found[name, target] for name in result.policies]
        rows.append([target, *(f"{100 * row['share']:.3g} % ({row['rmse']:.3g})" for row in own)])
    text = (
        "Mean error of every target on held-out rows as a share of its variance (100 % is what guessing the "
        "mean leaves), and its root in the target's own unit."
    )
    return [Text(text), Table(["target", *result.policies], rows)]


def _table(result: ReplayResult) -> list[Block]:
    table = result.table
    used = counted(len(table.contexts), "context column")
    text = f"{counted(table.rows, 'complete row')}, {used}: {', '.join(table.contexts)}. "
    text += " ".join(table.notes)
    blocks: list[Block] = [Text(text)]
    if table.redundant:
        blocks.append(
            Text(
                f"Left out, as they are combinations of other columns: {', '.join(table.redundant)}. "
                "Predictions lose nothing by that."
            )
        )
    if table.split_words is not None:
        blocks.append(Text(table.split_words))
    if spread_ratio(table.spreads) > NOTABLE and table.scale == "targets":
        ratio = ratio_words(table.targets, table.spreads)
        blocks.append(Text(f"{ratio[:1].upper()}{ratio[1:]}: errors are {result.unit}."))
    if result.warning is not None:
        blocks.append(Text(f"Warning: {result.warning}"))
    unit = "share of the variance" if table.scale == "targets" else "variance"
    blocks.append(
        Text(f"Noise is the {unit} that the best linear model on the whole table leaves of a target.")
    )
    columns = zip(table.targets, table.spreads, table.noise, strict=True)
    rows = [[name, f"{spread:.4g}", f"{noise:.4g}"] for name, spread, noise in columns]
    return [*blocks, Table(["target", "standard deviation", "noise σ²"], rows)]


def _by_budget(results: Sequence[ReplayResult]) -> list[Block]:
    names = list(results[0].policies)
    saving = [name for name in names if any(name in result.saved for result in results)]
    rows = [
        [
            f"{result.table.budget:,}",
            *(with_error(result[name].median_max()) for name in names),
            *(str(result.saved[name]) if name in result.saved else "–" for name in saving),
        ]
        for result in results
    ]
    text = f"The {loss_words('median_max')}, in {results[0].unit}."
    for result in results:
        if saving and result.unsaved is not None:
            text += f" Units saved with {result.table.budget:,} units cannot be said: {result.unsaved}."
    blocks: list[Block] = [
        Text(text),
        Table(["units", *names, *(f"saved by {name}" for name in saving)], rows),
    ]
    if is_installed("matplotlib"):
        from equipoise.report.replay_figures import budgets_figure

        blocks.append(budgets_figure(results))
    return blocks


def _again(results: Sequence[ReplayResult], command: str | None) -> list[Code]:
    first, table = results[0], results[0].table
    policies = [policy.spec for policy in first.policies.values()]
    lines = ["import equipoise as eq", ""]
    if first.file is None:
        lines.append(f"data = ...  # put the table {table.table!r} here, hash {table.digest}")
    data = "data" if first.file is None else repr(first.file)
    budgets = [result.table.budget for result in results]
    arguments = {"budget": budgets[0] if len(budgets) == 1 else budgets, **_arguments(first)}
    named = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    lines.append(f"result = eq.replay({data}, {policies!r}, {named})")
    blocks = [Code("\n".join(lines), "In Python:")]
    if command is not None:
        blocks.insert(0, Code(command, "In a terminal:"))
    return blocks


def _arguments(result: ReplayResult) -> dict[str, object]:
    """What ``eq.replay`` was told besides the budget, defaults of the rarer settings left out."""
    table = result.table
    found: dict[str, object] = {}
    found |= {**result.reading, "scale": table.scale, "moment": table.moment, "center": table.center}
    if table.objective != "max":
        found["objective"] = table.objective
    if table.weights is not None:
        found["weights"] = dict(zip(table.targets, table.weights, strict=True))
    if result.file is None or table.table != Path(result.file).name:
        found["name"] = table.table
    return {**found, "trials": result.trials, "seed": result.seed}
