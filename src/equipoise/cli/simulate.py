"""``equipoise simulate``: policies on a synthetic scenario, with the errors of their losses."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.cluster import check_cluster, cluster_option, executor_on
from equipoise.cli.progress import progress_bar
from equipoise.cli.values import (
    number_between,
    parse_caps,
    parse_costs,
    parse_floors,
    parse_objective,
    parse_variances,
    parse_weights,
    positive_number,
    typed,
    whole_number,
)

if TYPE_CHECKING:
    from equipoise.core.policy import Policy
    from equipoise.lab.result import SimulationResult
    from equipoise.lab.scenario import Scenario

POLICIES = ("uniform", "oracle", "trace-ucb")
TRIALS, SEED = "1000", "0"
# What more would need is measured in hundreds of gigabytes, or in weeks.
_MOST_FEATURES, _MOST_UNITS, _MOST_TRIALS = 10_000, 10_000_000, 100_000_000
_LARGEST_SEED = 2**63 - 1


class _Remembering(click.Command):
    """Keeps what was typed, to print it as the line to run again."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["typed"] = list(args)
        return super().parse_args(ctx, args)


def _path(name: str, metavar: str, help: str) -> Callable[[Any], Any]:
    return click.option(name, type=click.Path(path_type=Path), metavar=metavar, help=help)


def _value(
    name: str, parse: Callable[[str], Any], metavar: str, help: str, **rest: Any
) -> Callable[[Any], Any]:
    return click.option(name, callback=typed(parse), metavar=metavar, help=help, **rest)


@click.command("simulate", cls=_Remembering, short_help="Policies on a synthetic scenario.")
@_value("--noise", parse_variances, "V,V,…", "Noise variance of every arm, separated by commas.")
@_value(
    "--dim",
    whole_number("--dim", "10", least=1, most=_MOST_FEATURES),
    "D",
    "Number of features in a context.",
)
@_value(
    "--budget",
    whole_number("--budget", "350", least=1, most=_MOST_UNITS),
    "N",
    "Number of units; with --costs, money.",
)
@click.option(
    "--covariance",
    metavar="identity|ar1:RHO|FILE.npy",
    help="Covariance of the contexts; ar1:0.8 has 0.8^|i-j| at i, j.  [default: identity]",
)
@click.option(
    "--policy", "policies", multiple=True, metavar="SPEC",
    help=f"See 'equipoise policies'; may be repeated.  [default: {', '.join(POLICIES)}]",
)  # fmt: skip
@_value(
    "--trials",
    whole_number("--trials", TRIALS, least=1, most=_MOST_TRIALS),
    "N",
    "Trials.",
    default=TRIALS,
    show_default=True,
)
@_value(
    "--seed", whole_number("--seed", SEED, least=0, most=_LARGEST_SEED), "S", "Draws everything random.",
    default=SEED, show_default=True,
)  # fmt: skip
@_value("--workers", whole_number("--workers", "2", least=1), "W", "Threads.  [default: all cores]")
@_path("--scenario", "FILE.toml", "The scenario; options for single fields take precedence.")
@_path("--save-scenario", "FILE.toml", "Write the scenario down.")
@_value("--student-noise", positive_number("--student-noise", "4"), "DOF", "Student t noise.")
@click.option(
    "--moment",
    type=click.Choice(["true", "learned"]),
    help="What policies are told about Σ.  [default: true]",
)
@_value(
    "--delay", number_between("--delay", "20", least=0.0, below=math.inf), "MEAN",
    "Mean number of units after which an outcome arrives (geometric).",
)  # fmt: skip
@_value(
    "--lost",
    number_between("--lost", "0.1", least=0.0, below=1.0),
    "P",
    "Share of outcomes that never arrive.",
)
@_value("--objective", parse_objective, "max|mean|P", "What policies make small.  [default: max]")
@_value("--weights", parse_weights, "W,W,…", "Importance of every arm.  [default: 1 each]")
@_value(
    "--costs",
    parse_costs,
    "C,C,…",
    "Cost of a unit of every arm.  [default: 1 each]",
)
@_value("--floors", parse_floors, "K,K,…", "Units that every arm must get.")
@_value("--caps", parse_caps, "K,K,…", "Units that every arm may get, or none.")
@_path("--output", "DIR", "Write report.html, a table of losses and every trial's numbers there.")
@_path("--checkpoint", "DIR", "Keep finished trials there; the same command goes on where it stopped.")
@cluster_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
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
    from equipoise.cli import simulate_scenario

    # Everything that can be wrong is found before the first trial.
    check_cluster(cluster, workers)
    world = simulate_scenario.build_scenario(scenario, fields)
    chosen = _chosen(policies, world)
    if output is not None:
        from equipoise.report import check_writable

        check_writable(output)
    if save_scenario is not None:
        simulate_scenario.save_scenario(save_scenario, world)
    result = _run(world, chosen, trials, seed, workers, cluster, checkpoint, quiet=as_json)
    again = _command_line(ctx, chosen)
    files = []
    if output is not None:
        from equipoise.report import write_results

        files = write_results(output, result, again=again)
    if as_json:
        click.echo(json.dumps(result.record(), indent=2, allow_nan=False))
        return
    from equipoise.cli.simulate_output import print_result

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

    done = 0

    def count(finished: int, total: int) -> None:
        nonlocal done
        done = finished
        show(finished, total)

    try:
        with executor_on(cluster) as executor, progress_bar("Simulating", quiet=quiet) as show:
            return eq.simulate(
                scenario,
                policies,
                trials=trials,
                seed=seed,
                workers=workers,
                executor=executor,
                progress=count,
                checkpoint=checkpoint,
            )
    except KeyboardInterrupt:
        click.echo(_farewell(done, trials * len(policies), checkpoint), err=True)
        raise click.Abort from None


def _chosen(typed: tuple[str, ...], scenario: Scenario) -> list[str]:
    """The policies to run; of the default ones, those that the budget allows."""
    import equipoise as eq

    problem = scenario.problem()
    names = list(typed or POLICIES)
    parsed: dict[str, Policy] = {name: eq.parse_policy(name) for name in names}
    if typed or problem.pays_for_start:
        return names
    late = [name for name in names if type(parsed[name]).forced_start]
    click.echo(
        f"Without {', '.join(late)}: adaptive policies start with d + 1 units an arm, "
        f"{problem.least_budget:.10g} in all, and the budget is {scenario.budget:.10g}.",
        err=True,
    )
    return [name for name in names if name not in late]


def _farewell(done: int, total: int, checkpoint: Path | None) -> str:
    if checkpoint is None:
        return f"Stopped after {done} of {total} trials. None are kept; with --checkpoint DIR they would be."
    return f"Stopped. {done} of {total} trials are kept in {checkpoint}: type the same line again to go on."


def _command_line(ctx: click.Context, policies: list[str]) -> str:
    """The line as it was typed, with the defaults that the numbers depend on spelled out."""
    line = list(ctx.meta["typed"])
    default = click.core.ParameterSource.DEFAULT
    for name in ("trials", "seed"):
        if ctx.get_parameter_source(name) is default:
            line += [f"--{name}", str(ctx.params[name])]
    if not ctx.params["policies"]:
        for policy in policies:
            line += ["--policy", policy]
    return shlex.join(["equipoise", "simulate", *line])
