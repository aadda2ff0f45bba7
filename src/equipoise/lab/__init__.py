"""Scenarios and simulated trials, compiled: the same functions that an experiment calls.

============  ========================================================"""

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
from equipoise.lab.results.table import TidyTable
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
    "TidyTable",
    "simulate",
]
