"""The problem that is typed: a file, options, or a file with some options on top."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli.live.common.arguments import parse_budget
from equipoise.cli.live.common.toml_files import read_toml
from equipoise.cli.options import path_option, value_option
from equipoise.cli.values import (
    parse_caps,
    parse_costs,
    parse_floors,
    parse_names,
    parse_objective,
    parse_weights,
    whole_number,
)
from equipoise.cli.world.options import MOST_FEATURES
from equipoise.errors import BudgetTooSmall, EquipoiseError, InvalidArgument

if TYPE_CHECKING:
    from equipoise.core.problem.problem import Problem

_BY_ARM = ("weights", "costs", "floors", "caps")
_OPTIONS = (
    path_option("--problem", "FILE.toml", "The problem; options for single fields take precedence."),
    value_option("--arms", parse_names("--arms"), "A,B,…", "Names of the arms."),
    value_option(
        "--dim", whole_number("--dim", "10", least=1, most=MOST_FEATURES), "D",
        "Length of a context that is a vector; an intercept counts as one of its entries.",
    ),
    value_option(
        "--features", str, "FILE.toml|A,B,…",
        "Fields and a formula, as Features.to_toml writes them; or names of a vector's entries.",
    ),
    value_option("--budget", str, "N", "Number of units; with --costs, money: any positive number."),
    value_option("--objective", parse_objective, "max|mean|P", "What is made small.  [default: max]"),
    value_option("--weights", parse_weights, "W,W,…", "Importance of every arm.  [default: 1 each]"),
    value_option("--costs", parse_costs, "C,C,…", "Cost of a unit of every arm.  [default: 1 each]"),
    value_option("--floors", parse_floors, "K,K,…", "Units that every arm must get."),
    value_option("--caps", parse_caps, "K,K,…", "Units that every arm may get, or none."),
    click.option(
        "--allow-small-budget", is_flag=True, default=None,
        help="Fewer units than d + 1 an arm, for policies that choose features.",
    ),
)  # fmt: skip


def problem_options(command: Any) -> Any:
    """Options that describe a problem; what was not typed is None."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def typed_problem(typed: Mapping[str, Any]) -> Problem:
    """The problem that a file and options describe."""
    from equipoise.core.problem.problem import Problem

    given = {name: value for name, value in typed.items() if value is not None}
    file = given.pop("problem", None)
    values = {} if file is None else read_toml(file, "a problem")
    if "features" in given:
        values.pop("dim", None)
        values["features"] = _features(given.pop("features"))
    if "dim" in given:
        values.pop("features", None)
    by_arm = {name: given.pop(name) for name in _BY_ARM if name in given}
    values |= given
    missing = [f"--{name}" for name in ("arms", "budget") if name not in values]
    if not values.keys() & {"dim", "features"}:
        missing.append("--dim or --features")
    if missing:
        raise InvalidArgument(
            f"the problem lacks {', '.join(missing)}",
            hint="e.g. --arms placebo,drug --dim 3 --budget 100, or --problem FILE.toml",
        )
    values |= {name: _named(name, values["arms"], numbers) for name, numbers in by_arm.items()}
    if "budget" in given:
        values["budget"] = parse_budget(given["budget"], money="costs" in values)
    try:
        return Problem.from_dict(values)
    except EquipoiseError as error:
        if isinstance(error, BudgetTooSmall):
            error.hint = _in_options(error.hint or "")
        if file is not None:
            error.message = f"{file}: {error.message}"
        raise


def _in_options(hint: str) -> str:
    """What the library says of a budget that is too small, as it is typed."""
    words = hint.replace("allow_small_budget=True and ", "--allow-small-budget and --policy ")
    return words.replace("give budget=", "type --budget ")


def _features(text: str) -> Any:
    path = Path(text)
    if path.suffix == ".toml" or path.is_file():
        return read_toml(path, "features")
    return parse_names("--features")(text)


def _named(name: str, arms: Any, numbers: list[float | None]) -> dict[str, float]:
    """Numbers one an arm as numbers by name."""
    names = [f"arm-{i + 1}" for i in range(arms)] if isinstance(arms, int) else list(arms)
    if len(names) != len(numbers):
        raise InvalidArgument(
            f"--{name} has {len(numbers)} numbers for {len(names)} arms", hint="type one an arm"
        )
    return {arm: number for arm, number in zip(names, numbers, strict=True) if number is not None}
