"""``equipoise data``: which real ratings there are, fetching them, and what a file holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from equipoise.cli import completion
from equipoise.cli.group import SuggestingGroup
from equipoise.cli.options import json_option
from equipoise.cli.terminal import new_table, output, print_json, print_table, say
from equipoise.cli.values import typed, whole_number
from equipoise.errors import InvalidArgument, TermsNotAccepted
from equipoise.words import counted

if TYPE_CHECKING:
    from equipoise.lab.data import DenseTable, RatingsSummary


@click.group("data", cls=SuggestingGroup, short_help="Real ratings: list, fetch, look at, cut.")
def command() -> None:
    """Ratings of jokes and movies for replays: fetched from where they are published, or files at hand."""


@command.command("list", short_help="What can be fetched, and where it is kept.")
@click.option("--terms", is_flag=True, help="Print the terms of use in full.")
def list_sources(terms: bool) -> None:
    """List the sources by name, with their size and whether they are here."""
    from equipoise.lab.data import SOURCES, cache_folder

    table = new_table("source", "what it is", "download", "here", text_columns=2)
    for source in SOURCES.values():
        table.add_row(source.name, source.what, source.size, "yes" if source.fetched() else "no")
    print_table(table, title="Sources; movielens is another name of ml-25m")
    console = output()
    console.print(f"Kept in {cache_folder()}", soft_wrap=True)
    if not terms:
        console.print("All for research only; 'equipoise data list --terms' prints the terms of use.")
        return
    shown: dict[str, list[str]] = {}
    for source in SOURCES.values():
        shown.setdefault(source.terms, []).append(source.name)
    for text, names in shown.items():
        console.print(f"\n{', '.join(names)}", style="bold", soft_wrap=True)
        console.print(text, soft_wrap=True)


@command.command("fetch", short_help="Download a source into the cache.")
@click.argument("name", shell_complete=completion.sources)
@click.option("--accept-terms", is_flag=True, help="Accept the terms of use without being asked.")
@click.option("--from", "mirror", metavar="URL", help="Folder on another server; checksums stay the same.")
def fetch(name: str, accept_terms: bool, mirror: str | None) -> None:
    """Download NAME from where it is published: jester, movielens, or a name that 'list' shows.

    A download that was cut goes on where it stopped. Files are checked before they are kept.
    """
    from equipoise.cli.progress import progress_bar
    from equipoise.lab.data import fetch_data
    from equipoise.lab.data.fetch import terms_accepted
    from equipoise.lab.data.sources import find_source

    source = find_source(name)
    accepted = accept_terms or terms_accepted(name)
    if not accepted:
        say(f"{source.terms}\n", err=True)
        accepted = _ask(f"Download {source.name} ({source.size}) under these terms?")
        if not accepted:
            raise TermsNotAccepted(
                f"the terms of {source.name} were not accepted; nothing was downloaded",
                hint=f"equipoise data fetch {name} --accept-terms",
            )
    try:
        with progress_bar(f"Fetching {source.name}", first="Connecting") as show:
            files = fetch_data(
                name, accept_terms=accepted, mirror=mirror, progress=lambda _, done, total: show(done, total)
            )
    except KeyboardInterrupt:
        say("Stopped. What has arrived is kept: type the same line again to go on.", err=True)
        raise click.Abort from None
    console = output()
    for file in files:
        console.print(f"{file.path}{'' if file.new else ' (was there)'}", soft_wrap=True)
        console.print(f"  sha256 {file.sha256}", soft_wrap=True)
        console.print(f"  checked against: {file.checked}", soft_wrap=True)


@command.command("show", short_help="What a file of ratings holds.")
@click.argument("file", nargs=-1, required=True)
@click.option(
    "--items", callback=typed(lambda text: _numbers(text)), metavar="P,P,…",
    help="Count the users who rated all of P items.",
)  # fmt: skip
@json_option
def show(file: tuple[str, ...], items: list[int] | None, as_json: bool) -> None:
    """Read FILE, or a source that was fetched, and say how many users are complete for P items.

    Several files of Jester count as one.
    """
    import equipoise as eq

    summary = eq.inspect_ratings(file[0] if len(file) == 1 else list(file), items=items)
    if as_json:
        print_json(summary.record())
    else:
        _print_summary(summary, ", ".join(file))


@command.command("cut", short_help="Write a table without gaps, for 'equipoise replay'.")
@click.argument("file", nargs=-1, required=True)
@click.option("--output", "path", type=click.Path(path_type=Path), required=True, metavar="FILE.csv")
@click.option("--items", callback=typed(whole_number("--items", "30", least=2)), metavar="P",
              help="Items that every user rated.  [default: 49 jokes, 30 movies]")  # fmt: skip
@click.option("--targets", callback=typed(whole_number("--targets", "5", least=0)), metavar="M",
              help="How many of them are to be predicted.  [default: 9 jokes, 5 movies]")  # fmt: skip
@click.option("--users", callback=typed(whole_number("--users", "3811", least=1)), metavar="K",
              help="The first K of the users.  [default: all]")  # fmt: skip
@click.option("--method", type=click.Choice(["popular", "search"]),
              help="The most rated items, or those that keep most users.  [default: popular jokes, "
              "searched movies]")  # fmt: skip
@click.option("--rating-count/--no-rating-count", default=None,
              help="The number of ratings as a target too.  [default: for jokes]")  # fmt: skip
def cut(file: tuple[str, ...], path: Path, **choices: int | str | bool | None) -> None:
    """Cut the users who rated all of P items out of FILE, or out of a source that was fetched."""
    from equipoise.lab.data.inspection import load_ratings

    given = {name: value for name, value in choices.items() if value is not None}
    table = load_ratings(file[0] if len(file) == 1 else list(file), **given)
    table.write_csv(path)
    _print_table(table, path)


def _ask(question: str) -> bool:
    try:
        return click.confirm(question, err=True)
    except click.Abort:  # nobody there to answer
        say(err=True)
        return False


def _numbers(text: str) -> list[int]:
    parse = whole_number("--items", "10,15,20", least=1, most=1_000)
    numbers = [parse(entry.strip()) for entry in text.split(",") if entry.strip()]
    if not numbers:
        raise InvalidArgument("--items names no numbers", hint="e.g. --items 10,15,20")
    return numbers


def _print_summary(summary: RatingsSummary, name: str) -> None:
    console = output()
    share = summary.ratings / (summary.users * summary.items)
    console.print(f"{name}: {summary.source}", style="bold", soft_wrap=True)
    console.print(
        f"{counted(summary.users, 'user')}, {counted(summary.items, 'item')}, "
        f"{counted(summary.ratings, 'rating')} ({share:.1%})"
    )
    console.print(f"ratings from {summary.low:g} to {summary.high:g}\n")
    table = new_table("items", "most rated", "by search", text_columns=0)
    for items, users in summary.complete.items():
        table.add_row(str(items), f"{users['popular']:,}", f"{users['search']:,}")
    print_table(table, title="Users who rated all of them")


def _print_table(table: DenseTable, path: Path) -> None:
    console = output()
    console.print(table.describe(), soft_wrap=True)
    console.print(f"\nWritten to {path}. To compare policies on it:", soft_wrap=True)
    console.print(f"  equipoise replay {path} --targets {','.join(table.target_names)}", soft_wrap=True)
