"""Scenarios and simulated trials, compiled: the same functions that an experiment calls.

=============  ===============================================================
``scenario``   the world that trials happen in, as plain data
``pieces``     what it is made of: contexts, noise, delays, truths
``plain``      scenarios as dictionaries and TOML
``world``      the same in compiled form: draws contexts, truths and outcomes
``arrivals``   when outcomes arrive: at once, late or never
``turns``      outcomes of arms that are pulled in turns
``arena``      anything that trials can be run in, a scenario or a table
``trials``     one trial after another as one compiled loop
``staged``     the same for policies that choose features
``verdict``    what a finished trial is worth
``finish``     its coefficients of all features, where some were chosen
``running``    trials by the thousand: threads, clusters, checkpoints, budgets
``results``    what they found: losses with their errors, and tables of them
``replay``     trials on the rows of a real table
``data``       public ratings, fetched, read and cut to complete tables
``libraries``  those that only some need, imported when they are used
=============  ===============================================================
"""

from equipoise.lab.pieces import (
    Delay,
    DiscreteContexts,
    GaussianContexts,
    GaussianNoise,
    OneHotContexts,
    SkewedNoise,
    SparseTruth,
    StudentContexts,
    StudentNoise,
)
from equipoise.lab.results.estimate import Estimate
from equipoise.lab.results.policy import PolicyResult
from equipoise.lab.results.simulation import SimulationResult
from equipoise.lab.results.table import Table
from equipoise.lab.running.simulate import simulate
from equipoise.lab.scenario import GaussianScenario, Scenario

__all__ = [
    "Delay",
    "DiscreteContexts",
    "Estimate",
    "GaussianContexts",
    "GaussianNoise",
    "GaussianScenario",
    "OneHotContexts",
    "PolicyResult",
    "Scenario",
    "SimulationResult",
    "SkewedNoise",
    "SparseTruth",
    "StudentContexts",
    "StudentNoise",
    "Table",
    "simulate",
]
