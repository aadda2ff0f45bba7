"""``equipoise replay``: what adaptive allocation would have saved on a table that is complete."""

from __future__ import annotations

from collections.abc import Sequence
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
from equipoise.cli.progress import trials_bar
from equipoise.cli.terminal import print_json
from equipoise.cli.values import parse_names, parse_objective, parse_weights, whole_number
from equipoise.errors import InvalidArgument

if TYPE_CHECKING:
    from equipoise.lab.replay import ReplayResult, ReplayTable

_LOADERS = ("jester", "movielens")
_TYPED = ("estimator", "ridge")  # the library's defaults, unless typed
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
@click.option(
    "--budget", "budgets", multiple=True, metavar="N", required=True,
    callback=lambda ctx, option, texts: [_budget(text.strip()) for text in texts],
    help="Rows that a trial feeds to the policy; may be repeated.",
)  # fmt: skip
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
    "--missing", type=click.Choice(["drop", "refuse"]), default="drop", show_default=True,
    help="What to do with rows that miss a value.",
)  # fmt: skip
@click.option("--one-hot", is_flag=True, help="Turn text columns into a column of 0 and 1 a value.")
@click.option(
    "--saved/--no-saved", default=True, show_default=True,
    help="Replay uniform sampling at further budgets to say how many units were saved.",
)  # fmt: skip
@estimator_options
@value_option("--objective", parse_objective, "max|mean|P", "What policies make small.  [default: max]")
@value_option("--weights", parse_weights, "W,W,…", "Importance of every target.  [default: 1 each]")
@path_option("--output", "DIR", "Write report.html, a table of losses and every trial's numbers there.")
@path_option("--checkpoint", "DIR", "Keep finished trials there; the same command goes on where it stopped.")
@cluster_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    table: str,
    contexts: list[str] | None,
    targets: list[str] | None,
    budgets: list[int],
    policies: tuple[str, ...],
    missing: str,
    one_hot: bool,
    weights: list[float] | None,
    output: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Run policies on the rows of a complete table, and measure them on the rows that they did not see.

    Every trial feeds N random rows in random order to the policy, which reads one target of each. The other
    rows measure the error of every target's model.

    \b
    Example:
      equipoise replay people.csv --targets pain,sleep,mood --budget 200 --output my-replay
    """
    import equipoise as eq

    settings = {name: value for name, value in settings.items() if name not in _TYPED or value is not None}
    # Everything that can be wrong is found before the first trial.
    check_cluster(settings["cluster"], settings["workers"])
    if output is not None:
        from equipoise.report import check_writable

        check_writable(output)
    rows = eq.as_table(_opened(table), contexts=contexts, targets=targets, missing=missing, one_hot=one_hot)
    named = _weights(rows, weights)
    chosen = list(policies) or _default_policies(rows, budgets, settings)
    results = _run(rows, chosen, budgets, named, quiet=as_json, **settings)
    again = command_line(ctx, chosen)
    files = []
    if output is not None:
        from equipoise.report import write_replays

        files = write_replays(output, results, again=again)
    if as_json:
        records = [result.record() for result in results]
        plain = records[0] if len(records) == 1 else {"runs": records}
        print_json(plain)
        return
    from equipoise.cli.replay.output import print_results

    print_results(results, files=files, again=again)


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
) -> Sequence[ReplayResult]:
    from equipoise.lab.replay import replay_budgets

    total = trials * len(policies)
    with (
        trials_bar("Replaying", total=total, checkpoint=checkpoint, quiet=quiet) as progress,
        executor_on(cluster) as executor,
    ):
        return replay_budgets(
            rows,
            policies,
            budgets=budgets,
            weights=weights,
            objective=objective or "max",
            trials=trials,
            executor=executor,
            progress=progress,
            checkpoint=checkpoint,
            **settings,
        )
