"""``equipoise import``: the experiment that an archive holds."""

from __future__ import annotations

from pathlib import Path

import click

from equipoise.cli import completion
from equipoise.cli.live.common.answers import answer, receipt_option
from equipoise.cli.live.common.arguments import argument, writing_options
from equipoise.cli.live.common.hints import taken_names
from equipoise.cli.live.common.opening import made_store
from equipoise.cli.live.common.rehearsing import check_option, say_rehearsed
from equipoise.words import counted


@click.command("import", short_help="Make the experiment of an archive.")
@argument(
    "archive",
    "ARCHIVE",
    "A file of 'export --format archive'.",
    type=click.Path(path_type=Path),
    shell_complete=completion.files,
)
@click.option(
    "--mode",
    type=click.Choice(["live", "practice"]),
    help="Refuse an archive of the other mode.  [default: take either]",
)
@check_option
@receipt_option
@writing_options
def command(
    archive: Path, mode: str | None, dry_run: bool, with_receipt: bool, store: str, actor: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Make the experiment that ARCHIVE holds: the same rows, the same chain, the same name.

    The store must have none of that name, and is made if it is not there. The chain is checked first.
    """
    from equipoise.live.experiment.restoring import import_archive, try_import

    taken = taken_names("archives keep their name; import it into another store: --store sqlite:///other.db")
    if dry_run:
        with taken, made_store(store) as at:
            walk = try_import(archive, store=at, mode=mode, actor=actor)
        facts = {"store": at.url, "mode": walk.mode, "rows": walk.sequence, "hash": walk.hash.hex()}
        rows = f"{counted(walk.sequence, 'row')}, chain sound"
        sentence = f"{walk.name} would be in {at.url}: {rows}; nothing was imported."
        say_rehearsed(walk.name, sentence, facts, as_json=as_json)
        return
    with (
        taken,
        made_store(store) as at,
        import_archive(archive, store=at, mode=mode, actor=actor) as experiment,
    ):
        head = experiment.store.head(experiment.name)
        facts = {
            "store": at.url,
            "mode": head.mode,
            "rows": head.sequence,
            "hash": head.hash.hex(),
        }
        sentence = f"{experiment.name} is in {at.url}: {counted(head.sequence, 'row')}, chain sound."
        answer(experiment, sentence, facts, as_json=as_json, with_receipt=with_receipt)
