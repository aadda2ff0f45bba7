"""Replays of real tables: policies on rows that are known, measured on rows that they did not see.

============  ===============================================================
``run``       replays of one budget or of many
``sources``   any table as named columns: files, Arrow, pandas, Polars, NumPy
``table``     a complete table: contexts, and a target an arm
``fit``       its moments, and the best linear model of every arm
``scenario``  what a result says about the table and its use
``arena``     the table with a budget, which trials can be run in
``rows``      rows dealt to trials, and errors on those held out
``trials``    replayed trials
``result``    what was found: losses on rows held out
``saved``     the units that a policy saves
============  ===============================================================
"""

from equipoise.lab.replay.arena import ReplayArena
from equipoise.lab.replay.result import ReplayResult
from equipoise.lab.replay.run import replay, replay_budgets
from equipoise.lab.replay.saved import UnitsSaved
from equipoise.lab.replay.scenario import ReplayScenario
from equipoise.lab.replay.table import ReplayTable, as_table

__all__ = [
    "ReplayArena",
    "ReplayResult",
    "ReplayScenario",
    "ReplayTable",
    "UnitsSaved",
    "as_table",
    "replay",
    "replay_budgets",
]
