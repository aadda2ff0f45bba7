"""``equipoise migrate``: a store of an earlier version, brought up to this one."""

from __future__ import annotations

import click

from equipoise.cli.live.common.arguments import store_options
from equipoise.cli.live.common.opening import WAIT, existing_store, shown_url
from equipoise.cli.terminal import print_json, say


@click.command("migrate", short_help="Bring a store up to this version.")
@store_options
def command(store: str, as_json: bool) -> None:
    """Bring the tables of a store up to this version; make a backup first.

    Programs of the earlier version then still read the store, and refuse to write to it.
    """
    from equipoise.live.stores.opening import migrate

    before, after = migrate(existing_store(store), wait=click.get_current_context().meta[WAIT])
    url = shown_url(store)
    if as_json:
        print_json({"store": url, "before": before, "after": after})
    elif before == after:
        say(f"{url} has schema {after} already.")
    else:
        say(f"{url} had schema {before} and has schema {after} now.")
