"""``equipoise policies``: what can be typed after ``--policy``."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import click

from equipoise.cli.options import import_option
from equipoise.cli.terminal import new_table, output, print_table

if TYPE_CHECKING:
    from equipoise.core.policies.base.policy import Policy


@click.command("policies", short_help="The policies that --policy understands.")
@import_option
def command() -> None:
    """List the policies by name, with what they do and their arguments.

    Besides the package's own there are those of other packages that offer some, and of --import.
    """
    import equipoise as eq
    from equipoise.core.policies.base.plugins import origin

    table = new_table("policy", "what it does", "arguments", text_columns=3)
    names_from: dict[str, list[str]] = {}
    for name, policy in eq.registered_policies().items():
        table.add_row(name, _summary(policy), _arguments(policy))
        names_from.setdefault(origin(policy), []).append(name)
    print_table(table, title="Policies; an argument that is unset may be left out")
    console = output()
    del names_from["equipoise"]
    for place, names in sorted(names_from.items()):
        console.print(f"From {_shown(place)}: {', '.join(names)}", soft_wrap=True)
    console.print("Write a policy as NAME[:key=value[:key=value…]], for example")
    console.print("  equipoise demo --policy trace-ucb:width=theory:bound=3:delta=0.05", soft_wrap=True)


def _shown(place: str) -> str:
    """A file as it would be typed here."""
    path, here = Path(place), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else place


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
