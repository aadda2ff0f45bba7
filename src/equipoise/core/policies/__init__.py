"""The policies, one a file. Importing this package registers them.

====================  =======================================================================
``uniform``           round robin, the baseline that learns nothing
``oracle``            the optimal static allocation; knows the noise (Prop. 1)
``best_allocation``   the same for the finite-sample loss, in whole units
``var_ucb``           a noise bound, blind to the contexts (Remark 2)
``trace_ucb``         the arm whose error bound is largest (Algorithm 1)
``trace_gain``        the arm whose prediction for the context at hand is least certain; ours
``sparse_trace_ucb``  finds the features that matter, then Trace-UCB among them (Algorithm 2)
``sparse_oracle``     knows the noise, and which features matter
``lasso``             static allocations, then a lasso
``ch_as``             a Chernoff–Hoeffding bound on the variance (Carpentier et al. 2011)
``b_as``              a Bernstein bound on the standard deviation (Carpentier et al. 2011)
``gafs_max``          greedy with forced selections (Antos et al. 2008)
``gfsp_max``          the same in phases (Antos et al. 2008)
``designs``           randomised designs that trials use today
``base``              what policies have in common
====================  =======================================================================
"""

from equipoise.core.policies.b_as import BAS
from equipoise.core.policies.best_allocation import BestAllocation
from equipoise.core.policies.ch_as import CHAS
from equipoise.core.policies.designs import (
    BalancingWalk,
    Complete,
    DAOptimal,
    Efron,
    Minimisation,
    NeymanBalanced,
    PermutedBlocks,
    WeiUrn,
)
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
    "BalancingWalk",
    "BestAllocation",
    "Complete",
    "DAOptimal",
    "Efron",
    "GAFSMax",
    "GFSPMax",
    "Minimisation",
    "NeymanBalanced",
    "Oracle",
    "PermutedBlocks",
    "SparseOracle",
    "SparseTraceUCB",
    "StaticLasso",
    "TraceGain",
    "TraceUCB",
    "Uniform",
    "UniformLasso",
    "VarUCB",
    "WeiUrn",
]
