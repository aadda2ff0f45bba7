"""The paper's results as functions: allocation and loss, concentration, regret, ridge loss, sparse arms."""

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
