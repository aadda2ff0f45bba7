"""``equipoise forecast``: the rest of an experiment, simulated from where it stands."""

from __future__ import annotations

import click

from equipoise.cli.live.common.arguments import experiment_argument, parse_budget, reading_options
from equipoise.cli.live.common.opening import opened
from equipoise.cli.options import (
    import_option,
    policies_option,
    seed_option,
    trials_option,
    value_option,
    workers_option,
)
from equipoise.cli.progress import progress_bar
from equipoise.cli.terminal import output, print_json
from equipoise.cli.values import positive_number

TRIALS, SEED = "1000", "0"


@click.command("forecast", short_help="Simulate the rest from where it stands.")
@experiment_argument
@policies_option("Another policy that might take over from here; may be repeated.")
@import_option
@click.option(
    "--budget", "budgets", multiple=True, metavar="N",
    callback=lambda ctx, option, texts: [parse_budget(text.strip()) for text in texts],
    help="Another budget, in all; may be repeated.",
)  # fmt: skip
@value_option(
    "--target", positive_number("--target", "0.1"), "E",
    "Which budgets bring the expected squared error to E?",
)  # fmt: skip
@trials_option(TRIALS, "Simulated trials of every course.")
@seed_option(SEED)
@workers_option
@reading_options
def command(
    name: str, policies: tuple[str, ...], budgets: list[float], target: float | None, trials: int, seed: int,
    workers: int | None, store: str, as_json: bool,
) -> None:  # fmt: skip
    """Simulate the rest of the experiment NAME from where it stands: the errors that it may end with.

    Truths are drawn from what the outcomes so far leave open. Beside the plan: what another policy, or
    another budget, would give. The experiment itself is not changed.

    \b
    Examples:
      equipoise forecast trial-1
      equipoise forecast trial-1 --policy uniform --budget 500 --target 0.1
    """
    import equipoise as eq

    with opened(name, store) as experiment:
        standing = experiment.in_memory()
    with progress_bar("Simulating", quiet=as_json) as show:
        found = eq.forecast(
            standing, policies=list(policies) or None, budgets=list(budgets) or None, target=target,
            trials=trials, seed=seed, workers=workers, progress=show,
        )  # fmt: skip
    if as_json:
        print_json({"name": name, **found.record()})
        return
    output().print(str(found), soft_wrap=True)
