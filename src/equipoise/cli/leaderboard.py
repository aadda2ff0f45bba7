"""``equipoise leaderboard``: every policy on a fixed suite of scenarios, and the bar for Trace-Gain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from equipoise.cli.cluster import check_cluster, cluster_option, executor_on
from equipoise.cli.options import LARGEST_SEED, MOST_TRIALS, json_option, workers_option
from equipoise.cli.progress import labelled_progress
from equipoise.cli.terminal import new_table, output, print_table, say
from equipoise.cli.values import typed, whole_number
from equipoise.errors import InvalidArgument

if TYPE_CHECKING:
    from equipoise.studies.leaderboard import Leaderboard

_OUTPUT = "equipoise-leaderboard"


@click.command("leaderboard", short_help="Every policy on a fixed suite of scenarios.")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="A scenario of the suite, or a group: paper, robustness; may be repeated.  [default: all]",
)
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="SPEC",
    help="See 'equipoise policies'; may be repeated. The oracle always runs.  [default: all]",
)
@click.option(
    "--trials",
    callback=typed(whole_number("--trials", "2000", least=2, most=MOST_TRIALS)),
    metavar="N",
    help="Trials of every policy on every scenario.  [default: 2000; 30000 with --bar]",
)
@click.option(
    "--seed",
    callback=typed(whole_number("--seed", "1", least=0, most=LARGEST_SEED)),
    default="1",
    show_default=True,
    metavar="S",
    help="Draws everything that is random.",
)
@workers_option
@click.option("--bar", is_flag=True, help="Check what trace-gain has to reach, instead of ranking policies.")
@click.option(
    "--output",
    "folder",
    type=click.Path(path_type=Path),
    default=_OUTPUT,
    show_default=True,
    metavar="DIR",
    help="Where table, picture and JSON go; made if it does not exist.",
)
@click.option(
    "--checkpoint",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keeps finished scenarios, so that the next run goes on there.  [default: checkpoint in --output]",
)
@cluster_option
@json_option
def command(
    only: tuple[str, ...],
    policies: tuple[str, ...],
    trials: int | None,
    seed: int,
    workers: int | None,
    bar: bool,
    folder: Path,
    checkpoint: Path | None,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Run every policy on a fixed suite of scenarios and rank them by their errors over the oracle's.

    \b
    Example:
      equipoise leaderboard --only paper --policy trace-gain --policy trace-ucb --trials 500
    """
    from equipoise.extras import need
    from equipoise.studies import leaderboard as lab
    from equipoise.studies.store import open_folder

    check_cluster(cluster, workers)
    if bar and policies:
        raise InvalidArgument(
            f"--bar compares {', '.join(lab.BAR_POLICIES)} and no other policies", hint="leave --policy out"
        )
    if not bar:
        need("matplotlib")
    open_folder(folder, option="--output")
    kept = folder / "checkpoint" if checkpoint is None else checkpoint
    try:
        with executor_on(cluster) as executor, labelled_progress(quiet=as_json) as progress:
            board = lab.run_leaderboard(
                only,
                policies=lab.BAR_POLICIES if bar else policies,
                trials=trials or (lab.BAR_TRIALS if bar else lab.TRIALS),
                seed=seed,
                workers=workers,
                executor=executor,
                checkpoint=kept,
                progress=progress,
            )
    except KeyboardInterrupt:
        say(f"Stopped. What is finished is kept in {kept}: type the same line again to go on.", err=True)
        raise click.Abort from None
    files = lab.write_bar(board, folder) if bar else lab.write_leaderboard(board, folder)
    if as_json:
        record = lab.bar_record(board) if bar else board.record()
        say(json.dumps(record, indent=2, allow_nan=False))
        return
    if bar:
        _print_bar(board)
    else:
        _print_ranking(board)
    _print_end(board, files)


def _print_ranking(board: Leaderboard) -> None:
    from equipoise.studies.leaderboard.markdown import with_error

    numbers = ("geometric\nmean", "expected\nerror", "median\nerror", "best", "below\noracle")
    table = new_table("", "policy", *numbers, text_columns=2)
    for place, standing in enumerate(board.ranking(), start=1):
        means = map(with_error, (standing.overall, standing.expected, standing.median))
        counts = ("–", "–")
        if standing.policy != board.reference:
            counts = (str(standing.wins), str(standing.below_reference))
        table.add_row(str(place), standing.policy, *means, *counts)
    count = len(board.rows)
    title = f"Errors over the oracle's (± standard error): {count} scenarios, {2 * count} contests"
    print_table(table, title=title)


def _print_bar(board: Leaderboard) -> None:
    from equipoise.studies.leaderboard import check_bar
    from equipoise.studies.leaderboard.markdown import with_error

    table = new_table("scenario", "loss", "over", "ratio", "at most", "met", text_columns=3)
    for name, limits in check_bar(board).items():
        for limit in limits:
            ratio = with_error((limit.ratio, limit.stderr))
            met = "yes" if limit.met else "NO"
            table.add_row(name, limit.loss, limit.reference, ratio, f"{limit.most:.2f}", met)
    print_table(
        table, title="Losses of trace-gain over those of the oracle and of trace-ucb (± standard error)"
    )


def _print_end(board: Leaderboard, files: Sequence[Path]) -> None:
    console = output()
    for file in files:
        console.print(f"Written: {file}", soft_wrap=True)
    console.print(board.settings, soft_wrap=True)
