"""``equipoise replay``: what adaptive allocation would have saved on a table that is complete."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli import completion
from equipoise.cli.cluster import check_cluster, cluster_option, executor_on
from equipoise.cli.options import (
    MOST_UNITS,
    POLICIES,
    SEED,
    TRIALS,
    Remembering,
    chosen_policies,
    command_line,
    estimator_options,
    import_option,
    json_option,
    path_option,
    policies_option,
    seed_option,
    trials_option,
    value_option,
    workers_option,
)
from equipoise.cli.overwriting import check_earlier, overwrite_option
from equipoise.cli.progress import trials_bar
from equipoise.cli.terminal import print_json
from equipoise.cli.values import parse_names, parse_objective, parse_weights, whole_number
from equipoise.errors import InvalidArgument

if TYPE_CHECKING:
    from equipoise.lab.replay import ReplayResults, ReplayTable, TableDescription

_LOADERS = ("jester", "movielens")
_TYPED = ("estimator", "ridge")  # the library's defaults, unless typed
# What as_table takes.
_READING = (
    *("contexts", "targets", "exclude", "group", "order", "missing", "one_hot"),
    *("separator", "decimal", "na", "date_format"),
)
_budget = whole_number("--budget", "350", least=1, most=MOST_UNITS)


class _Table(click.Argument):
    """An argument that describes itself, as options do; click's own can only from 8.5 on."""

    def __init__(self, *names: Any, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.help = "a CSV, TSV, Parquet, Feather, Arrow or NumPy file, jester:PATH or movielens:PATH."


@click.command("replay", cls=Remembering, short_help="Policies on a complete table of your own.")
@click.argument("table", cls=_Table, metavar="TABLE", shell_complete=completion.files)
@value_option("--contexts", parse_names("--contexts"), "A,B,…", "Context columns.  [default: all others]")
@value_option("--targets", parse_names("--targets"), "C,D,…", "Columns to learn; each is one arm.")
@value_option("--exclude", parse_names("--exclude"), "E,F,…", "Columns that are neither.")
@click.option(
    "--budget", "budgets", multiple=True, metavar="N",
    callback=lambda ctx, option, texts: [_budget(text.strip()) for text in texts],
    help="Rows that a trial feeds to the policy; may be repeated.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only describe the table and what would be made of it.")
@policies_option(f"See 'equipoise policies'; may be repeated.  [default: {', '.join(POLICIES)}]")
@import_option
@trials_option(TRIALS, "Trials.")
@seed_option(SEED)
@workers_option
@click.option(
    "--moment", type=click.Choice(["table", "online"]), default="table", show_default=True,
    help="Whether policies are told Σ of the whole table or learn it from the contexts they meet.",
)  # fmt: skip
@click.option(
    "--center", type=click.Choice(["intercept", "table", "none"]), default="intercept", show_default=True,
    help="Learn an intercept an arm; or centre all columns by the whole table; or take them as they are.",
)  # fmt: skip
@click.option(
    "--scale", type=click.Choice(["auto", "targets", "none"]), default="auto", show_default=True,
    help="Divide every target by its standard deviation, so that errors are shares of its variance; or none, "
    "for targets in one unit. auto: targets if standard deviations differ more than twofold.",
)  # fmt: skip
@click.option(
    "--missing", type=click.Choice(["drop", "refuse", "mean", "median", "indicator"]), default="drop",
    show_default=True,
    help="Drop rows that miss a value, or refuse them; or fill contexts with the mean or the median, or with "
    "the mean and a column that says where.",
)  # fmt: skip
@click.option("--one-hot", is_flag=True, help="Turn text columns into a column of 0 and 1 a value.")
@click.option(
    "--group", metavar="COLUMN", help="Rows with the same value there are all read or all judged on."
)
@click.option("--order", metavar="COLUMN", help="Read earlier rows, in their order; judge on later ones.")
@click.option(
    "--separator", metavar="C", help="Between the cells of a CSV file.  [default: as its first line]"
)
@click.option(
    "--decimal", type=click.Choice([".", ","]), default=".", show_default=True, help="In a CSV file."
)
@click.option(
    "--na", multiple=True, metavar="TEXT", help="Means a missing cell, as NA does; may be repeated."
)
@click.option("--date-format", metavar="FORMAT", help="Of dates that are not like 2026-03-31, e.g. %d.%m.%Y.")
@click.option(
    "--saved/--no-saved", default=True, show_default=True,
    help="Replay uniform sampling at further budgets to say how many units were saved.",
)  # fmt: skip
@estimator_options
@value_option("--objective", parse_objective, "max|mean|P", "What policies make small.  [default: max]")
@value_option("--weights", parse_weights, "W,W,…", "Importance of every target.  [default: 1 each]")
@path_option("--output", "DIR", "Write report.html, a table of losses and every trial's numbers there.")
@overwrite_option
@path_option("--checkpoint", "DIR", "Keep finished trials there; the same command goes on where it stopped.")
@cluster_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    table: str,
    budgets: list[int],
    dry_run: bool,
    policies: tuple[str, ...],
    weights: list[float] | None,
    output: Path | None,
    overwrite: bool,
    as_json: bool,
    **settings: Any,
) -> None:
    """Run policies on the rows of a complete table, and measure them on the rows that they did not see.

    Every trial feeds N random rows in random order to the policy, which reads one target of each. The other
    rows measure the error of every target's model. Look at a new table with --dry-run first.

    \b
    Example:
      equipoise replay people.csv --targets pain,sleep,mood --dry-run
      equipoise replay people.csv --targets pain,sleep,mood --budget 200 --output my-replay
    """
    import equipoise as eq

    settings = {name: value for name, value in settings.items() if name not in _TYPED or value is not None}
    reading = {name: settings.pop(name) for name in _READING}
    reading["exclude"] = reading["exclude"] or ()
    if dry_run:
        _describe(eq.describe_table(_opened(table), **reading), as_json)
        return
    if not budgets:
        raise InvalidArgument("no --budget", hint="e.g. --budget 200; --dry-run only describes the table")
    # Everything that can be wrong is found before the first trial.
    check_cluster(settings["cluster"], settings["workers"])
    if output is not None:
        from equipoise.report import check_writable

        check_writable(output)
        check_earlier(output, ("report.html", "losses.*", "result-*.npz"), overwrite=overwrite)
    rows = eq.as_table(_opened(table), **reading)
    named = _weights(rows, weights)
    chosen = list(policies) or _default_policies(rows, budgets, settings)
    results = _run(rows, chosen, budgets, named, quiet=as_json, **settings)
    again = command_line(ctx, chosen)
    files = []
    if output is not None:
        from equipoise.report import write_replays

        files = write_replays(output, results, again=again, overwrite=True)
    if as_json:
        print_json(results[0].record() if len(results) == 1 else results.record())
        return
    from equipoise.cli.replay.output import print_results

    print_results(results, files=files, again=again)


