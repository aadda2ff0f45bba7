"""Scenarios and simulated trials, compiled: the same functions that an experiment calls."""

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
from equipoise.lab.result import Estimate, PolicyResult, SimulationResult
from equipoise.lab.scenario import GaussianScenario, Scenario
from equipoise.lab.simulate import simulate
from equipoise.lab.table import Table

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
