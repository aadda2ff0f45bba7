"""The paper's results as functions, and planning by them.

=================  =============================================================
``static``         static allocation: shares, units, losses (Prop. 1)
``concentration``  how far σ̂² and Tr(ΣΣ̂⁻¹) can stray (Props. 2 and 3)
``regret``         what is proved about Trace-UCB (Theorems 1, 2 and 3)
``ridge``          expected error of ridge regression
``sparse``         what is proved about sparse arms
``recovery``       how many rows it takes to find the features that matter
``conditions``     what finding them asks of Σ, coefficients and rows: C1 to C5
``support``        what Σ says about features that some arm uses, and the others
``planning``       how many units a target error needs, and which error a budget gives
``plan``           what planning ends with
=================  =============================================================
"""

from equipoise.core.theory.concentration import (
    mean_square_norm_bound,
    trace_bounds,
    trace_constant,
    variance_width,
)
from equipoise.core.theory.conditions import RecoveryConditions, recovery_conditions
from equipoise.core.theory.recovery import (
    complete_overlap_pulls,
    recovery_failure,
    recovery_pulls,
    sparsity_overlap,
)
from equipoise.core.theory.regret import (
    high_probability_loss,
    pulls_lower_bound,
    regret_rate,
    smallest_share,
)
from equipoise.core.theory.ridge import ridge_loss
from equipoise.core.theory.sparse import sparse_loss_bound, static_lasso_bound
from equipoise.core.theory.static import (
    best_allocation,
    ideal_allocation,
    optimal_allocation,
    optimal_loss,
    optimal_loss_bounds,
    optimal_shares,
    static_loss,
    static_losses,
    uniform_allocation,
    wild_arms,
)

__all__ = [
    "RecoveryConditions",
    "best_allocation",
    "complete_overlap_pulls",
    "high_probability_loss",
    "ideal_allocation",
    "mean_square_norm_bound",
    "optimal_allocation",
    "optimal_loss",
    "optimal_loss_bounds",
    "optimal_shares",
    "pulls_lower_bound",
    "recovery_conditions",
    "recovery_failure",
    "recovery_pulls",
    "regret_rate",
    "ridge_loss",
    "smallest_share",
    "sparse_loss_bound",
    "sparsity_overlap",
    "static_lasso_bound",
    "static_loss",
    "static_losses",
    "trace_bounds",
    "trace_constant",
    "uniform_allocation",
    "variance_width",
    "wild_arms",
]
