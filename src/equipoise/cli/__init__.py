"""The command line: every command parses, calls the library and prints."""

from equipoise.cli.group import CommandGroup

main = CommandGroup(
    "equipoise",
    commands=("plan", "policies", "demo", "simulate", "replay", "reproduce", "leaderboard", "data"),
    help="Spend a limited experiment budget so that every model comes out accurate.",
)
"""Entry point of the ``equipoise`` command."""

__all__ = ["main"]
