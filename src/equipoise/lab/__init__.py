"""Scenarios and simulated trials, compiled: the same functions that an experiment calls.

===============  =================================================================
``scenario``     the world that trials happen in, as plain data
``fields``       its fields one by one, as plain values
``consistency``  fields of a scenario that cannot be said together
``plain``        scenarios as dictionaries and TOML
``pieces``       what it is made of: contexts, noise, outcomes, delays, one a file
``trial``        one trial: draws, the loop over units, the judgement
``gpu``          the same trials on a GPU, with the same bits
``arena``        anything that trials can be run in, a scenario or a table
``running``      trials by the thousand: threads, clusters, checkpoints, budgets
``results``      what they found: losses with their errors, and tables of them
``replay``       trials on the rows of a real table
``forecast``     the rest of a running experiment, simulated from where it stands
``data``         public ratings, fetched, read and cut to complete tables
===============  =================================================================
"""

from equipoise.core.tables.tidy import TidyTable
from equipoise.lab.pieces import (
    Accrual,
    BinaryContexts,
    Closure,
    CountOutcomes,
    Delay,
    DiscreteContexts,
    DriftingContexts,
    DropOut,
    GaussianContexts,
    GaussianNoise,
    OneHotContexts,
    SiteContexts,
    SkewedContexts,
    SkewedNoise,
    SparseTruth,
    StopRule,
    StudentContexts,
    StudentNoise,
    YesNoOutcomes,
)
from equipoise.lab.results.estimate import Estimate
from equipoise.lab.results.policy import PolicyResult
from equipoise.lab.results.simulation import SimulationResult
from equipoise.lab.running.predictability import predictability
from equipoise.lab.running.simulate import simulate
from equipoise.lab.scenario import GaussianScenario, Scenario

__all__ = [
    "Accrual",
    "BinaryContexts",
    "Closure",
    "CountOutcomes",
    "Delay",
    "DiscreteContexts",
    "DriftingContexts",
    "DropOut",
    "Estimate",
    "GaussianContexts",
    "GaussianNoise",
    "GaussianScenario",
    "OneHotContexts",
    "PolicyResult",
    "Scenario",
    "SimulationResult",
    "SiteContexts",
    "SkewedContexts",
    "SkewedNoise",
    "SparseTruth",
    "StopRule",
    "StudentContexts",
    "StudentNoise",
    "TidyTable",
    "YesNoOutcomes",
    "predictability",
    "simulate",
]
