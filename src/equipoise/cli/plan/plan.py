"""``equipoise plan``: the budget that a target error needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.cluster import cluster_option, executor_on
from equipoise.cli.options import (
    ESTIMATOR_HELP,
    import_option,
    json_option,
    policies_option,
    seed_option,
    trials_option,
    value_option,
)
from equipoise.cli.plan.simulated import print_simulated
from equipoise.cli.progress import progress_bar
from equipoise.cli.terminal import counted, new_table, output, print_json, print_table, say
from equipoise.cli.values import (
    parse_costs,
    parse_noise,
    parse_objective,
    parse_weights,
    positive_number,
    whole_number,
)
from equipoise.errors import InvalidArgument

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rich.table import Table

    from equipoise.core.problem.objective import Objective
    from equipoise.core.theory.planning import Guess, Plan
    from equipoise.lab.running.budget_curve import SimulatedBudget

TRIALS, SEED = "2000", "0"


@click.command("plan", short_help="The budget that a target error needs.")
@value_option(
    "--noise",
    parse_noise,
    "V,V,…",
    "Noise variance of every arm, separated by commas; low-high is a guess, e.g. 0.5,1,1-4.",
    required=True,
)
@value_option(
    "--dim", whole_number("--dim", "10", least=1), "D", "Number of features in a context.", required=True
)
@value_option(
    "--target",
    positive_number("--target", "0.1"),
    "E",
    "Expected squared error that is good enough, in squared units of the outcome.",
    required=True,
)
@value_option(
    "--objective",
    parse_objective,
    "max|mean|P",
    "What must reach the target: the worst arm, the mean, or the P-norm of the arms' errors.",
    default="max",
    show_default=True,
)
@value_option(
    "--weights",
    parse_weights,
    "W,W,…",
    "Importance of every arm; its error counts that many times.  [default: 1 each]",
)
@value_option(
    "--costs", parse_costs, "C,C,…", "Cost of a unit of every arm; budgets are then money.  [default: 1 each]"
)
@policies_option("Also find this policy's budget, by simulation; see 'equipoise policies'. May be repeated.")
@import_option
@trials_option(TRIALS, "Simulated trials at every budget that is tried.")
@seed_option(SEED, "Draws everything random in the simulation.")
@click.option("--estimator", metavar="NAME", help=f"Of simulated trials. {ESTIMATOR_HELP}")
@cluster_option
@json_option
def command(
    noise: list[Guess],
    dim: int,
    target: float,
    objective: Objective,
    weights: list[float] | None,
    costs: list[float] | None,
    policies: tuple[str, ...],
    trials: int,
    seed: int,
    estimator: str | None,
    cluster: str | None,
    as_json: bool,
) -> None:
    """How many units a target error needs, with the optimal allocation and with a uniform one.

    Those two by closed form; any --policy by simulation.

    \b
    Example:
      equipoise plan --noise 0.5,1,1-4 --dim 5 --target 0.1 --policy trace-ucb
    """
    import equipoise as eq

    for option, values in (("weight", weights), ("cost", costs)):
        if values is not None and len(values) != len(noise):
            raise InvalidArgument(
                f"--{option}s has {len(values)} numbers for {len(noise)} arms in --noise",
                hint=f"type one {option} an arm",
            )
    if cluster is not None and not policies:
        raise InvalidArgument(
            "--cluster has nothing to simulate without --policy", hint="e.g. --policy trace-ucb"
        )
    plan = eq.plan(
        noise=noise,
        dim=dim,
        target=target,
        objective=objective,
        weights=1.0 if weights is None else weights,
        costs=1.0 if costs is None else costs,
    )
    settings: dict[str, Any] = {"trials": trials, "seed": seed}
    if estimator is not None:
        settings["estimator"] = estimator
    simulated = _simulate(plan, policies, settings, cluster, quiet=as_json)
    if as_json:
        record = plan.record()
        if simulated:
            record["simulated"] = {found.policy: found.record() for found in simulated}
        print_json(record)
        return
    print_table(_table(plan), title=_title(plan))
    output().print(_saving(plan))
    if _guessed(plan):
        output().print("A guessed variance is planned for at the geometric middle of its range.")
    if simulated:
        output().print()
        print_simulated(simulated)


def _simulate(
    plan: Plan, policies: tuple[str, ...], settings: Mapping[str, Any], cluster: str | None, *, quiet: bool
) -> list[SimulatedBudget]:
    if not policies:
        return []
    from equipoise.core.policies.base.policy import parse_policy

    for policy in policies:
        parse_policy(policy)  # a wrong name is found before the first of them is simulated
    found: list[SimulatedBudget] = []
    try:
        with executor_on(cluster) as executor:
            for policy in dict.fromkeys(policies):
                found.append(_simulate_one(plan, policy, settings, executor, quiet=quiet))
    except KeyboardInterrupt:
        _say_goodbye(plan, found, quiet=quiet)
        raise click.Abort from None
    return found


def _say_goodbye(plan: Plan, found: list[SimulatedBudget], *, quiet: bool) -> None:
    """After Ctrl-C: what is known by then, and that the rest has to be simulated anew."""
    if not quiet:
        print_table(_table(plan), title=_title(plan))
        if found:
            print_simulated(found)
    done = f"{', '.join(each.policy for each in found)} " if found else "no policy "
    say(
        f"Stopped. Finished: the closed form, and {done}by simulation. Nothing is kept on disk: typed again, "
        "the line starts anew; fewer --trials are quicker.",
        err=True,
    )


def _simulate_one(
    plan: Plan, policy: str, settings: Mapping[str, Any], executor: Executor | None, *, quiet: bool
) -> SimulatedBudget:
    from equipoise.lab.running.budget_curve import simulated_budget

    with progress_bar(f"Simulating {policy}", quiet=quiet) as show:
        return simulated_budget(
            policy,
            noise=plan.noise,
            dim=plan.dim,
            target=plan.target,
            objective=plan.objective,
            weights=plan.weights,
            costs=plan.costs,
            executor=executor,
            progress=show,
            **settings,
        )


def _title(plan: Plan) -> str:
    if isinstance(plan.objective, str):
        goal = {"max": "the worst arm", "mean": "the mean of the arms"}[plan.objective]
    else:
        goal = f"the {plan.objective:g}-norm of the arms"
    what = "Budget" if plan.has_costs else "Units"
    return (
        f"{what} for an expected squared error of {plan.target:g} ({goal}): "
        f"{counted(len(plan.noise), 'arm')}, {counted(plan.dim, 'feature')}"
    )


def _table(plan: Plan) -> Table:
    guessed = _guessed(plan)
    table = new_table(
        "allocation",
        "budget" if plan.has_costs else "units",
        *(["if noise is low – high"] if guessed else []),
        "expected error",
        "units an arm",
    )
    for planned in plan.budgets:
        low, high = planned.budget_range
        table.add_row(
            planned.policy,
            f"{planned.budget:.10g}",
            *([f"{low:.10g} – {high:.10g}"] if guessed else []),
            f"{planned.expected_error:.4g}",
            " ".join(map(str, planned.counts)),
        )
    return table


def _saving(plan: Plan) -> str:
    optimal, uniform = plan["oracle"].budget, plan["uniform"].budget
    unit = "" if plan.has_costs else " units"
    if plan.saving <= 0:
        return f"Both allocations need {optimal:.10g}{unit}: there is nothing to save here."
    return (
        f"The optimal allocation (oracle) needs {optimal:.10g}{unit}, a uniform one {uniform:.10g}: "
        f"it saves {plan.saving:.10g}{unit} ({100 * plan.saving / uniform:.0f} %)."
    )


def _guessed(plan: Plan) -> bool:
    return any(low != high for low, high in (planned.budget_range for planned in plan.budgets))
