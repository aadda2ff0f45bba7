"""Joint sparsity: which features matter to any arm, and the lasso fits to compare with."""

from equipoise.core.sparse.criteria import CRITERIA
from equipoise.core.sparse.lasso import fit_lasso
from equipoise.core.sparse.path import Entry
from equipoise.core.sparse.recovery import BY_SPARSITY, Recovery, recover_support

__all__ = ["BY_SPARSITY", "CRITERIA", "Entry", "Recovery", "fit_lasso", "recover_support"]
