"""``equipoise status``: how an experiment stands."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import click

from equipoise.cli.live.common.arguments import experiment_argument, reading_options, show_seed_option
from equipoise.cli.live.common.opening import opened
from equipoise.cli.live.common.times import shown
from equipoise.cli.terminal import new_table, output, print_json, print_table
from equipoise.words import counted, lasting

_NOT_YET = "not yet"
# An upper end this many times the estimate tells nobody anything; --json has it all the same.
_WIDEST = 100.0


@click.command("status", short_help="How an experiment stands.")
@experiment_argument
@show_seed_option
@reading_options
def command(name: str, show_seed: bool, store: str, as_json: bool) -> None:
    """How the experiment NAME stands: units, arms, errors against the budget so far, regret to the oracle."""
    from equipoise.cli.live.reading.standing import standing_of

    with opened(name, store) as experiment:
        facts = standing_of(experiment, seed=show_seed)
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
        limit = lasting(timedelta(seconds=facts["deadline_seconds"]))
        words.append(f"{units['overdue']:,} of them overdue (after {limit})")
    words += [f"{units[word]:,} {word}" for word in ("lost", "withdrawn", "redacted") if units[word]]
    if units["redacted_in_models"]:
        words[-1] += f" ({counted(units['redacted_in_models'], 'outcome')} still in the models)"
    console.print(", ".join(words))
    if facts["closed_arms"]:
        console.print(f"Closed: {', '.join(facts['closed_arms'])}")
    console.print()


def _print_arms(facts: dict[str, Any]) -> None:
    """One line an arm; what no arm knows yet has no column, and a sentence says what is missing."""
    arms = facts["arms"]
    known = any(arm["noise"] is not None for arm in arms)
    redacted = any(arm["redacted"] for arm in arms)
    headings = ["arm", "units", "told", "pending"]
    headings += ["redacted"] if redacted else []
    headings += ["noise", "95 %\ninterval", "expected\nerror", "at most\n(95 %)"] if known else []
    table = new_table(*headings)
    for arm in arms:
        late = f" ({arm['overdue']} late)" if arm["overdue"] else ""
        cells = [f"{arm['assigned']:,}", f"{arm['told']:,}", f"{arm['pending']:,}{late}"]
        cells += [f"{arm['redacted']:,}"] if redacted else []
        cells += _errors(arm) if known else []
        table.add_row(arm["arm"] if arm["open"] else f"{arm['arm']} (closed)", *cells)
    unit = f", outcomes in {facts['outcome_unit']}" if facts["outcome_unit"] else ""
    numbers = f": noise variances and squared errors{unit}" if known else ""
    print_table(table, title=f"Arms as treated{numbers}")
    for line in _unknown(facts):
        output().print(line + "\n")
    if facts["caution"]:
        output().print(f"Warning: {facts['caution']}.\n", soft_wrap=True, markup=False)


def _errors(arm: dict[str, Any]) -> list[str]:
    """Noise and errors of an arm, without bounds that are so wide that they say nothing."""
    if arm["noise"] is None:
        return [_NOT_YET] * 4
    low, high = arm["noise_interval"] or (None, None)
    bound = arm["error_bound"]
    if low is None:
        interval = _NOT_YET
    elif high is None or high > _WIDEST * arm["noise"]:
        interval, bound = f"{_number(low, 2)} or more", None
    else:
        interval = f"{_number(low, 2)} – {_number(high, 2)}"
    return [_number(arm["noise"]), interval, _number(arm["expected_error"]), _number(bound)]


def _unknown(facts: dict[str, Any]) -> list[str]:
    """What is not known yet, and what it takes."""
    young = [arm for arm in facts["arms"] if arm["noise"] is None]
    if young and facts["chooses_features"]:
        return ["Noise and errors are known once features are chosen and every arm has outcomes with them."]
    short = [f"{arm['arm']} {arm['outcomes_missing']:,}" for arm in young if arm["outcomes_missing"]]
    alike = [arm["arm"] for arm in young if arm["outcomes_alike"] and not arm["outcomes_missing"]]
    others = [arm["arm"] for arm in young if not arm["outcomes_missing"] and not arm["outcomes_alike"]]
    lines = []
    if short:
        lines.append(f"Noise and errors are not known yet; outcomes missing, at least: {', '.join(short)}.")
    if alike:
        lines.append(f"All outcomes alike, which says nothing of the noise: {', '.join(alike)}.")
    if others:
        lines.append(f"Contexts that are too much alike to fit a model: {', '.join(others)}.")
    few = [arm["arm"] for arm in facts["arms"] if arm["noise"] is not None and " or more" in _errors(arm)[1]]
    if few:
        lines.append(f"Too few outcomes for an upper end: {', '.join(few)}.")
    return lines


def _print_course(facts: dict[str, Any]) -> None:
    console = output()
    known = [point for point in facts["course"] if point["error"] is not None]
    if not known:
        if facts["units"]["asked"] and all(arm["noise"] is not None for arm in facts["arms"]):
            console.print("The error against the budget is known once every arm has enough units.\n")
        return
    table = new_table("after", "least squares", "oracle", "regret")
    for point in known:
        table.add_row(
            counted(point["units"], "unit"),
            _number(point["error"]),
            _number(point["oracle"]),
            _number(point["regret"]),
        )
    print_table(table, title=f"Expected error against the budget so far ({_goal(facts['objective'])})")
    few = f" {_NOT_YET.capitalize()}: too few units to split." if None in [p["oracle"] for p in known] else ""
    console.print(
        "Of plain least squares, with today's noise estimates for the truth, and as if awaited outcomes were "
        "there; estimates above rest on those that are, and do better where arms are alike. The oracle is "
        "the best fixed split of as many units by one who knows the noise; a regret below 0 is better than "
        f"that.{few}"
    )
    console.print()


def _print_end(facts: dict[str, Any]) -> None:
    console, head = output(), facts["head"]
    created, updated = (shown(datetime.fromisoformat(facts[name])) for name in ("created", "updated"))
    seeded = f", seed {facts['seed']}" if "seed" in facts else ""
    for line in (
        f"Rule      {facts['policy']}{seeded}",
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


def _number(value: float | None, digits: int = 3) -> str:
    """A number to some digits, without an exponent where it can be read without."""
    return _NOT_YET if value is None else f"{float(f'{value:.{digits}g}'):g}"
