"""A fixed suite of scenarios, every policy on it, and what Trace-Gain has to reach there.

============  ==================================================
``suite``     the scenarios, fixed and named
``run``       every policy on every one of them
``record``    what was found: losses, and ratios to the oracle's
``ranking``   policies by the geometric mean of their ratios
``bar``       what Trace-Gain has to reach, and whether it does
``markdown``  both as tables for a page
``drawing``   the picture
``files``     what is written to a folder
============  ==================================================
"""

from equipoise.studies.leaderboard.bar import BAR_POLICIES, BAR_TRIALS, Limit, bar_record, check_bar
from equipoise.studies.leaderboard.files import write_bar, write_leaderboard
from equipoise.studies.leaderboard.ranking import Standing
from equipoise.studies.leaderboard.record import Leaderboard, Row
from equipoise.studies.leaderboard.run import TRIALS, run_leaderboard
from equipoise.studies.leaderboard.suite import SUITE, Entry

__all__ = [
    "BAR_POLICIES",
    "BAR_TRIALS",
    "SUITE",
    "TRIALS",
    "Entry",
    "Leaderboard",
    "Limit",
    "Row",
    "Standing",
    "bar_record",
    "check_bar",
    "run_leaderboard",
    "write_bar",
    "write_leaderboard",
]
