"""``equipoise list``: the experiments in a store."""

from __future__ import annotations

from typing import Any

import click

from equipoise.cli.live.common.arguments import argument, store_options
from equipoise.cli.live.common.opening import opened_store
from equipoise.cli.live.common.times import shown
from equipoise.cli.terminal import new_table, print_json, print_table, say
from equipoise.words import counted


@click.command("list", short_help="The experiments in a store.")
@argument("project", "[PROJECT]", "Only those of one project.", required=False)
@store_options
def command(project: str | None, store: str, as_json: bool) -> None:
    """List the experiments in a store, or those of one PROJECT."""
    from equipoise.live.log.entries import moment

    with opened_store(store) as opened:
        heads, url = opened.names(project), opened.url
    facts: list[dict[str, Any]] = [
        {
            "name": head.name,
            "mode": head.mode,
            "rows": head.sequence,
            "epoch": head.epoch,
            "hash": head.hash.hex(),
            "created": moment(head.created),
            "updated": moment(head.updated),
        }
        for head in heads
    ]
    if as_json:
        plain = [{**fact, **{key: fact[key].isoformat() for key in ("created", "updated")}} for fact in facts]
        print_json({"store": url, "experiments": plain})
        return
    if not facts:
        say(f"{url} has no experiments{'' if project is None else f' of {project}'}.")
        return
    table = new_table("experiment", "mode", "rows", "begun", "last change", text_columns=2)
    for fact in facts:
        times = [shown(fact[key]).removesuffix(" UTC")[:-3] for key in ("created", "updated")]
        table.add_row(fact["name"], fact["mode"], f"{fact['rows']:,}", *times)
    print_table(table, title=f"{counted(len(facts), 'experiment')} in {url} (times are UTC)")
