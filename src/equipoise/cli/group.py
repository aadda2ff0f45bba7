"""The command group: finds commands by name, and is the one place where errors meet the user."""

from __future__ import annotations

import contextlib
import difflib
import errno
import importlib
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

import click

from equipoise.cli.statuses import INTERRUPTED, NO_SPACE, WRONG_INPUT, status_of
from equipoise.cli.terminal import say
from equipoise.errors import EquipoiseError, PluginWarning, ScaleWarning, SupportWarning
from equipoise.version import __version__


class SuggestingGroup(click.Group):
    """Commands that know what somebody who mistyped one may have meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names."""
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(ctx):
            raise _NoSuchCommand(args[0], self.list_commands(ctx), ctx)
        return super().resolve_command(ctx, args)


class _NoSuchCommand(click.UsageError):
    def __init__(self, name: str, known: Sequence[str], ctx: click.Context) -> None:
        super().__init__(f"no command {name!r}", ctx)
        self.possibilities = _near(name, known)


class CommandGroup(SuggestingGroup):
    """Commands in sections, imported when they are needed.

    ``sections`` has for every heading of the help its commands, in the order of a first visit, where they
    are, and their line in the help, which is their own ``short_help``. ``plan`` is the object ``command`` of
    :mod:`equipoise.cli.plan`, ``live.units.leaving:lose`` the object ``lose`` of
    :mod:`equipoise.cli.live.units.leaving`. Help imports none of these files; and they import NumPy and the
    library inside their functions, so that typing errors answer at once.
    """

    def __init__(
        self, name: str, *, sections: Mapping[str, Mapping[str, tuple[str, str]]], help: str
    ) -> None:
        super().__init__(
            name,
            help=help,
            callback=_show_help,
            invoke_without_command=True,
            context_settings={"help_option_names": ["-h", "--help"]},
        )
        self.sections = sections
        self._places = {
            name: place for commands in sections.values() for name, (place, _) in commands.items()
        }
        click.version_option(__version__, prog_name=name, message="%(prog)s %(version)s")(self)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of a first visit, not of the alphabet."""
        return list(self._places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's file."""
        if cmd_name not in self._places:
            return None
        module, _, name = self._places[cmd_name].partition(":")
        found = importlib.import_module(f"equipoise.cli.{module}")
        command: click.Command = getattr(found, name or "command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands under the headings of their sections, in columns that are alike."""
        widest = max(map(len, self._places))
        for heading, commands in self.sections.items():
            rows = [(name.ljust(widest), words) for name, (_, words) in commands.items()]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run and exit: 0 if all went well, 2 for wrong input, 130 after Ctrl-C; statuses.py has the rest.

        A closed pipe ends with 1 and without a word; that is click's doing.
        """
        _open_missing_streams()
        _tolerate_narrow_encodings()
        extra["standalone_mode"] = False
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                result = super().main(*args, **extra)
        except EquipoiseError as error:
            _fail(error.message, error.hint, status_of(error))
        except click.NoSuchOption as error:
            # Its own message holds the guesses, too.
            _fail(f"no option {error.option_name!r}", _usage_hint(error))
        except click.ClickException as error:
            _fail(error.format_message(), _usage_hint(error))
        except click.Abort:  # what click makes of Ctrl-C
            sys.exit(INTERRUPTED)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            _give_up_output()
            _fail(
                f"the output cannot be written: {error.strerror}",
                "free some space, then type the same line again: what was stored is not stored twice",
                NO_SPACE,
            )
        # Without standalone mode click returns the status that --help and --version exit with.
        sys.exit(result if isinstance(result, int) else 0)


@click.pass_context
def _show_help(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        say(ctx.get_help())


def _fail(message: str, hint: str | None, status: int = WRONG_INPUT) -> NoReturn:
    say(message, err=True, label="Error:", fg="red", bold=True)
    if hint is not None:
        say(hint, err=True, label="Hint:", bold=True)
    sys.exit(status)


def _give_up_output() -> None:
    """Python would try once more to write what is left, and end with a status of its own."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    # Where in the package it was raised helps nobody who typed a command.
    if issubclass(category, PluginWarning | ScaleWarning | SupportWarning):
        say(str(message), err=True, label="Warning:", fg="yellow", bold=True)
    else:
        say(warnings.formatwarning(message, category, filename, lineno, line).rstrip(), err=True)


def _usage_hint(error: click.ClickException) -> str | None:
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return None
    near = list(getattr(error, "possibilities", None) or [])[:1]
    meant = f"did you mean {near[0]!r}? " if near else _what_is_missing(error) or _what_is_no_option(error)
    return f"{meant}'{error.ctx.command_path} --help' says what can be typed"


def _what_is_missing(error: click.UsageError) -> str:
    if not isinstance(error, click.MissingParameter) or not isinstance(error.param, click.Option):
        return ""
    option = error.param
    return f"type {option.opts[0]} {option.metavar or 'VALUE'} ({(option.help or '').rstrip('.')}); "


def _what_is_no_option(error: click.UsageError) -> str:
    """A key may begin as options do."""
    command = None if error.ctx is None else error.ctx.command
    takes_words = command is not None and any(isinstance(each, click.Argument) for each in command.params)
    if not isinstance(error, click.NoSuchOption) or not takes_words:
        return ""
    return "what begins with - and is no option goes behind --, after all options; "


def _near(name: str, known: Sequence[str]) -> list[str]:
    return difflib.get_close_matches(name, known, n=1, cutoff=0.5)


def _open_missing_streams() -> None:
    # Whoever starts it with a stream closed (<&- in a shell, some schedulers) wants nothing of it, and no
    # traceback. The number of the stream is taken as well, so that no file of a store gets it.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - open to the end
            setattr(sys, name, stream)


def _tolerate_narrow_encodings() -> None:
    # A pipe may be ASCII or cp1252, which have no σ; a question mark is better than a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
