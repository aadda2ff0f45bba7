"""``equipoise demo``: a simulated trial, stored unit by unit, compared with equal shares, and reported."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from equipoise.cli import completion
from equipoise.cli.options import folder_option, import_option, seed_option, value_option
from equipoise.cli.overwriting import check_earlier, overwrite_option
from equipoise.cli.terminal import progress_output
from equipoise.cli.values import whole_number
from equipoise.extras import is_installed
from equipoise.files import make_folder

BUDGET = "350"
# Of 300 seeds, the median trial cut the worst actual error to 0.62 of uniform's; so does this one.
SEED = "3"
POLICY = "trace-gain"
OUTPUT = "equipoise-demo"
_PLOT, _STORE, _REPORT = "demo.png", "demo.db", "report.html"
_LARGEST_BUDGET = 20_000  # every unit is brought to the disk twice; a demo should not take minutes


@click.command("demo", short_help="A simulated trial, compared with equal shares.")
@click.option(
    "--policy",
    default=POLICY,
    show_default=True,
    metavar="SPEC",
    help="See 'equipoise policies'.",
    shell_complete=completion.policies,
)
@import_option
@value_option(
    "--budget",
    whole_number("--budget", BUDGET, least=1, most=_LARGEST_BUDGET),
    "N",
    "Number of units.",
    default=BUDGET,
    show_default=True,
)
@seed_option(SEED, "Draws contexts, true models and noise.")
@folder_option(OUTPUT, "the store, the plot and the report are saved")
@overwrite_option
def command(policy: str, budget: int, seed: int, folder: Path, overwrite: bool) -> None:
    """Run one simulated trial twice, with a policy and with equal shares, and compare.

    Seven arms with unequal noise, ten features. Both runs see the same contexts, and the same
    noise for the first, second, ... unit of an arm. The run with the policy is a practice experiment in an
    SQLite file, where it can be looked at afterwards, and ends with its report.
    """
    import equipoise as eq
    from equipoise.cli.demo.plot import save_plot
    from equipoise.cli.demo.tables import print_comparison, print_lines, print_settings
    from equipoise.cli.demo.trial import NAME, World
    from equipoise.report import write_report

    # Everything that can be wrong is found before the first unit.
    world, rule = World(budget=budget, seed=seed), eq.parse_policy(policy)
    world.experiment(rule)
    uniform = world.experiment(eq.Uniform())
    check_earlier(folder, (_PLOT, _STORE, _REPORT), overwrite=overwrite)
    store, report = _make_folder(folder) / _STORE, folder / _REPORT
    plot = folder / _PLOT if is_installed("matplotlib") else None
    with world.stored_experiment(rule, store) as chosen, _progress(2 * budget) as advance:
        comparison = world.compare(chosen, uniform, advance)
        # Saved before anything is printed: a reader like head may close the pipe early.
        if plot is not None:
            save_plot(comparison, plot, version=eq.__version__)
        again = _command_line(policy, budget, seed, folder)
        write_report(report, chosen, title="Demo", again=again, overwrite=True)
    print_comparison(comparison)
    if plot is None:
        print_lines("No plot was saved: matplotlib is missing. To get one: pip install 'equipoise[plot]'")
    else:
        print_lines(f"Plot: {plot}")
    print_lines(f"Look at it: {shlex.join(['equipoise', 'status', NAME, '--store', f'sqlite:///{store}'])}")
    print_lines(f"Report: {report}")
    print_settings(comparison, version=eq.__version__, again=again)


def _make_folder(folder: Path) -> Path:
    """The folder, tried out, without the store of an earlier run."""
    made = make_folder(folder, hint="choose another directory with --output DIR")
    for suffix in ("", "-wal", "-shm"):
        (made / f"{_STORE}{suffix}").unlink(missing_ok=True)
    return made


@contextmanager
def _progress(units: int) -> Iterator[Callable[[], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = progress_output()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Compiling (on the first run only)", total=units)

        def advance() -> None:
            progress.update(task, advance=1, description="Allocating units")

        yield advance


def _command_line(policy: str, budget: int, seed: int, folder: Path) -> str:
    imports = [part for where in click.get_current_context().meta["imports"] for part in ("--import", where)]
    given = ["equipoise", "demo", *imports, "--policy", policy, "--budget", str(budget), "--seed", str(seed)]
    if str(folder) != OUTPUT:
        given += ["--output", str(folder)]
    return shlex.join([*given, "--overwrite"])  # the plot of this run
