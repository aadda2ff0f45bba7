"""Replays of real tables: policies on rows that are known, measured on rows that they did not see.

============  ===============================================================
``run``       replays of one budget or of many
``reading``   any table as numbers: files, data frames, gaps, text, dates
``table``     a complete table: contexts, and a target an arm
``describe``  a table column by column, before anything is replayed
``scale``     targets in different units
``split``     groups that stay together, a past that is read before a future
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
from equipoise.lab.replay.describe import TableDescription, describe_table
from equipoise.lab.replay.result import ReplayResult, ReplayResults
from equipoise.lab.replay.run import replay
from equipoise.lab.replay.saved import UnitsSaved
from equipoise.lab.replay.scenario import ReplayScenario
from equipoise.lab.replay.table import ReplayTable, as_table

__all__ = [
    "ReplayArena",
    "ReplayResult",
    "ReplayResults",
    "ReplayScenario",
    "ReplayTable",
    "TableDescription",
    "UnitsSaved",
    "as_table",
    "describe_table",
    "replay",
]
