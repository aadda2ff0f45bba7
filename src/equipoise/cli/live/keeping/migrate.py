"""``equipoise migrate``: a store of an earlier version, brought up to this one."""

from __future__ import annotations

import click

from equipoise.cli.live.common.arguments import store_options
from equipoise.cli.live.common.opening import WAIT, existing_store, shown_url
from equipoise.cli.live.common.rehearsing import check_option
from equipoise.cli.terminal import print_json, say


@click.command("migrate", short_help="Bring a store up to this version.")
@check_option
@store_options
def command(dry_run: bool, store: str, as_json: bool) -> None:
    """Bring the tables of a store up to this version; make a backup first.

    Programs of the earlier version then still read the store, and refuse to write to it. A dry run does
    everything and takes it back: nobody else can write meanwhile.
    """
    from equipoise.live.stores.opening import migrate

    wait = click.get_current_context().meta[WAIT]
    before, after = migrate(existing_store(store), wait=wait, dry_run=dry_run)
    url = shown_url(store)
    if as_json:
        dry = {"dry_run": True} if dry_run else {}
        print_json({"store": url, **dry, "before": before, "after": after})
    elif before == after:
        say(f"{url} has schema {after} already.")
    elif dry_run:
        say(f"{url} has schema {before} and would have schema {after}; nothing was changed.")
    else:
        say(f"{url} had schema {before} and has schema {after} now.")
