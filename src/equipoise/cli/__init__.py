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
``live``         commands of experiments that are kept in a store
``options``      options that commands have in common
``completion``   what a shell offers after Tab
``world``        the scenario that is typed
``cluster``      ``--cluster`` and ``--device``
``overwriting``  ``--overwrite``
``values``       text that was typed, as numbers and names
``statuses``     what commands end with
``terminal``     the door through which text leaves
``progress``     bars with the time left
``losses``       tables that simulations and replays print alike
===============  =====================================================
"""

from equipoise.cli.group import CommandGroup

main = CommandGroup(
    "equipoise",
    sections={
        "Plan and study": {
            "demo": "demo",
            "plan": "plan",
            "policies": "policies",
            "simulate": "simulate",
            "sweep": "sweep",
            "replay": "replay",
            "reproduce": "reproduce",
            "leaderboard": "leaderboard",
            "data": "data",
        },
        "Run an experiment": {
            "new": "live.setup.new",
            "ask": "live.units.ask",
            "tell": "live.units.tell:tell",
            "correct": "live.units.tell:correct",
            "lose": "live.units.leaving:lose",
            "withdraw": "live.units.leaving:withdraw",
            "received": "live.units.leaving:received",
            "expire": "live.units.expire",
            "redact": "live.units.redact",
        },
        "Change its course": {
            "close-arm": "live.setup.arms:close_arm",
            "reopen-arm": "live.setup.arms:reopen_arm",
            "add-arm": "live.setup.arms:add_arm",
            "budget": "live.setup.course:budget",
            "pause": "live.setup.course:pause",
            "resume": "live.setup.course:resume",
            "note": "live.setup.course:note",
        },
        "Look at it": {
            "list": "live.reading.listing",
            "status": "live.reading.status",
            "units": "live.reading.units",
            "log": "live.reading.log",
            "forecast": "live.reading.forecast",
            "report": "live.reading.report",
        },
        "Keep it and prove it": {
            "verify": "live.keeping.verify",
            "export": "live.keeping.export",
            "import": "live.keeping.importing",
            "backup": "live.keeping.backup",
            "restore": "live.keeping.restore",
            "migrate": "live.keeping.migrate",
        },
    },
    help="Spend a limited experiment budget so that every model comes out accurate.",
)
"""Entry point of the ``equipoise`` command."""

__all__ = ["main"]
