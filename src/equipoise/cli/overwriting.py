"""Files of an earlier run: replaced where that was typed or is answered, else an error before any work."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from equipoise.cli.terminal import visible
from equipoise.errors import OutputExists

overwrite_option = click.option(
    "--overwrite", is_flag=True, help="Replace files of an earlier run in --output without asking."
)


def check_earlier(folder: Path, patterns: Iterable[str], *, overwrite: bool) -> None:
    """Ask at a terminal, and refuse elsewhere, if files that would be written are in the folder already."""
    there = sorted({path for pattern in patterns for path in folder.glob(pattern) if path.is_file()})
    if overwrite or not there:
        return
    more = f" and {len(there) - 1} more" if len(there) > 1 else ""
    found = f"{there[0]}{more} {'are' if more else 'is'} there from an earlier run"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise OutputExists(
            found,
            hint=f"type --overwrite to replace {'them' if more else 'it'}, or --output for another folder",
        )
    if not click.confirm(visible(f"{found}. Replace {'them' if more else 'it'}?"), err=True):
        raise click.Abort
