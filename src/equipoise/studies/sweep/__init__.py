"""Sweeps: policies along any field of a scenario or of a policy, or two of them against each other.

===========  =========================================================================
``axes``     what is swept, by name: fields of scenarios, of their pieces, of policies
``points``   the grid: a scenario and policies a point, checked before anything runs
``run``      runs it: ``equipoise.sweep``
``result``   what was found: tidy tables, paired differences, one simulation a point
``drawing``  the figure of it
===========  =========================================================================
"""

from equipoise.studies.sweep.points import SweepPoint, sweep_points, swept_scenarios
from equipoise.studies.sweep.result import SweepResult
from equipoise.studies.sweep.run import sweep

__all__ = ["SweepPoint", "SweepResult", "sweep", "sweep_points", "swept_scenarios"]
