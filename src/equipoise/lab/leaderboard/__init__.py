"""A fixed suite of scenarios, every policy on it, and what Trace-Gain has to reach there."""

from equipoise.lab.leaderboard.bar import BAR_POLICIES, BAR_TRIALS, Limit, bar_record, check_bar
from equipoise.lab.leaderboard.files import write_bar, write_leaderboard
from equipoise.lab.leaderboard.ranking import Standing
from equipoise.lab.leaderboard.record import Leaderboard, Row
from equipoise.lab.leaderboard.run import TRIALS, run_leaderboard
from equipoise.lab.leaderboard.suite import SUITE, Entry

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
