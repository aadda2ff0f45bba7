"""The command line: every command parses, calls the library and prints.

===============  =====================================================
``group``        finds a command by its name, and says what went wrong
``plan``         ``equipoise plan``
``policies``     ``equipoise policies``
``demo``         ``equipoise demo``
``simulate``     ``equipoise simulate``
``replay``       ``equipoise replay``
``sweep``        ``equipoise sweep``
``reproduce``    ``equipoise reproduce``
``leaderboard``  ``equipoise leaderboard``
``data``         ``equipoise data``
``world``        the scenario that is typed
``options``      options that commands have in common
``completion``   what a shell offers after Tab
``world``        the scenario that is typed
``cluster``      ``--cluster``
``overwriting``  ``--overwrite``
``values``       text that was typed, as numbers and names
``terminal``     the door through which text leaves
``progress``     bars with the time left
``losses``       tables that simulations and replays print alike
===============  =====================================================
"""

from equipoise.cli.group import CommandGroup

main = CommandGroup(
    "equipoise",
    commands=("plan", "policies", "demo", "simulate", "sweep", "replay", "reproduce", "leaderboard", "data"),
    help="Spend a limited experiment budget so that every model comes out accurate.",
)
"""Entry point of the ``equipoise`` command."""

__all__ = ["main"]
