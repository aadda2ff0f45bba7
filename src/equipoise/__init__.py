"""Spend a limited experiment budget so that every model comes out accurate.

>>> import equipoise as eq
>>> eq.Experiment, eq.Problem, eq.TraceUCB  # doctest: +ELLIPSIS
(<class '...Experiment'>, <class '...Problem'>, <class '...TraceUCB'>)
"""

from importlib import import_module

from equipoise.version import __version__

TYPE_CHECKING = False  # type checkers know better; importing typing would be most of this module's time

if TYPE_CHECKING:
    from equipoise import errors
    from equipoise.core import arithmetic, theory
    from equipoise.core.arithmetic.numerics import NUMERICS
    from equipoise.core.arms.widths import noise_bound
    from equipoise.core.estimates.arm_estimate import ArmEstimate
    from equipoise.core.estimates.estimates import Estimates
    from equipoise.core.estimates.support import Support
    from equipoise.core.experiment.assignment import Assignment
    from equipoise.core.experiment.experiment import Experiment
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
    from equipoise.core.policies.base.policy import Policy, parse_policy, register, registered_policies
    from equipoise.core.problem.problem import Problem
    from equipoise.core.theory.planning import Plan, plan
    from equipoise.errors import EquipoiseError
    from equipoise.lab.data import (
        DenseTable,
        data_terms,
        fetch_data,
        inspect_ratings,
        load_jester,
        load_movielens,
    )
    from equipoise.lab.replay import ReplayResult, ReplayTable, as_table, replay
    from equipoise.lab.results.simulation import SimulationResult
    from equipoise.lab.running.simulate import simulate
    from equipoise.lab.scenario import GaussianScenario, Scenario

# Where each name is defined, by what has to be imported for it; whole modules are their own home. Nothing
# is imported before it is used, so that --version and --help wait for neither NumPy nor Numba.
_HOMES = {
    "equipoise.core.experiment.assignment": ("Assignment",),
    "equipoise.core.estimates.estimates": ("Estimates",),
    "equipoise.core.experiment.experiment": ("Experiment",),
    "equipoise.core.estimates.arm_estimate": ("ArmEstimate",),
    "equipoise.core.arithmetic.numerics": ("NUMERICS",),
    "equipoise.core.theory.planning": ("Plan", "plan"),
    "equipoise.core.policies": (
        "BAS",
        "CHAS",
        "GAFSMax",
        "GFSPMax",
        "Oracle",
        "SparseOracle",
        "SparseTraceUCB",
        "StaticLasso",
        "TraceGain",
        "TraceUCB",
        "Uniform",
        "UniformLasso",
        "VarUCB",
    ),
    "equipoise.core.policies.base.policy": ("Policy", "parse_policy", "register", "registered_policies"),
    "equipoise.core.problem.problem": ("Problem",),
    "equipoise.core.estimates.support": ("Support",),
    "equipoise.core.arms.widths": ("noise_bound",),
    "equipoise.errors": ("EquipoiseError",),
    "equipoise.lab.data": (
        "DenseTable",
        "data_terms",
        "fetch_data",
        "inspect_ratings",
        "load_jester",
        "load_movielens",
    ),
    "equipoise.lab.replay": ("ReplayResult", "ReplayTable", "as_table", "replay"),
    "equipoise.lab.results.simulation": ("SimulationResult",),
    "equipoise.lab.scenario": ("GaussianScenario", "Scenario"),
    "equipoise.lab.running.simulate": ("simulate",),
}
_MODULES = {
    "arithmetic": "equipoise.core.arithmetic",
    "core": "equipoise.core",
    "errors": "equipoise.errors",
    "lab": "equipoise.lab",
    "theory": "equipoise.core.theory",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BAS",
    "CHAS",
    "NUMERICS",
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
    "arithmetic",
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


if not TYPE_CHECKING:  # a type checker that saw this would believe in every name

    def __getattr__(name: str) -> object:
        if name in _HOME_OF:
            value = getattr(import_module(_HOME_OF[name]), name)
        elif name in _MODULES:
            value = import_module(_MODULES[name])
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value  # found without this function from now on
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_MODULES})
