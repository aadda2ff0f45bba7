"""``equipoise plan``: the budget that a target error needs, or the error that a budget gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.cluster import cluster_option, executor_on
from equipoise.cli.options import (
    ESTIMATOR_HELP,
    import_option,
    json_option,
    path_option,
    policies_option,
    seed_option,
    trials_option,
    value_option,
)
from equipoise.cli.plan.simulated import print_simulated
from equipoise.cli.progress import progress_bar
from equipoise.cli.terminal import new_table, output, print_json, print_table, say
from equipoise.cli.values import (
    number_between,
    parse_costs,
    parse_noise,
    parse_objective,
    parse_shares,
    parse_weights,
    positive_number,
    whole_number,
)
from equipoise.errors import InvalidArgument
from equipoise.words import counted

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rich.table import Table

    from equipoise.core.problem.objective import Objective
    from equipoise.core.theory.plan import Plan, Simulated
    from equipoise.core.theory.planning import Guess
    from equipoise.lab.scenario import Scenario

TRIALS, SEED = "2000", "0"


@click.command("plan", short_help="The budget of a target error, or the error of a budget.")
@value_option(
    "--noise",
    parse_noise,
    "V,V,…",
    "Noise variance of every arm, separated by commas; low-high is a guess, e.g. 0.5,1,1-4.",
)
@value_option(
    "--dim",
    whole_number("--dim", "10", least=1),
    "D",
    "Number of features in a context; an intercept counts as one of them.",
)
@value_option(
    "--target",
    positive_number("--target", "0.1"),
    "E",
    "Expected squared error that is good enough, in squared units of the outcome.",
)
@value_option("--budget", str, "N", "Number of units, to see which error they give; with --costs, money.")
@path_option(
    "--scenario",
    "FILE.toml",
    "The world as it will be, with delays, losses, closures; its budget counts unless --target or --budget "
    "is typed. Other options take precedence.",
)
@value_option(
    "--objective",
    parse_objective,
    "max|mean|P",
    "What must reach the target: the worst arm, the mean, or the P-norm of the arms' errors.  [default: max]",
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
@value_option(
    "--lost", parse_shares, "P|P,P,…", "Share of outcomes that never arrive, of all arms or of each."
)
@value_option(
    "--delay", number_between("--delay", "20", least=0.0, below=math.inf), "MEAN",
    "Mean number of units after which an outcome arrives, in simulations.",
)  # fmt: skip
@policies_option("Also answer for this policy, by simulation; see 'equipoise policies'. May be repeated.")
@import_option
@trials_option(TRIALS, "Simulated trials at every budget that is tried.")
@seed_option(SEED, "Draws everything random in the simulation.")
@click.option("--estimator", metavar="NAME", help=f"Of simulated trials. {ESTIMATOR_HELP}")
@cluster_option
@json_option
def command(
    noise: list[Guess] | None,
    dim: int | None,
    target: float | None,
    budget: str | None,
    scenario: Path | None,
    objective: Objective | None,
    weights: list[float] | None,
    costs: list[float] | None,
    lost: float | list[float] | None,
    delay: float | None,
    policies: tuple[str, ...],
    trials: int,
    seed: int,
    estimator: str | None,
    cluster: str | None,
    as_json: bool,
) -> None:
    """How many units a target error needs, or which error a budget gives.

    For the optimal and a uniform allocation by closed form; for any --policy by simulation.

    \b
    Examples:
      equipoise plan --noise 0.5,1,1-4 --dim 5 --target 0.1 --policy trace-ucb
      equipoise plan --noise 0.5,1,1-4 --dim 5 --budget 300 --policy trace-ucb
      equipoise plan --scenario trial.toml --policy trace-gain
    """
    import equipoise as eq

    world = None if scenario is None else _world(scenario, lost, delay)
    if world is None:
        _check_given(noise, dim)
    arms = len(noise) if noise is not None else len(world.noise) if world is not None else 0
    where = "in --noise" if noise is not None else "in the scenario"
    for option, values in (("weight", weights), ("cost", costs), ("share", lost)):
        if isinstance(values, list) and len(values) != arms:
            name = "lost" if option == "share" else f"{option}s"
            raise InvalidArgument(
                f"--{name} has {len(values)} numbers for {arms} arms {where}",
                hint=f"type one {option} an arm",
            )
    if cluster is not None and not policies:
        raise InvalidArgument(
            "--cluster has nothing to simulate without --policy", hint="e.g. --policy trace-ucb"
        )
    _check_question(target, budget, world)
    waiting = eq.Delay(mean=delay) if delay and world is None else None
    plan = eq.plan(
        world,
        noise=noise,
        dim=dim,
        target=target,
        budget=_budget(budget, money=costs is not None or (world is not None and world.costs is not None)),
        objective=objective,
        weights=weights,
        costs=costs,
        lost=lost if world is None else None,
        delay=waiting,
    )
    settings: dict[str, Any] = {"scenario": world, "delay": waiting, "estimator": estimator}
    settings |= {"trials": trials, "seed": seed}
    plan = replace(plan, simulated=_simulate(plan, policies, settings, cluster, quiet=as_json))
    if as_json:
        print_json(plan.record())
        return
    print_table(_table(plan), title=_title(plan))
    output().print(_saving(plan) if plan.budget is None else plan.conclusion)
    if plan.guessed:
        output().print("A guessed variance is planned for at the geometric middle of its range.")
    for remark in plan.remarks:
        output().print(remark)
    if plan.simulated:
        output().print()
        print_simulated(plan)


def _world(file: Path, lost: float | list[float] | None, delay: float | None) -> Scenario:
    """The scenario of a file, with what was typed in place of what it says."""
    import equipoise as eq
    from equipoise.cli.world.scenario import read_scenario

    changes: dict[str, Any] = {} if lost is None else {"lost": lost}
    if delay is not None:
        changes["delay"] = eq.Delay(mean=delay) if delay > 0.0 else None
    return read_scenario(file).replace(**changes)


def _check_given(noise: object, dim: object) -> None:
    missing = [option for option, value in (("--noise", noise), ("--dim", dim)) if value is None]
    if missing:
        raise InvalidArgument(
            f"the plan lacks {' and '.join(missing)}",
            hint="e.g. --noise 0.5,1,4 --dim 5, or --scenario FILE.toml",
        )


def _check_question(target: float | None, budget: str | None, world: Scenario | None) -> None:
    """Refuse both, and neither where no scenario has a budget."""
    hint = "--target 0.1 asks for the budget that reaches it, --budget 300 for the error that it gives"
    if target is not None and budget is not None:
        raise InvalidArgument("--target and --budget are two questions", hint=hint)
    if target is None and budget is None and world is None:
        raise InvalidArgument("neither --target nor --budget is typed", hint=hint)


def _budget(text: str | None, *, money: bool) -> float | None:
    if text is None:
        return None
    if money and not text.strip().isdecimal():
        return positive_number("--budget", "99.5")(text)
    return whole_number("--budget", "300", least=1)(text)


def _simulate(
    plan: Plan, policies: tuple[str, ...], settings: Mapping[str, Any], cluster: str | None, *, quiet: bool
) -> tuple[Simulated, ...]:
    if not policies:
        return ()
    from equipoise.core.policies.base.policy import parse_policy

    for policy in policies:
        parse_policy(policy)  # a wrong name is found before the first of them is simulated
    found: list[Simulated] = []
    try:
        with executor_on(cluster) as executor:
            for policy in dict.fromkeys(policies):
                found.append(_simulate_one(plan, policy, settings, executor, quiet=quiet))
    except KeyboardInterrupt:
        _say_goodbye(replace(plan, simulated=tuple(found)), quiet=quiet)
        raise click.Abort from None
    return tuple(found)


def _say_goodbye(plan: Plan, *, quiet: bool) -> None:
    """After Ctrl-C: what is known by then, and that the rest has to be simulated anew."""
    if not quiet:
        print_table(_table(plan), title=_title(plan))
        if plan.simulated:
            print_simulated(plan)
    done = ", ".join(found.policy for found in plan.simulated) or "no policy"
    say(
        f"Stopped. Finished: the closed form, and {done} by simulation. Nothing is kept on disk: typed "
        "again, the line starts anew; fewer --trials are quicker.",
        err=True,
    )


def _simulate_one(
    plan: Plan, policy: str, settings: Mapping[str, Any], executor: Executor | None, *, quiet: bool
) -> Simulated:
    from equipoise.lab.running.planning import simulated

    with progress_bar(f"Simulating {policy}", quiet=quiet) as show:
        return simulated(plan, policy, executor=executor, progress=show, **settings)


def _title(plan: Plan) -> str:
    if isinstance(plan.objective, str):
        goal = {"max": "the worst arm", "mean": "the mean of the arms"}[plan.objective]
    else:
        goal = f"the {plan.objective:g}-norm of the arms"
    what = "Budget" if plan.has_costs else "Units"
    if plan.target is not None:
        asked = f"{what} for an expected squared error of {plan.target:g} ({goal})"
    else:
        given = (
            f"a budget of {plan.budget:.10g}" if plan.has_costs else counted(int(plan.budget or 0), "unit")
        )
        asked = f"Expected squared error of {given} ({goal})"
    return f"{asked}: {counted(len(plan.noise), 'arm')}, {counted(plan.dim, 'feature')}"


def _table(plan: Plan) -> Table:
    header, rows = plan.table()
    words = {"error": "expected error", "root": "root, in units\nof the outcome"}
    table = new_table(*(words.get(heading, heading) for heading in header))
    for row in rows:
        table.add_row(*row)
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
