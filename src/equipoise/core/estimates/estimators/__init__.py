"""The estimators: from a trial's state to every arm's coefficients, written once for all layers.

===================  =====================================================================================
``pooled``           towards what the other arms have in common, as far as the data justify: the default
``ridge``            one λ for all arms, given or 1/n: the paper's
``leave_one_out``    one λ an arm by left-out residuals
``empirical_bayes``  every arm for itself, towards 0, as far as its data justify
``estimator``        what an estimator is, and which there are
``stein``            how far an arm moves towards a center
``spectrum``         eigenvalues and eigenvectors of S
``workspace``        where estimators work, and where they leave what they found
===================  =====================================================================================
"""

from equipoise.core.estimates.estimators import empirical_bayes, leave_one_out, pooled, ridge
from equipoise.core.estimates.estimators.estimator import (
    ESTIMATORS,
    RIDGE,
    Estimator,
    check_estimator,
    estimator_words,
)
from equipoise.core.estimates.estimators.workspace import Workspace, new_workspace

__all__ = [
    "ESTIMATORS",
    "RIDGE",
    "Estimator",
    "Workspace",
    "check_estimator",
    "empirical_bayes",
    "estimator_words",
    "leave_one_out",
    "new_workspace",
    "pooled",
    "ridge",
]
