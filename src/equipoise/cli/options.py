"""What commands that run trials have in common: options, policies, and the line to run it again."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from equipoise.cli import completion
from equipoise.cli.terminal import say
from equipoise.cli.values import number_between, typed, whole_number

if TYPE_CHECKING:
    from equipoise.core.policies.base.policy import Policy
    from equipoise.lab.arena import Setting

POLICIES = ("uniform", "oracle", "trace-ucb", "trace-gain")
SPARSE_POLICIES = ("uniform", "sparse-trace-ucb", "sparse-oracle")
TRIALS, SEED = "1000", "0"
# What more would need is measured in hundreds of gigabytes, or in weeks.
MOST_UNITS, MOST_TRIALS = 10_000_000, 100_000_000
LARGEST_SEED = 2**63 - 1


class Remembering(click.Command):
    """Keeps what was typed, to print it as the line to run again."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as usual."""
        ctx.meta["typed"] = list(args)
        return super().parse_args(ctx, args)


def path_option(name: str, metavar: str, help: str) -> Callable[[Any], Any]:
    """An option that names a file or a folder."""
    return click.option(name, type=click.Path(path_type=Path), metavar=metavar, help=help)


def value_option(
    name: str, parse: Callable[[str], Any], metavar: str, help: str, **rest: Any
) -> Callable[[Any], Any]:
    """An option whose text goes through ``parse``."""
    return click.option(name, callback=typed(parse), metavar=metavar, help=help, **rest)


def trials_option(default: str, help: str) -> Callable[[Any], Any]:
    """``--trials``."""
    parse = whole_number("--trials", default, least=1, most=MOST_TRIALS)
    return value_option("--trials", parse, "N", help, default=default, show_default=True)


def seed_option(default: str, help: str = "Draws everything that is random.") -> Callable[[Any], Any]:
    """``--seed``."""
    parse = whole_number("--seed", default, least=0, most=LARGEST_SEED)
    return value_option("--seed", parse, "S", help, default=default, show_default=True)


def policies_option(help: str) -> Callable[[Any], Any]:
    """``--policy``, as often as there are policies."""
    return click.option(
        "--policy",
        "policies",
        multiple=True,
        metavar="SPEC",
        help=help,
        shell_complete=completion.policies,
    )


def folder_option(default: str, what: str) -> Callable[[Any], Any]:
    """``--output`` of commands that always write files."""
    return click.option(
        "--output",
        "folder",
        type=click.Path(path_type=Path),
        default=default,
        show_default=True,
        metavar="DIR",
        help=f"Where {what}; made if it does not exist.",
    )


def checkpoint_option(what: str) -> Callable[[Any], Any]:
    """``--checkpoint`` of commands that always keep what is finished."""
    words = f"Keeps finished {what}, so that the next run goes on there.  [default: checkpoint in --output]"
    return path_option("--checkpoint", "DIR", words)


workers_option = value_option(
    "--workers", whole_number("--workers", "2", least=1), "W", "Threads.  [default: all cores]"
)


def _import_all(ctx: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    if given:
        import equipoise as eq

        for where in given:
            eq.import_policies(where)
    ctx.meta["imports"] = given
    return given


import_option = click.option(
    "--import", "imports", multiple=True, is_eager=True, expose_value=False, callback=_import_all,
    metavar="FILE.py|MODULE", help="Policies of your own; may be repeated.", shell_complete=completion.files,
)  # fmt: skip
"""For every command that takes --policy; eager, so that whatever reads a policy knows them."""
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


ESTIMATOR_HELP = "Final estimates: pooled, ridge, leave-one-out or empirical-bayes.  [default: pooled]"
_estimator = click.option(
    "--estimator", metavar="NAME", help=ESTIMATOR_HELP, shell_complete=completion.estimators
)
_ridge = value_option(
    "--ridge", number_between("--ridge", "0.01", least=0.0, below=math.inf), "LAMBDA",
    "λ of --estimator ridge.  [default: 1/n]",
)  # fmt: skip


def estimator_options(command: Any) -> Any:
    """``--estimator`` and ``--ridge``; what was not typed is None."""
    return _estimator(_ridge(command))


def chosen_policies(typed: tuple[str, ...], setting: Setting) -> list[str]:
    """The policies to run; of the default ones, those that the budget allows."""
    import equipoise as eq

    problem = setting.problem()
    sparse = getattr(setting, "truth", None) is not None
    names = list(typed or (SPARSE_POLICIES if sparse else POLICIES))
    parsed: dict[str, Policy] = {name: eq.parse_policy(name) for name in names}
    late = [name for name in names if type(parsed[name]).forced_start]
    if typed or problem.pays_for_start or not late:
        return names
    say(
        f"Without {', '.join(late)}: adaptive policies start with d + 1 units an arm, "
        f"{problem.least_budget:.10g} in all, and the budget is {setting.budget:.10g}.",
        err=True,
    )
    return [name for name in names if name not in late]


def command_line(ctx: click.Context, policies: list[str]) -> str:
    """The line as it was typed, with the defaults that the numbers depend on spelled out."""
    line = list(ctx.meta["typed"])
    default = click.core.ParameterSource.DEFAULT
    for name in ("trials", "seed"):
        if ctx.get_parameter_source(name) is default:
            line += [f"--{name}", str(ctx.params[name])]
    if not ctx.params["policies"]:
        for policy in policies:
            line += ["--policy", policy]
    if ctx.params.get("output") is not None and not ctx.params["overwrite"]:
        line.append("--overwrite")  # the files of this run
    return shlex.join(["equipoise", str(ctx.info_name), *line])
