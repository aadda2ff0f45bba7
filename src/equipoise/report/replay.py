"""The report of a replay: what policies reached on a table, what they saved, and the table itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from equipoise.core.estimates.estimators import estimator_words
from equipoise.extras import is_installed
from equipoise.lab.replay import ReplayResult, ReplayScenario
from equipoise.lab.results.words import loss_words
from equipoise.report.document import Block, Code, Report, Section, Table, Text
from equipoise.report.numbers import change, counted, with_error
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

_CENTER = {
    "intercept": "every arm learns an intercept of its own from the outcomes it has read",
    "table": "contexts and targets are centred by the whole table, held-out outcomes included",
    "none": "columns are used as they are",
}
_MOMENT = {"table": "told to policies, from the whole table", "online": "learned from the contexts met"}


def replay_report(
    results: Sequence[ReplayResult], *, title: str = "Replay report", again: str | None = None
) -> Report:
    """Tables, figures and settings of a replay at one budget or several."""
    first = results[0]
    table = first.table
    sections = [Section("The table", _table(table))]
    if len(results) > 1:
        sections.append(Section("By budget", _by_budget(results)))
    for result in results:
        where = f"{result.table.budget:,} units: " if len(results) > 1 else ""
        sections += _sections(result, where)
    budgets = ", ".join(f"{result.table.budget:,}" for result in results)
    return Report(
        title=title,
        subtitle=f"{table.table} · {counted(table.rows, 'row', 'rows')} · "
        f"{counted(len(table.targets), 'arm', 'arms')} · {counted(table.dim, 'feature', 'features')} · "
        f"{budgets} units · {counted(first.trials, 'trial', 'trials')}",
        headline=replay_headline(results),
        summary=" ".join(replay_summary(result) for result in results),
        sections=sections,
        settings={
            "equipoise": first.version,
            "table": f"{table.table}, hash {table.digest}",
            "seed": str(first.seed),
            "trials": f"{first.trials:,} of every policy, on the same rows in the same order",
            "policies": "\n".join(policy.spec for policy in first.policies.values()),
            "objective": objective_words(first),
            "centring": _CENTER[table.center],
            "Σ": _MOMENT[table.moment],
            "final models": estimator_words(table.estimator, table.ridge),
            "errors after ±": "one standard error over trials",
            "unit of losses": "squared units of the targets, on rows that no policy saw",
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
            return (
                f"{best} reaches with {last.table.budget:,} units what uniform sampling needs "
                f"{with_error(saved.uniform_budget)} for: it saves {with_error(saved.saved)} units."
            )
    return headline(last)


def replay_summary(result: ReplayResult) -> str:
    """What was reached with how many units, in words."""
    first, *others = result.policies
    base = result[first].median_max()
    loss = f"a {loss_words('median_max')} of {with_error(base)}"
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
    if len(result.policies) > 1:
        found["Paired differences"] = difference_blocks(result)
    found["Units an arm"] = pull_blocks(result)
    found["Spread over trials"] = spread_blocks(result)
    return [Section(f"{where}{title.lower()}" if where else title, blocks) for title, blocks in found.items()]


def _saved(result: ReplayResult) -> list[Block]:
    rows = [[name, str(saved), with_error(saved.uniform_budget)] for name, saved in result.saved.items()]
    return [Text(saved_text(result)), Table(["policy", "units saved", "uniform would need"], rows)]


def _table(table: ReplayScenario) -> list[Block]:
    used = counted(len(table.contexts), "context column", "context columns")
    text = f"{counted(table.rows, 'complete row', 'complete rows')}, {used}"
    if table.dropped:
        text += f"; {counted(table.dropped, 'row', 'rows')} with a missing cell left out"
    text += ". "
    if table.redundant:
        text += (
            f"Left out, as they are combinations of other columns: {', '.join(table.redundant)}. "
            "Predictions lose nothing by that. "
        )
    text += "Noise is what the best linear model on the whole table leaves of each target."
    noise = table.noise
    rows = [[name, f"{value:.4g}"] for name, value in zip(table.targets, noise, strict=True)]
    return [Text(text), Table(["target", "noise σ²"], rows)]


def _by_budget(results: Sequence[ReplayResult]) -> list[Block]:
    names = list(results[0].policies)
    rows = [
        [f"{result.table.budget:,}", *(with_error(result[name].median_max()) for name in names)]
        for result in results
    ]
    blocks: list[Block] = [
        Text(f"The {loss_words('median_max')}: the median over trials of the worst arm's error."),
        Table(["units", *names], rows),
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
    for result in results:
        arguments = {"budget": result.table.budget, **_arguments(first)}
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
    if result.columns:
        found |= {"contexts": list(result.columns), "targets": list(table.targets)}
        if set(result.columns) != {*table.contexts, *table.redundant}:
            found["one_hot"] = True
    found |= {"moment": table.moment, "center": table.center}
    if table.objective != "max":
        found["objective"] = table.objective
    if table.weights is not None:
        found["weights"] = dict(zip(table.targets, table.weights, strict=True))
    if result.file is None or table.table != Path(result.file).name:
        found["name"] = table.table
    return {**found, "trials": result.trials, "seed": result.seed}
