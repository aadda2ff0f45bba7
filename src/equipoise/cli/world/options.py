"""Options that describe a scenario, the same for every command that simulates one."""

from __future__ import annotations

import math
from typing import Any

import click

from equipoise.cli import completion
from equipoise.cli.options import estimator_options, path_option, value_option
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

# What more would need is measured in hundreds of gigabytes.
MOST_FEATURES = 10_000

_FIRST = (
    value_option("--noise", parse_variances, "V,V,…", "Noise variance of every arm, separated by commas."),
    value_option(
        "--dim",
        whole_number("--dim", "10", least=1, most=MOST_FEATURES),
        "D",
        "Number of features in a context; an intercept counts as one of them.",
    ),
    value_option("--budget", str, "N", "Number of units; with --costs, money: any positive number."),
    click.option(
        "--covariance",
        metavar="identity|ar1:RHO|FILE.npy",
        help="Covariance of the contexts; ar1:0.8 has 0.8^|i-j| at i, j.  [default: identity]",
    ),
    click.option(
        "--contexts",
        metavar="KIND[:key=value…]",
        shell_complete=completion.contexts,
        help="Where contexts come from, e.g. binary:share=0.05.  [default: gaussian]",
    ),
    click.option(
        "--intercept/--no-intercept", default=None, help="Whether the first feature is the constant 1."
    ),
)
_FURTHER = (
    value_option("--student-noise", positive_number("--student-noise", "4"), "DOF", "Student t noise."),
    click.option(
        "--outcomes",
        metavar="yes-no|counts[:effect=E]",
        shell_complete=completion.outcomes,
        help="Outcomes that are no real numbers, at rates that go with --noise; needs --intercept.",
    ),
    value_option(
        "--curvature", any_number("--curvature", "0.3"), "C", "Size of a quadratic term that all arms share."
    ),
    click.option(
        "--curved",
        type=click.Choice(["first", "all"]),
        help="Features that bend the truth.  [default: first]",
    ),
    click.option(
        "--moment",
        type=click.Choice(["true", "learned"]),
        help="What policies are told about Σ.  [default: true]",
    ),
    value_option(
        "--delay",
        number_between("--delay", "20", least=0.0, below=math.inf),
        "MEAN",
        "Mean number of units after which an outcome arrives (geometric).",
    ),
    value_option(
        "--lost", parse_shares, "P|P,P,…", "Share of outcomes that never arrive, of all arms or of each."
    ),
    value_option(
        "--accrual",
        positive_number("--accrual", "4"),
        "RATE",
        "Units a week (Poisson): the trial has a calendar, and --delay is in weeks.",
    ),
    click.option(
        "--close",
        "closures",
        multiple=True,
        metavar="ARM=UNITS",
        help="Close an arm after so many units of the trial; may be repeated.",
    ),
    value_option(
        "--stop",
        positive_number("--stop", "0.1"),
        "E",
        "End trials when the objective of their estimates, looked at every 10 units, is at most E.",
    ),
    value_option("--arms", parse_names("--arms"), "A,B,…", "Names of the arms.  [default: arm-1, arm-2, …]"),
    value_option(
        "--features", parse_names("--features"), "A,B,…", "Names of the features.  [default: x[0], x[1], …]"
    ),
    value_option("--objective", parse_objective, "max|mean|P", "What policies make small.  [default: max]"),
    value_option("--weights", parse_weights, "W,W,…", "Importance of every arm.  [default: 1 each]"),
    estimator_options,
    click.option(
        "--intervals",
        type=click.Choice(["classical", "robust"]),
        help="Whose coverage is shown.  [default: classical]",
    ),
    value_option(
        "--sparsity",
        whole_number("--sparsity", "8", least=0),
        "S",
        "Draw coefficients of ±1 for S features and 0 for all others, anew for every trial.",
    ),
    value_option(
        "--overlap",
        number_between("--overlap", "0.5", least=0.0, below=math.nextafter(1.0, 2.0)),
        "P",
        "Share of the arms in which each of the S features matters.  [default: 1]",
    ),
    value_option(
        "--costs",
        parse_costs,
        "C,C,…",
        "Cost of a unit of every arm.  [default: 1 each]",
    ),
    value_option("--floors", parse_floors, "K,K,…", "Units that every arm must get."),
    value_option("--caps", parse_caps, "K,K,…", "Units that every arm may get, or none."),
)

scenario_file_option = path_option(
    "--scenario", "FILE.toml", "The scenario; options for single fields take precedence."
)


def scenario_options(command: Any) -> Any:
    """Options that most scenarios need; what was not typed is None."""
    for option in reversed(_FIRST):
        command = option(command)
    return command


def further_scenario_options(command: Any) -> Any:
    """All others."""
    for option in reversed(_FURTHER):
        command = option(command)
    return command
