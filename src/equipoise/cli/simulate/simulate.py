"""``equipoise simulate``: policies on a synthetic scenario, with the errors of their losses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli import completion
from equipoise.cli.cluster import check_cluster, cluster_option, executor_on
from equipoise.cli.options import (
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
from equipoise.cli.simulate.duration import announce
from equipoise.cli.terminal import print_json
from equipoise.cli.values import (
    any_number,
    number_between,
    parse_caps,
    parse_costs,
    parse_floors,
    parse_names,
    parse_objective,
    parse_shares,
    parse_variances,
    parse_weights,
    positive_number,
    whole_number,
)

if TYPE_CHECKING:
    from equipoise.lab.results.simulation import SimulationResult
    from equipoise.lab.scenario import Scenario

# What more would need is measured in hundreds of gigabytes.
_MOST_FEATURES = 10_000


@click.command("simulate", cls=Remembering, short_help="Policies on a synthetic scenario.")
@value_option("--noise", parse_variances, "V,V,…", "Noise variance of every arm, separated by commas.")
@value_option(
    "--dim",
    whole_number("--dim", "10", least=1, most=_MOST_FEATURES),
    "D",
    "Number of features in a context; an intercept counts as one of them.",
)
@value_option("--budget", str, "N", "Number of units; with --costs, money: any positive number.")
@click.option(
    "--covariance",
    metavar="identity|ar1:RHO|FILE.npy",
    help="Covariance of the contexts; ar1:0.8 has 0.8^|i-j| at i, j.  [default: identity]",
)
@click.option(
    "--contexts",
    metavar="KIND[:key=value…]",
    shell_complete=completion.contexts,
    help="Where contexts come from, e.g. binary:share=0.05.  [default: gaussian]",
)
@click.option("--intercept/--no-intercept", default=None, help="Whether the first feature is the constant 1.")
@policies_option(f"See 'equipoise policies'; may be repeated.  [default: {', '.join(POLICIES)}]")
@import_option
@trials_option(TRIALS, "Trials.")
@seed_option(SEED)
@workers_option
@path_option("--scenario", "FILE.toml", "The scenario; options for single fields take precedence.")
@path_option("--save-scenario", "FILE.toml", "Write the scenario down.")
@value_option("--student-noise", positive_number("--student-noise", "4"), "DOF", "Student t noise.")
@click.option(
    "--outcomes",
    metavar="yes-no|counts[:effect=E]",
    shell_complete=completion.outcomes,
    help="Outcomes that are no real numbers, at rates that go with --noise; needs --intercept.",
)
@value_option(
    "--curvature", any_number("--curvature", "0.3"), "C", "Size of a quadratic term that all arms share."
)
@click.option(
    "--curved", type=click.Choice(["first", "all"]), help="Features that bend the truth.  [default: first]"
)
@click.option(
    "--moment",
    type=click.Choice(["true", "learned"]),
    help="What policies are told about Σ.  [default: true]",
)
@value_option(
    "--delay", number_between("--delay", "20", least=0.0, below=math.inf), "MEAN",
    "Mean number of units after which an outcome arrives (geometric).",
)  # fmt: skip
@value_option(
    "--lost", parse_shares, "P|P,P,…", "Share of outcomes that never arrive, of all arms or of each."
)
@value_option(
    "--accrual", positive_number("--accrual", "4"), "RATE",
    "Units a week (Poisson): the trial has a calendar, and --delay is in weeks.",
)  # fmt: skip
@click.option(
    "--close", "closures", multiple=True, metavar="ARM=UNITS",
    help="Close an arm after so many units of the trial; may be repeated.",
)  # fmt: skip
@value_option(
    "--stop", positive_number("--stop", "0.1"), "E",
    "End trials when the objective of their estimates, looked at every 10 units, is at most E.",
)  # fmt: skip
@value_option("--arms", parse_names("--arms"), "A,B,…", "Names of the arms.  [default: arm-1, arm-2, …]")
@value_option(
    "--features", parse_names("--features"), "A,B,…", "Names of the features.  [default: x[0], x[1], …]"
)
@value_option("--objective", parse_objective, "max|mean|P", "What policies make small.  [default: max]")
@value_option("--weights", parse_weights, "W,W,…", "Importance of every arm.  [default: 1 each]")
@estimator_options
@click.option(
    "--intervals",
    type=click.Choice(["classical", "robust"]),
    help="Whose coverage is shown.  [default: classical]",
)
@value_option(
    "--sparsity", whole_number("--sparsity", "8", least=0), "S",
    "Draw coefficients of ±1 for S features and 0 for all others, anew for every trial.",
)  # fmt: skip
@value_option(
    "--overlap", number_between("--overlap", "0.5", least=0.0, below=math.nextafter(1.0, 2.0)), "P",
    "Share of the arms in which each of the S features matters.  [default: 1]",
)  # fmt: skip
@value_option(
    "--costs",
    parse_costs,
    "C,C,…",
    "Cost of a unit of every arm.  [default: 1 each]",
)
@value_option("--floors", parse_floors, "K,K,…", "Units that every arm must get.")
@value_option("--caps", parse_caps, "K,K,…", "Units that every arm may get, or none.")
@path_option("--output", "DIR", "Write report.html, scenario.toml, losses and every trial's numbers there.")
@overwrite_option
@path_option("--checkpoint", "DIR", "Keep finished trials there; the same command goes on where it stopped.")
@cluster_option
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
    if cluster is None:
        announce(world, chosen, trials=trials, workers=workers)
    result = _run(world, chosen, trials, seed, workers, cluster, checkpoint, quiet=as_json)
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
        )
