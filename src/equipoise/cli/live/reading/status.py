"""``equipoise status``: how an experiment stands."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import click

from equipoise.cli.live.common.arguments import experiment_argument, reading_options
from equipoise.cli.live.common.opening import opened
from equipoise.cli.live.common.times import in_words, shown
from equipoise.cli.terminal import counted, new_table, output, print_json, print_table

_NONE = "–"


@click.command("status", short_help="How an experiment stands.")
@experiment_argument
@reading_options
def command(name: str, store: str, as_json: bool) -> None:
    """How the experiment NAME stands: units, arms, errors against the budget so far, regret to the oracle."""
    from equipoise.cli.live.reading.standing import standing_of

    with opened(name, store) as experiment:
        facts = standing_of(experiment)
    if as_json:
        print_json(facts)
        return
    _print_heading(facts)
    _print_arms(facts)
    _print_course(facts)
    _print_end(facts)


def _print_heading(facts: dict[str, Any]) -> None:
    console, units = output(), facts["units"]
    practice = " (practice)" if facts["mode"] == "practice" else ""
    state = "paused" if facts["paused"] else "complete" if units["remaining"] == 0 else "running"
    console.print(f"{facts['experiment']}{practice}: {state}", style="bold")
    money = "" if facts["budget"] == units["asked"] + units["remaining"] else (
        f"; {facts['spent']:.10g} of {facts['budget']:.10g} spent"
    )  # fmt: skip
    console.print(f"{counted(units['asked'], 'unit')} assigned, {units['remaining']:,} left{money}")
    words = [f"{units['told']:,} told", f"{units['pending']:,} pending"]
    if facts["deadline_seconds"] is not None:
        limit = in_words(timedelta(seconds=facts["deadline_seconds"]))
        words.append(f"{units['overdue']:,} of them overdue (after {limit})")
    words += [f"{units[word]:,} {word}" for word in ("lost", "withdrawn", "redacted") if units[word]]
    console.print(", ".join(words))
    if facts["closed_arms"]:
        console.print(f"Closed: {', '.join(facts['closed_arms'])}")
    console.print()


def _print_arms(facts: dict[str, Any]) -> None:
    table = new_table(
        "arm", "units", "told", "pending", "noise", "95 %\ninterval", "expected\nerror", "at most\n(95 %)"
    )
    for arm in facts["arms"]:
        low, high = arm["noise_interval"] or (None, None)
        interval = _NONE if low is None or high is None else f"{low:.2g} – {high:.2g}"
        late = f" ({arm['overdue']} late)" if arm["overdue"] else ""
        table.add_row(
            arm["arm"] if arm["open"] else f"{arm['arm']} (closed)",
            f"{arm['assigned']:,}",
            f"{arm['told']:,}",
            f"{arm['pending']:,}{late}",
            _number(arm["noise"]),
            interval,
            _number(arm["expected_error"]),
            _number(arm["error_bound"]),
        )
    unit = f", outcomes in {facts['outcome_unit']}" if facts["outcome_unit"] else ""
    print_table(table, title=f"Arms as treated: noise variances and squared errors{unit}")
    if facts["caution"]:
        output().print(f"Warning: {facts['caution']}.\n", soft_wrap=True, markup=False)


def _print_course(facts: dict[str, Any]) -> None:
    console = output()
    if not facts["course"]:
        console.print("Errors are known once every arm has enough outcomes.\n")
        return
    table = new_table("after", "expected error", "oracle", "regret")
    for point in facts["course"]:
        table.add_row(
            counted(point["units"], "unit"),
            _number(point["error"]),
            _number(point["oracle"]),
            _number(point["regret"]),
        )
    print_table(table, title=f"Error against the budget so far ({_goal(facts['objective'])})")
    console.print(
        "Of least squares, with today's noise estimates for the truth. The oracle is the best fixed split of "
        "as many units by one who knows the noise; a regret below 0 is better than that."
    )
    console.print()


def _print_end(facts: dict[str, Any]) -> None:
    console, head = output(), facts["head"]
    created, updated = (shown(datetime.fromisoformat(facts[name])) for name in ("created", "updated"))
    for line in (
        f"Rule      {facts['policy']}, seed {facts['seed']}",
        f"Store     {facts['store']}",
        f"Begun     {created}, last change {updated}",
        f"Log       {counted(head['sequence'], 'row')}, epoch {head['epoch']}",
        f"Head      {head['hash']}",
    ):
        console.print(line, soft_wrap=True)


def _goal(objective: Any) -> str:
    if isinstance(objective, str):
        return {"max": "worst arm", "mean": "mean of the arms"}[objective]
    return f"{objective:g}-norm of the arms"


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:.3g}"
