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
            "demo": ("demo", "A simulated trial, compared with equal shares."),
            "plan": ("plan", "The budget of a target error, or the error of a budget."),
            "policies": ("policies", "The policies that --policy understands."),
            "simulate": ("simulate", "Policies on a synthetic scenario."),
            "sweep": ("sweep", "Policies along any field of a scenario or policy."),
            "replay": ("replay", "Policies on a complete table of your own."),
            "reproduce": ("reproduce", "The paper's figures, and its claims checked."),
            "leaderboard": ("leaderboard", "Every policy on a fixed suite of scenarios."),
            "data": ("data", "Real ratings: list, fetch, look at, cut."),
        },
        "Run an experiment": {
            "new": ("live.setup.new", "Set up an experiment in a store."),
            "ask": ("live.units.ask", "Assign a unit to an arm, or many from a file."),
            "tell": ("live.units.tell:tell", "Enter the outcome of a unit, or many from a file."),
            "correct": ("live.units.tell:correct", "Replace the outcome of a unit, or many from a file."),
            "lose": ("live.units.leaving:lose", "Say that an outcome will never come, or many from a file."),
            "withdraw": ("live.units.leaving:withdraw", "Take a unit out for good, or many from a file."),
            "received": (
                "live.units.leaving:received",
                "Say that a unit got another arm, or many from a file.",
            ),
            "expire": ("live.units.expire", "Declare outcomes lost that are long overdue."),
            "redact": ("live.units.redact", "Erase a person's data for good, or many from a file."),
        },
        "Change its course": {
            "close-arm": ("live.setup.arms:close_arm", "Give an arm no further units."),
            "reopen-arm": ("live.setup.arms:reopen_arm", "Let a closed arm get units again."),
            "add-arm": ("live.setup.arms:add_arm", "Let a new arm join."),
            "budget": ("live.setup.course:budget", "Change the budget."),
            "pause": ("live.setup.course:pause", "Assign no units until 'resume'."),
            "resume": ("live.setup.course:resume", "Assign units again after 'pause'."),
            "note": ("live.setup.course:note", "Write a note into the log."),
        },
        "Look at it": {
            "list": ("live.reading.listing", "The experiments in a store."),
            "status": ("live.reading.status", "How an experiment stands."),
            "units": ("live.reading.units", "What is known of every unit."),
            "log": ("live.reading.log", "What happened, row by row."),
            "forecast": ("live.reading.forecast", "Simulate the rest from where it stands."),
            "report": ("live.reading.report", "The experiment as one HTML file."),
        },
        "Keep it and prove it": {
            "verify": ("live.keeping.verify", "Prove that nothing was lost or changed."),
            "export": ("live.keeping.export", "Write the units, or the whole log, to a file."),
            "import": ("live.keeping.importing", "Make the experiment of an archive."),
            "backup": ("live.keeping.backup", "Copy the whole store into a file."),
            "restore": ("live.keeping.restore", "Go on from a backup."),
            "migrate": ("live.keeping.migrate", "Bring a store up to this version."),
        },
    },
    help="Spend a limited experiment budget so that every model comes out accurate.",
)
"""Entry point of the ``equipoise`` command."""

__all__ = ["main"]
