"""``equipoise forecast``: the rest of an experiment, simulated from where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from equipoise.cli.live.common.arguments import experiment_argument, parse_budget, reading_options
from equipoise.cli.live.common.opening import opened
from equipoise.cli.options import (
    policies_option,
    seed_option,
    trials_option,
    value_option,
    workers_option,
)
from equipoise.cli.progress import progress_bar
from equipoise.cli.terminal import new_table, output, print_json, print_table
from equipoise.cli.values import number_between, positive_number, whole_number
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.lab.forecast.result import Forecast

TRIALS, SEED = "1000", "0"


def parse_losses(text: str) -> dict[str, float] | float | str:
    """``seen``, a share for all arms, or shares by arm."""
    share = number_between("--losses", "0.1", least=0.0, below=1.0)
    if text.strip() == "seen":
        return "seen"
    if "=" not in text:
        return share(text)
    parts = [entry.rpartition("=") for entry in text.split(",")]
    return {arm.strip(): share(value) for arm, _, value in parts}


@click.command("forecast", short_help="Simulate the rest from where it stands.")
@experiment_argument
@policies_option("Another policy that might take over from here; may be repeated.")
@click.option(
    "--budget", "budgets", multiple=True, metavar="N",
    callback=lambda ctx, option, texts: [parse_budget(text.strip()) for text in texts],
    help="Another budget, in all; may be repeated.",
)  # fmt: skip
@value_option(
    "--target", positive_number("--target", "0.1"), "E",
    "Which budgets bring the expected squared error to E?",
)  # fmt: skip
@value_option(
    "--losses", parse_losses, "SHARE",
    "Share of outcomes to come that is lost, one number or ARM=SHARE,…; 0: none; else as so far.",
    default="seen",
)  # fmt: skip
@value_option(
    "--lag", whole_number("--lag", "5", least=0), "UNITS",
    "Further units until an outcome comes; else as long as so far.",
)  # fmt: skip
@trials_option(TRIALS, "Simulated trials of every course.")
@seed_option(SEED)
@workers_option
@reading_options
def command(
    name: str, policies: tuple[str, ...], budgets: list[float], target: float | None,
    losses: dict[str, float] | float | str, lag: int | None, trials: int, seed: int, workers: int | None,
    store: str, as_json: bool,
) -> None:  # fmt: skip
    """Simulate the rest of the experiment NAME from where it stands: the errors that it may end with.

    Truths are drawn from what the outcomes so far leave open; outcomes to come are lost and awaited as those
    so far were. Beside the plan: what another policy, or another budget, would give. The experiment itself is
    not changed.

    \b
    Examples:
      equipoise forecast trial-1
      equipoise forecast trial-1 --policy uniform --budget 500 --target 0.1
      equipoise forecast trial-1 --losses placebo=0.2,drug=0.05
    """
    import equipoise as eq

    with opened(name, store) as experiment:
        standing = experiment.in_memory()
    with progress_bar("Simulating", quiet=as_json) as show:
        found = eq.forecast(
            standing, policies=list(policies) or None, budgets=list(budgets) or None, target=target,
            losses=losses, lag=lag, trials=trials, seed=seed, workers=workers, progress=show,
        )  # fmt: skip
    if as_json:
        print_json({"name": name, **found.record()})
        return
    _print(found)


def _print(found: Forecast) -> None:
    """Main numbers in tables that fit the screen; 95 % bands and the way there are in --json."""
    from equipoise.lab.forecast.tables import (
        assumptions,
        band_cells,
        notes,
        objective_words,
        place_words,
        target_table,
    )

    origin, own = found.origin, found.courses[0]
    console = output()
    console.print(f"At {place_words(found)}.\n")
    table = new_table("policy", "budget", "to come", "mean", "80 % band", "better in")
    mean, _, band, _ = band_cells(found.band(own, 0))
    table.add_row("now", "", "", mean, band, "")
    for course in found.courses:
        units = f"{course.counts.sum(axis=1).mean():.10g}"
        better = "" if course is own else f"{100 * found.better(course):.0f} %"
        mean, _, band, _ = band_cells(found.band(course))
        table.add_row(course.policy, f"{course.budget:.10g}", units, mean, band, better)
    print_table(table, title=f"At the end: {objective_words(origin)}, squared units")
    table = new_table("arm", "median now", "mean", "median", "80 % band", "to come")
    for arm, coming in zip(found.arms, own.units_to_come(), strict=True):
        now = f"{found.band(own, 0, arm).median:.3g}"
        mean, median, band, _ = band_cells(found.band(own, -1, arm))
        table.add_row(arm, now, mean, median, band, f"{coming.value:.1f}")
    print_table(table, title=f"Errors by arm, {own.policy} with {own.budget:.10g}")
    if found.target is not None:
        shown = target_table(found).for_readers
        table = new_table(*shown.header, text_columns=shown.left)
        for row in shown.rows:
            table.add_row(*row)
        print_table(table, title=f"Budgets, in all, that bring it to {found.target:g}")
    for note in [*assumptions(found), *notes(found)]:
        console.print(note)
    drawn = f"{counted(found.trials, 'trial')} of the rest, seed {found.seed}"
    console.print(f"{drawn}, drawn from what the outcomes so far leave open.")
