"""The paper's results as functions: allocation and loss, concentration, regret, ridge loss."""

from equipoise.core.ridge import ridge_loss
from equipoise.core.theory.concentration import (
    mean_square_norm_bound,
    trace_bounds,
    trace_constant,
    variance_width,
)
from equipoise.core.theory.regret import (
    high_probability_loss,
    pulls_lower_bound,
    regret_rate,
    smallest_share,
)
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
    "best_allocation",
    "high_probability_loss",
    "ideal_allocation",
    "mean_square_norm_bound",
    "optimal_allocation",
    "optimal_loss",
    "optimal_loss_bounds",
    "optimal_shares",
    "pulls_lower_bound",
    "regret_rate",
    "ridge_loss",
    "smallest_share",
    "static_loss",
    "static_losses",
    "trace_bounds",
    "trace_constant",
    "uniform_allocation",
    "variance_width",
    "wild_arms",
]
