"""The policies, one a file. Importing this package registers them."""

from equipoise.core.policies.b_as import BAS
from equipoise.core.policies.ch_as import CHAS
from equipoise.core.policies.gafs_max import GAFSMax
from equipoise.core.policies.gfsp_max import GFSPMax
from equipoise.core.policies.lasso import StaticLasso, UniformLasso
from equipoise.core.policies.oracle import Oracle
from equipoise.core.policies.sparse_oracle import SparseOracle
from equipoise.core.policies.sparse_trace_ucb import SparseTraceUCB
from equipoise.core.policies.trace_gain import TraceGain
from equipoise.core.policies.trace_ucb import TraceUCB
from equipoise.core.policies.uniform import Uniform
from equipoise.core.policies.var_ucb import VarUCB

__all__ = [
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
]
