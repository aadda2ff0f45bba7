"""Arguments and options of every command that works on a live experiment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from equipoise.cli import completion
from equipoise.cli.live.common.opening import WAIT
from equipoise.cli.options import MOST_UNITS, import_option, json_option
from equipoise.cli.values import number_between, positive_number, whole_number
from equipoise.errors import InvalidArgument

_LONGEST_NUMBER = 18  # digits

STORE = "sqlite:///equipoise.db"
"""Where experiments are, unless --store or EQUIPOISE_STORE says otherwise."""


class Described(click.Argument):
    """An argument that describes itself, as options do; click's own can only from 8.5 on."""

    def __init__(self, *names: Any, help: str, **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.help = help


def argument(name: str, metavar: str, help: str, **rest: Any) -> Callable[[Any], Any]:
    """An argument with a sentence about it."""
    return click.argument(name, cls=Described, metavar=metavar, help=help, **rest)


experiment_argument = argument(
    "name", "NAME", "The experiment, or PROJECT/EXPERIMENT.", shell_complete=completion.experiments
)
arm_argument = argument("arm", "ARM", "The name of an arm.")

store_option = click.option(
    "--store", envvar="EQUIPOISE_STORE", default=STORE, metavar="URL", show_default=True,
    help="Where experiments are: sqlite:///FILE or postgresql://…; also by EQUIPOISE_STORE.",
)  # fmt: skip
_seconds = number_between("--wait", "30", least=0.0, below=1e6)


def _keep_wait(ctx: click.Context, option: click.Parameter, text: str) -> None:
    ctx.meta[WAIT] = _seconds(text.strip())


wait_option = click.option(
    "--wait", default="30", show_default=True, metavar="SECONDS", expose_value=False, callback=_keep_wait,
    help="How long to wait for others who write; then the command ends with 3.",
)  # fmt: skip
actor_option = click.option(
    "--actor", envvar="EQUIPOISE_ACTOR", metavar="WHO",
    help="Who does this, for the log; also by EQUIPOISE_ACTOR.  [default: the login name]",
)  # fmt: skip
id_option = click.option(
    "--id", "by_id", is_flag=True, help="UNIT is the number of the unit, counted from 1, not its key."
)

show_seed_option = click.option(
    "--show-seed", is_flag=True, help="Show the seed, too: with it and a unit's key, lots can be foretold."
)


def named_unit(text: str, *, by_id: bool) -> str | int:
    """What the library calls the unit: its key, or its number."""
    if not by_id:
        return text
    if not text.isdecimal() or len(text) > _LONGEST_NUMBER:
        raise InvalidArgument(f"--id: {text!r} is not the number of a unit", hint="without --id it is a key")
    return int(text)


def parse_budget(text: str, *, money: bool = True) -> float:
    """A budget as it is typed: a number of units; of money any positive number."""
    if money and not text.isdecimal():
        return positive_number("--budget", "99.5")(text)
    return whole_number("--budget", "350", least=1, most=None if money else MOST_UNITS)(text)


def unit_argument(*, needed: bool = True) -> Callable[[Any], Any]:
    """``UNIT``: the key of a unit."""
    metavar = "UNIT" if needed else "[UNIT]"
    return argument("unit", metavar, "The key of a unit.", required=needed, shell_complete=completion.units)


def reason_option(*, needed: bool) -> Callable[[Any], Any]:
    """``--reason``, which the log demands of some changes."""
    words = "Why, for the log" + ("; needed." if needed else ".")
    return click.option("--reason", metavar="TEXT", required=needed, help=words)


def store_options(command: Any) -> Any:
    """``--store``, ``--wait`` and ``--json``, of commands that open no experiment."""
    return store_option(wait_option(json_option(command)))


def reading_options(command: Any) -> Any:
    """The same and ``--import``, of commands that change nothing."""
    return import_option(store_options(command))


def writing_options(command: Any) -> Any:
    """The same and ``--actor``, of commands that write to the log."""
    return import_option(store_option(wait_option(actor_option(json_option(command)))))
