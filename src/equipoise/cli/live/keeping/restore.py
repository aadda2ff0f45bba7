"""``equipoise restore``: going on from a backup, in a new epoch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from equipoise.cli import completion
from equipoise.cli.live.common.answers import receipt_option
from equipoise.cli.live.common.arguments import argument, reason_option, writing_options
from equipoise.cli.live.common.opening import existing_store, made_store, opened_store, shown_url
from equipoise.cli.live.common.rehearsing import check_option
from equipoise.cli.terminal import print_json, say
from equipoise.errors import DataNotFound, ExperimentExists, InvalidArgument
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.live.log.checking import Walk
    from equipoise.live.stores.store import Head

_DATABASE = b"SQLite format 3\0"


@click.command("restore", short_help="Go on from a backup.")
@argument(
    "file",
    "[FILE]",
    "A file of 'backup', or of 'export --format archive'.",
    required=False,
    type=click.Path(path_type=Path),
    shell_complete=completion.files,
)
@click.option("--experiment", "names", multiple=True, metavar="NAME", help="Only this one; may be repeated.")
@click.option(
    "--in-place",
    is_flag=True,
    help="Without FILE: the store itself is a backup, put back by tools of its own.",
)
@reason_option(needed=True)
@check_option
@receipt_option
@writing_options
def command(
    file: Path | None,
    names: tuple[str, ...],
    in_place: bool,
    reason: str,
    dry_run: bool,
    with_receipt: bool,
    store: str,
    actor: str | None,
    as_json: bool,
) -> None:
    """Bring the experiments of the backup FILE into the store, which must have none of their names.

    Each begins a new epoch: who comes with a receipt of something that was acknowledged after the backup is
    told that it is gone, instead of being given a used number again. The store is made if it is not there.

    \b
    Examples:
      equipoise restore copy.db --reason "the disk broke"
      equipoise restore copy.db --reason "the disk broke" --store sqlite:///restored.db
    """
    from equipoise.live.experiment.restoring import restore_experiment, try_restore

    if (file is None) != in_place:
        raise InvalidArgument(
            "type either the FILE of a backup or --in-place",
            hint='e.g. equipoise restore copy.db --reason "the disk broke"',
        )
    if file is not None and not file.is_file():
        raise DataNotFound(f"there is no file {file}", hint="'equipoise backup FILE' makes one")
    if file is None:
        existing_store(store)
        chosen = list(names) or _names(store)
    else:
        chosen = list(names) or _names_in(file)
        _refuse_known(store, chosen)
    if len(chosen) > 1:  # one alone is checked where it is restored
        _check_logs(store if file is None else _url_of(file), chosen)
    if dry_run:
        with made_store(store) as at:
            walks = [
                try_restore(store=at, name=name, backup=file, actor=actor, reason=reason) for name in chosen
            ]
        _say_rehearsed(at.url, walks, as_json=as_json)
        return
    restored: dict[str, tuple[Head, str]] = {}
    with made_store(store) as at:
        for name in chosen:
            with restore_experiment(
                store=at, name=name, backup=file, actor=actor, reason=reason
            ) as experiment:
                restored[experiment.name] = at.head(experiment.name), str(experiment.receipt)
    if as_json:
        facts = {
            name: {
                "rows": head.sequence,
                "epoch": head.epoch,
                "hash": head.hash.hex(),
                "receipt": receipt,
            }
            for name, (head, receipt) in restored.items()
        }
        print_json({"store": at.url, "experiments": facts})
        return
    say(f"{counted(len(restored), 'experiment')} restored in {at.url}:")
    for name, (head, receipt) in restored.items():
        say(f"  {name}: {counted(head.sequence, 'row')}, epoch {head.epoch}")
        if with_receipt:
            say(f"  Receipt: {receipt}")


def _say_rehearsed(url: str, walks: list[Walk], *, as_json: bool) -> None:
    """Each with the row that would begin its epoch."""
    if as_json:
        facts = {walk.name: {"rows": walk.sequence + 1, "epoch": walk.epoch + 1} for walk in walks}
        print_json({"store": url, "dry_run": True, "experiments": facts})
        return
    say(f"{counted(len(walks), 'experiment')} would be restored in {url}; nothing was:")
    for walk in walks:
        say(f"  {walk.name}: {counted(walk.sequence + 1, 'row')}, epoch {walk.epoch + 1}")


def _names(url: str) -> list[str]:
    with opened_store(url) as store:
        return [head.name for head in store.names()]


def _names_in(file: Path) -> list[str]:
    """The experiments in a backup, which is a database; an archive holds one."""
    from equipoise.live.log.archive import reading_archive

    if _is_database(file):
        return _names(_url_of(file))
    with reading_archive(file) as (head, _):
        return [head.name]


def _is_database(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(_DATABASE)) == _DATABASE


def _url_of(file: Path) -> str:
    """Of a backup, which may have several experiments."""
    if not _is_database(file):
        raise InvalidArgument(
            f"{file} is no copy of a store; an archive has one experiment",
            hint="type --experiment once, or not at all",
        )
    return f"sqlite:///{file.absolute()}"


def _check_logs(url: str, names: list[str]) -> None:
    """All or none: a log that is missing or broken is found before the first is restored."""
    from equipoise.live.experiment.verification import verify_experiment

    with opened_store(url) as source:
        for name in names:
            verify_experiment(store=source, name=name, decisions=False)


def _refuse_known(url: str, names: list[str]) -> None:
    """All or none: a name that is taken is found before the first is restored."""
    try:
        known = _names(url)
    except DataNotFound:  # it is yet to be made
        return
    taken = [name for name in names if name in known]
    if taken:
        raise ExperimentExists(
            f"{shown_url(url)} has {taken[0]!r} already",
            hint="restore into another store, such as --store sqlite:///new.db; or --experiment another one",
        )
