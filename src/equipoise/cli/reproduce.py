"""``equipoise reproduce``: the paper's figures at the paper's counts, and its claims one by one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli import completion
from equipoise.cli.cluster import check_cluster, cluster_option, executor_on
from equipoise.cli.options import (
    checkpoint_option,
    folder_option,
    json_option,
    path_option,
    seed_option,
    value_option,
    workers_option,
)
from equipoise.cli.overwriting import check_earlier, overwrite_option
from equipoise.cli.progress import labelled_progress
from equipoise.cli.terminal import new_table, output, print_json, print_table
from equipoise.cli.values import positive_number, whole_number
from equipoise.files import check_file, write_whole
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.studies.reproduce import Finding, Reproduction

_OUTPUT = "equipoise-reproduce"
_FILES = ("report.html", "reproduce.json", "figure[12].*", "rate.*", "sparse-*.*")
_STYLES = {
    "holds": "green",
    "holds partly": "yellow",
    "does not hold": "red",
    "too few trials to say": "dim",
}
_SHORT = {
    "holds": "holds",
    "holds partly": "partly",
    "does not hold": "no",
    "too few trials to say": "too few trials",
}


class _Panels(click.Argument):
    """An argument that describes itself, as options do; click's own can only from 8.5 on."""

    def __init__(self, *names: Any, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.help = (
            "a to f of Figure 1, jester and movielens of Figure 2, and rate; all of these unless given. "
            "Only if named: support, sparse-budget and sparse-screen, or sparse for the three."
        )


@click.command("reproduce", short_help="The paper's figures, and its claims checked.")
@click.argument("panels", cls=_Panels, nargs=-1, metavar="[PANEL]...", shell_complete=completion.panels)
@folder_option(_OUTPUT, "figures, report.html and reproduce.json go")
@value_option(
    "--trials-scale",
    positive_number("--trials-scale", "0.1"),
    "X",
    "Multiplies every number of trials; 1 gives the paper's.",
    default="1",
    show_default=True,
)
@value_option(
    "--width-trials",
    whole_number("--width-trials", "2000", least=0),
    "N",
    "Trials a point of the comparison of widths, times the scale; 0 leaves it out.",
    default="2000",
    show_default=True,
)
@seed_option("1")
@workers_option
@overwrite_option
@checkpoint_option("points")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    envvar="EQUIPOISE_DATA",
    metavar="DIR",
    help="Where the ratings of Figure 2 are.  [default: EQUIPOISE_DATA, or what was fetched]",
)
@path_option("--claims-table", "FILE", "Also write the claims as a Markdown table.")
@cluster_option
@json_option
def command(
    panels: tuple[str, ...],
    folder: Path,
    trials_scale: float,
    width_trials: int,
    seed: int,
    workers: int | None,
    overwrite: bool,
    checkpoint: Path | None,
    data: Path | None,
    claims_table: Path | None,
    cluster: str | None,
    as_json: bool,
) -> None:
    """Draw the paper's figures and a rate figure of our own, and check what the paper says.

    PANEL is a, b, c, d, e, f, jester, movielens or rate; all unless given. Figure 2 (jester, movielens) needs
    ratings that 'equipoise data fetch' brings, or --data.

    Three more about sparse-trace-ucb are drawn only if named: support (how often the features are found),
    sparse-budget (errors against the budget) and sparse-screen (the price of L); sparse is all three.

    \b
    Example:
      equipoise reproduce b --trials-scale 0.1
      equipoise reproduce sparse --trials-scale 0.2
    """
    from equipoise.report import reproduction_report, write_report
    from equipoise.studies.reproduce import reproduce

    check_cluster(cluster, workers)
    check_earlier(folder, _FILES, overwrite=overwrite)
    if claims_table is not None:
        check_file(claims_table, hint="choose another file with --claims-table FILE")
    with executor_on(cluster) as executor, labelled_progress() as progress:
        found = reproduce(
            panels,
            output=folder,
            trials_scale=trials_scale,
            width_trials=width_trials,
            seed=seed,
            workers=workers,
            executor=executor,
            checkpoint=checkpoint,
            data=data,
            progress=progress,
        )
    if claims_table is not None:
        write_whole(claims_table, found.claims_table())
    report = write_report(
        folder / "report.html",
        reproduction_report(found, again=_again(panels, trials_scale, width_trials, seed)),
        overwrite=True,
    )
    if as_json:
        print_json(found.record())
        return
    _print_found(found, report)


def _print_found(found: Reproduction, report: Path) -> None:
    """Claims, what they depend on, and the files that were written."""
    _print_claims("What the paper says, and what was measured (± one standard error)", found.findings)
    _print_widths(found)
    if found.rate is not None:
        output().print(found.rate.explanation + "\n")
    _print_claims(
        "What is asked of Sparse-Trace-UCB, and what was measured (± one standard error)",
        found.sparse_findings,
    )
    for result in found.sparse:
        output().print("\n".join([*result.explanation(), ""]))
    output().print(found.settings)
    for reason in found.left_out:
        output().print(f"Left out: {reason}")
    for path in found.figures:
        output().print(f"Figure: {path}")
    output().print(f"Report: {report}")


def _again(panels: tuple[str, ...], trials_scale: float, width_trials: int, seed: int) -> str:
    words = ["equipoise reproduce", *panels, f"--seed {seed}", f"--width-trials {width_trials}"]
    if trials_scale != 1.0:
        words.append(f"--trials-scale {trials_scale:g}")
    words.append("--overwrite")  # the files of this run
    return " ".join(words)


def _print_claims(heading: str, findings: Sequence[Finding]) -> None:
    from rich.padding import Padding
    from rich.text import Text

    if not findings:
        return
    console = output()
    console.print(f"{heading}\n", style="bold")
    for finding in findings:
        verdict = str(finding.verdict)
        console.print(Text.assemble((f"{finding.id}  ", "bold"), finding.says))
        console.print(Text(f"    {verdict.upper()}", style=_STYLES[verdict]))
        for line in finding.lines:
            console.print(Padding(Text(line), (0, 0, 0, 4), expand=False))
        console.print()


def _print_widths(found: Reproduction) -> None:
    if not found.by_width:
        return
    widths = list(found.by_width)
    table = new_table("claim", *(f"width={width}" for width in widths))
    for place, finding in enumerate(found.by_width[widths[0]]):
        verdicts = (_SHORT[str(found.by_width[width][place].verdict)] for width in widths)
        table.add_row(finding.id, *verdicts)
    print_table(table, title=f"The same claims by width, {counted(found.width_trials, 'trial')} a point")
