"""``equipoise import``: the experiment that an archive holds."""

from __future__ import annotations

from pathlib import Path

import click

from equipoise.cli import completion
from equipoise.cli.live.common.answers import answer, receipt_option
from equipoise.cli.live.common.arguments import argument, writing_options
from equipoise.cli.live.common.hints import taken_names
from equipoise.cli.live.common.opening import made_store
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
@receipt_option
@writing_options
def command(
    archive: Path, mode: str | None, with_receipt: bool, store: str, actor: str | None, as_json: bool
) -> None:
    """Make the experiment that ARCHIVE holds: the same rows, the same chain, the same name.

    The store must have none of that name, and is made if it is not there. The chain is checked first.
    """
    from equipoise.live.experiment.restoring import import_archive

    with (
        taken_names("archives keep their name; import it into another store: --store sqlite:///other.db"),
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
