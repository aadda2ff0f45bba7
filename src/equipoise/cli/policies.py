"""``equipoise policies``: what can be typed after ``--policy``."""

from __future__ import annotations

import dataclasses
import inspect
from typing import TYPE_CHECKING

import click

from equipoise.cli.terminal import new_table, output, print_table

if TYPE_CHECKING:
    from equipoise.core.policies.base.policy import Policy


@click.command("policies", short_help="The policies that --policy understands.")
def command() -> None:
    """List the policies by name, with what they do and their arguments."""
    import equipoise as eq

    table = new_table("policy", "what it does", "arguments", text_columns=3)
    for name, policy in eq.registered_policies().items():
        table.add_row(name, _summary(policy), _arguments(policy))
    print_table(table, title="Policies; an argument that is unset may be left out")
    console = output()
    console.print("Write a policy as NAME[:key=value[:key=value…]], for example")
    console.print("  equipoise demo --policy trace-ucb:width=theory:bound=3:delta=0.05", soft_wrap=True)


def _summary(policy: type[Policy]) -> str:
    # Double backticks mark code for the documentation; on a terminal they are noise.
    return (inspect.getdoc(policy) or "").partition("\n")[0].replace("``", "")


def _arguments(policy: type[Policy]) -> str:
    from equipoise.core.policies.base.arguments import format_argument

    assert dataclasses.is_dataclass(policy)  # register() sees to it
    return "\n".join(
        f"{field.name}={'unset' if field.default is None else format_argument(field.default)}"
        for field in dataclasses.fields(policy)
    )
