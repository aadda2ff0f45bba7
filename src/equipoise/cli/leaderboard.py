"""``equipoise leaderboard``: every policy on a fixed suite of scenarios, and the bar for Trace-Gain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from equipoise.cli import completion
from equipoise.cli.cluster import check_cluster, cluster_option, executor_on
from equipoise.cli.options import (
    MOST_TRIALS,
    checkpoint_option,
    folder_option,
    import_option,
    json_option,
    policies_option,
    seed_option,
    value_option,
    workers_option,
)
from equipoise.cli.overwriting import check_earlier, overwrite_option
from equipoise.cli.progress import labelled_progress
from equipoise.cli.terminal import new_table, output, print_json, print_table, say
from equipoise.cli.values import whole_number
from equipoise.errors import InvalidArgument
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.studies.leaderboard import Leaderboard

_OUTPUT = "equipoise-leaderboard"


@click.command("leaderboard", short_help="Every policy on a fixed suite of scenarios.")
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    shell_complete=completion.suite,
    help="A scenario of the suite, or a group: paper, robustness; may be repeated.  [default: all]",
)
@policies_option("See 'equipoise policies'; may be repeated. The oracle always runs.  [default: all]")
@import_option
@value_option(
    "--trials",
    whole_number("--trials", "2000", least=2, most=MOST_TRIALS),
    "N",
    "Trials of every policy on every scenario.  [default: 2000; 30000 with --bar]",
)
@seed_option("1")
@workers_option
@click.option("--bar", is_flag=True, help="Check what trace-gain has to reach, instead of ranking policies.")
@folder_option(_OUTPUT, "table, picture and JSON go")
@overwrite_option
@checkpoint_option("scenarios")
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
    overwrite: bool,
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
    from equipoise.studies import leaderboard as study
    from equipoise.studies.store import open_folder

    check_cluster(cluster, workers)
    if bar and policies:
        raise InvalidArgument(
            f"--bar compares {', '.join(study.BAR_POLICIES)} and no other policies", hint="leave --policy out"
        )
    if not bar:
        need("matplotlib")
    open_folder(folder, option="--output")
    check_earlier(folder, ("bar.*",) if bar else ("leaderboard.*",), overwrite=overwrite)
    kept = folder / "checkpoint" if checkpoint is None else checkpoint
    try:
        with executor_on(cluster) as executor, labelled_progress(quiet=as_json) as progress:
            board = study.run_leaderboard(
                only,
                policies=study.BAR_POLICIES if bar else policies,
                trials=trials or (study.BAR_TRIALS if bar else study.TRIALS),
                seed=seed,
                workers=workers,
                executor=executor,
                checkpoint=kept,
                progress=progress,
            )
    except KeyboardInterrupt:
        say(f"Stopped. What is finished is kept in {kept}: type the same line again to go on.", err=True)
        raise click.Abort from None
    files = study.write_bar(board, folder) if bar else study.write_leaderboard(board, folder)
    if as_json:
        print_json(study.bar_record(board) if bar else board.record())
        return
    if bar:
        _print_bar(board)
    else:
        _print_ranking(board)
    _print_end(board, files)


def _print_ranking(board: Leaderboard) -> None:
    from equipoise.lab.results.words import loss_heading
    from equipoise.studies.leaderboard.markdown import with_error

    losses = map(loss_heading, ("expected_max", "median_max"))
    numbers = ("geometric\nmean", *losses, "best", "below\noracle")
    table = new_table("", "policy", *numbers, text_columns=2)
    for place, standing in enumerate(board.ranking(), start=1):
        means = map(with_error, (standing.overall, standing.expected, standing.median))
        wins = "–" if standing.policy in board.told else str(standing.wins)
        below = "–" if standing.policy == board.reference else str(standing.below_reference)
        table.add_row(str(place), standing.policy, *means, wins, below)
    count = len(board.rows)
    counts = f"{counted(count, 'scenario')}, {counted(2 * count, 'contest')}"
    print_table(table, title=f"Errors over the oracle's (± standard error): {counts}")


def _print_bar(board: Leaderboard) -> None:
    from equipoise.lab.results.words import loss_words
    from equipoise.studies.leaderboard.bar import all_met, check_bar
    from equipoise.studies.leaderboard.markdown import with_error

    table = new_table("scenario", "loss", "over", "ratio", "at most", "met", text_columns=3)
    unknown = all_met(board) is None
    for name, limits in check_bar(board).items():
        for limit in limits:
            ratio = with_error((limit.ratio, limit.stderr))
            met = "–" if unknown else "yes" if limit.met else "NO"
            table.add_row(name, loss_words(limit.loss), limit.reference, ratio, f"{limit.most:.2f}", met)
    print_table(
        table, title="Losses of trace-gain over those of the oracle and of trace-ucb (± standard error)"
    )
    if unknown:
        output().print("Whether the limits are met, so few trials cannot say.\n")


def _print_end(board: Leaderboard, files: Sequence[Path]) -> None:
    console = output()
    for file in files:
        console.print(f"Written: {file}", soft_wrap=True)
    console.print(board.settings, soft_wrap=True)
