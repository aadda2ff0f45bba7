import click


@click.command("x", short_help="X.")
def command() -> None:
    """X."""
