"""Spend a limited experiment budget so that every model comes out accurate.

>>> import equipoise as eq
>>> eq.Experiment, eq.Problem, eq.TraceUCB  # doctest: +ELLIPSIS
(<class '...Experiment'>, <class '...Problem'>, <class '...TraceUCB'>)
"""

from importlib.metadata import version as _version

from equipoise import errors
from equipoise.core import theory
from equipoise.core.assignment import Assignment
from equipoise.core.estimates import Estimates
from equipoise.core.experiment import Experiment
from equipoise.core.fitted import ArmEstimate
from equipoise.core.planning import Plan, plan
from equipoise.core.policies import (
    BAS,
    CHAS,
    GAFSMax,
    GFSPMax,
    Oracle,
    SparseOracle,
    SparseTraceUCB,
    StaticLasso,
    TraceGain,
    TraceUCB,
    Uniform,
    UniformLasso,
    VarUCB,
)
from equipoise.core.policy import Policy, parse_policy, register, registered_policies
from equipoise.core.problem import Problem
from equipoise.core.support import Support
from equipoise.core.widths import noise_bound
from equipoise.errors import EquipoiseError
from equipoise.lab import GaussianScenario, Scenario, SimulationResult, simulate
from equipoise.lab.data import (
    DenseTable,
    data_terms,
    fetch_data,
    inspect_ratings,
    load_jester,
    load_movielens,
)
from equipoise.lab.replay import ReplayResult, ReplayTable, as_table, replay

__version__ = _version("equipoise")

__all__ = [
    "BAS",
    "CHAS",
    "ArmEstimate",
    "Assignment",
    "DenseTable",
    "EquipoiseError",
    "Estimates",
    "Experiment",
    "GAFSMax",
    "GFSPMax",
    "GaussianScenario",
    "Oracle",
    "Plan",
    "Policy",
    "Problem",
    "ReplayResult",
    "ReplayTable",
    "Scenario",
    "SimulationResult",
    "SparseOracle",
    "SparseTraceUCB",
    "StaticLasso",
    "Support",
    "TraceGain",
    "TraceUCB",
    "Uniform",
    "UniformLasso",
    "VarUCB",
    "__version__",
    "as_table",
    "data_terms",
    "errors",
    "fetch_data",
    "inspect_ratings",
    "load_jester",
    "load_movielens",
    "noise_bound",
    "parse_policy",
    "plan",
    "register",
    "registered_policies",
    "replay",
    "simulate",
    "theory",
]
