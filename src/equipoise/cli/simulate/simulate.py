"""``equipoise simulate``: policies on a synthetic scenario, with the errors of their losses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.cluster import check_cluster, cluster_option, device_option, executor_on
from equipoise.cli.options import (
    POLICIES,
    SEED,
    TRIALS,
    Remembering,
    chosen_policies,
    command_line,
    import_option,
    json_option,
    path_option,
    policies_option,
    seed_option,
    trials_option,
    workers_option,
)
from equipoise.cli.overwriting import check_earlier, overwrite_option
from equipoise.cli.progress import trials_bar
from equipoise.cli.simulate.duration import announce
from equipoise.cli.terminal import print_json
from equipoise.cli.world.options import further_scenario_options, scenario_file_option, scenario_options

if TYPE_CHECKING:
    from equipoise.lab.results.simulation import SimulationResult
    from equipoise.lab.scenario import Scenario


@click.command("simulate", cls=Remembering, short_help="Policies on a synthetic scenario.")
@scenario_options
@policies_option(f"See 'equipoise policies'; may be repeated.  [default: {', '.join(POLICIES)}]")
@import_option
@trials_option(TRIALS, "Trials.")
@seed_option(SEED)
@workers_option
@scenario_file_option
@path_option("--save-scenario", "FILE.toml", "Write the scenario down.")
@further_scenario_options
@path_option("--output", "DIR", "Write report.html, scenario.toml, losses and every trial's numbers there.")
@overwrite_option
@path_option("--checkpoint", "DIR", "Keep finished trials there; the same command goes on where it stopped.")
@cluster_option
@device_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    policies: tuple[str, ...],
    trials: int,
    seed: int,
    workers: int | None,
    scenario: Path | None,
    save_scenario: Path | None,
    output: Path | None,
    overwrite: bool,
    checkpoint: Path | None,
    cluster: str | None,
    device: str,
    as_json: bool,
    **fields: Any,
) -> None:
    """Run policies on a synthetic scenario, on common random numbers, and compare their errors.

    \b
    Example:
      equipoise simulate --noise 0.01,1,3 --dim 5 --budget 100 --policy uniform --policy trace-ucb
    """
    from equipoise.cli.world import scenario as scenarios

    # Everything that can be wrong is found before the first trial.
    check_cluster(cluster, workers)
    world = scenarios.build_scenario(scenario, fields)
    chosen = chosen_policies(policies, world)
    if output is not None:
        from equipoise.report import check_writable

        check_writable(output)
        check_earlier(output, ("report.html", "losses.*", "scenario.toml", "result.npz"), overwrite=overwrite)
    if save_scenario is not None:
        scenarios.save_scenario(save_scenario, world)
    if cluster is None and device == "cpu":
        announce(world, chosen, trials=trials, workers=workers)
    result = _run(world, chosen, trials, seed, workers, cluster, checkpoint, device, quiet=as_json)
    again = command_line(ctx, chosen)
    files = []
    if output is not None:
        from equipoise.report import write_results

        files = write_results(output, result, again=again, overwrite=True)
    if as_json:
        print_json(result.record())
        return
    from equipoise.cli.simulate.output import print_result

    print_result(result, files=files, again=again)


def _run(
    scenario: Scenario,
    policies: list[str],
    trials: int,
    seed: int,
    workers: int | None,
    cluster: str | None,
    checkpoint: Path | None,
    device: str,
    *,
    quiet: bool,
) -> SimulationResult:
    import equipoise as eq

    total = trials * len(policies)
    with (
        trials_bar("Simulating", total=total, checkpoint=checkpoint, quiet=quiet) as progress,
        executor_on(cluster) as executor,
    ):
        return eq.simulate(
            scenario,
            policies,
            trials=trials,
            seed=seed,
            workers=workers,
            executor=executor,
            progress=progress,
            checkpoint=checkpoint,
            device=device,
        )
