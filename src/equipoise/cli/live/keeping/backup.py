"""``equipoise backup``: a copy of the whole store, while others go on writing."""

from __future__ import annotations

from pathlib import Path

import click

from equipoise.cli.live.common.arguments import argument, store_options
from equipoise.cli.live.common.opening import opened_store
from equipoise.cli.terminal import print_json, say
from equipoise.words import counted


@click.command("backup", short_help="Copy the whole store into a file.")
@argument("file", "FILE", "The new file.", type=click.Path(path_type=Path))
@store_options
def command(file: Path, store: str, as_json: bool) -> None:
    """Copy all experiments of the store into FILE, which must not be there, while others go on writing."""
    with opened_store(store) as opened:
        opened.backup(file)
        url = opened.url
    with opened_store(f"sqlite:///{file}") as copied:
        heads = copied.names()
    if as_json:
        found = {head.name: {"rows": head.sequence, "hash": head.hash.hex()} for head in heads}
        print_json({"store": url, "file": str(file), "experiments": found})
        return
    copies = f"{counted(len(heads), 'experiment')} copied to {file}"
    say(f"{copies}; 'equipoise restore {file} --reason TEXT' goes on from there.")