def _describe(told: TableDescription, as_json: bool) -> None:
    if as_json:
        print_json(told.record())
        return
    from equipoise.cli.replay.output import print_description

    print_description(told)


def _opened(table: str) -> Any:
    """A path, or the ratings that a loader reads."""
    import equipoise as eq

    kind, colon, path = table.partition(":")
    if not colon or kind not in _LOADERS:
        return table
    load: Any = {"jester": eq.load_jester, "movielens": eq.load_movielens}[kind]
    return load(path) if path else load()


def _weights(rows: ReplayTable, typed: list[float] | None) -> dict[str, float] | None:
    if typed is None:
        return None
    if len(typed) != len(rows.target_names):
        raise InvalidArgument(
            f"{len(typed)} weights for {len(rows.target_names)} targets", hint="type one weight a target"
        )
    return dict(zip(rows.target_names, typed, strict=True))


def _default_policies(rows: ReplayTable, budgets: list[int], settings: dict[str, Any]) -> list[str]:
    from equipoise.lab.replay.arena import new_arena

    given = {name: settings[name] for name in ("moment", "center", *_TYPED) if name in settings}
    arena = new_arena(rows, min(budgets), **given)
    return chosen_policies((), arena)


def _run(
    rows: ReplayTable,
    policies: list[str],
    budgets: list[int],
    weights: dict[str, float] | None,
    *,
    trials: int,
    cluster: str | None,
    checkpoint: Path | None,
    objective: Any,
    quiet: bool,
    **settings: Any,
) -> ReplayResults:
    import equipoise as eq

    total = trials * len(policies)
    with (
        trials_bar("Replaying", total=total, checkpoint=checkpoint, quiet=quiet) as progress,
        executor_on(cluster) as executor,
    ):
        return eq.replay(
            rows,
            policies,
            budget=budgets,
            weights=weights,
            objective=objective or "max",
            trials=trials,
            executor=executor,
            progress=progress,
            checkpoint=checkpoint,
            **settings,
        )
