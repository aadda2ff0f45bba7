"""``equipoise sweep``: policies along any field of a scenario or of a policy, as tables and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.cluster import check_cluster, cluster_option, device_option, executor_on
from equipoise.cli.options import (
    POLICIES,
    SEED,
    SPARSE_POLICIES,
    TRIALS,
    Remembering,
    checkpoint_option,
    command_line,
    folder_option,
    import_option,
    json_option,
    policies_option,
    seed_option,
    trials_option,
    workers_option,
)
from equipoise.cli.overwriting import check_earlier, overwrite_option
from equipoise.cli.progress import labelled_progress
from equipoise.cli.terminal import print_json, say
from equipoise.cli.world.options import further_scenario_options, scenario_file_option, scenario_options

if TYPE_CHECKING:
    from equipoise.lab.scenario import Scenario
    from equipoise.studies.sweep import SweepResult

_OUTPUT = "equipoise-sweep"
_FILES = ("report.html", "losses.*", "differences.*", "scenario.toml", "sweep.*")


@click.command("sweep", cls=Remembering, short_help="Policies along any field of a scenario or policy.")
@click.option(
    "--over",
    multiple=True,
    metavar="NAME=V,V,…",
    help="What is swept: a field of the scenario (dim=5,10,...,40), of a piece of it (delay.mean=0,10), "
    "one arm's (noise[0]=1,2), or of policies (width=0.5,1,2). Twice for a grid.",
)
@click.option("--joined", is_flag=True, help="Axes go together, value by value, instead of as a grid.")
@scenario_options
@policies_option(f"See 'equipoise policies'; may be repeated.  [default: {', '.join(POLICIES)}]")
@import_option
@trials_option(TRIALS, "Trials of every policy at every point.")
@seed_option(SEED)
@workers_option
@click.option(
    "--loss",
    type=click.Choice(["expected_max", "median_max", "mean", "coverage", "regret"]),
    help="What is printed and drawn.  [default: expected_max, or mean with another objective]",
)
@folder_option(_OUTPUT, "figure, tables, report.html and sweep.json go")
@overwrite_option
@checkpoint_option("trials")
@scenario_file_option
@further_scenario_options
@cluster_option
@device_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    over: tuple[str, ...],
    joined: bool,
    policies: tuple[str, ...],
    trials: int,
    seed: int,
    workers: int | None,
    loss: str | None,
    folder: Path,
    overwrite: bool,
    checkpoint: Path | None,
    scenario: Path | None,
    cluster: str | None,
    device: str,
    as_json: bool,
    **fields: Any,
) -> None:
    """Run policies along any field of a scenario or of a policy, and draw their errors.

    Finished trials are kept: the same line with more trials, other values or further policies runs only what
    is missing (--overwrite replaces the earlier tables and figure).

    \b
    Example:
      equipoise sweep --over dim=5,10,...,30 --noise 0.01,1,3 --budget 350
      equipoise sweep --over width=0.25,0.5,1,2 --noise 0.01,1,3 --dim 10 --budget 200 --policy trace-ucb
    """
    from equipoise.cli.sweep.axes import parse_axes, with_first_values
    from equipoise.cli.world.scenario import build_scenario
    from equipoise.report import check_writable, write_sweep
    from equipoise.studies.sweep.run import planned_points

    # Everything that can be wrong is found before the first trial.
    check_cluster(cluster, workers)
    axes = parse_axes(over)
    world = build_scenario(scenario, with_first_values(fields, axes))
    chosen = list(policies or (POLICIES if world.truth is None else SPARSE_POLICIES))
    planned_points(world, chosen, axes, joined=joined)
    check_writable(folder)
    check_earlier(folder, _FILES, overwrite=overwrite)
    kept = folder / "checkpoint" if checkpoint is None else checkpoint
    settings = {"trials": trials, "seed": seed, "workers": workers, "joined": joined, "device": device}
    result = _run(world, chosen, axes, kept, cluster, quiet=as_json, **settings)
    again = command_line(ctx, chosen)
    shown = result.loss if loss is None else loss
    files = write_sweep(folder, result, loss=shown, again=again, overwrite=True)
    if as_json:
        print_json(result.record())
        return
    from equipoise.cli.sweep.output import print_sweep

    print_sweep(result, shown, files=files, kept=kept, again=again)


def _run(
    world: Scenario,
    policies: list[str],
    axes: dict[str, Any],
    checkpoint: Path,
    cluster: str | None,
    *,
    quiet: bool,
    **settings: Any,
) -> SweepResult:
    import equipoise as eq

    reached = "before the first trial"

    def show(label: str, done: float, total: float) -> None:
        nonlocal reached
        reached = f"at {100 * done / total:.0f} % ({label})"
        bar(label, done, total)

    try:
        with labelled_progress(quiet=quiet) as bar, executor_on(cluster) as executor:
            return eq.sweep(
                world,
                policies=policies,
                executor=executor,
                checkpoint=checkpoint,
                progress=show,
                **settings,
                **axes,
            )
    except KeyboardInterrupt:
        kept = f"Finished trials are kept in {checkpoint}: type the same line again to go on."
        say(f"Stopped {reached}. {kept}", err=True)
        raise click.Abort from None
