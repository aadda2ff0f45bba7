"""Replays of real tables: policies on rows that are known, measured on rows that they did not see."""

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
