"""Joint sparsity: which features matter to any arm, and the lasso fits to compare with.

====================  =================================================================
``recovery``          the features that matter to any arm: stage one of Algorithm 2
``own``               every arm's own features, where arms differ
``soft``              a lasso for an arm whose features are too weak to be chosen
``criteria``          how many features, when nobody says
``elimination``       drops the feature that the data miss least, until all are evident
``cross_validation``  λ by cross-validation
``path``              which features enter, in which order, at which λ
``block_lasso``       the ℓ1/ℓ2 lasso over arms, by block coordinate descent
``acceleration``      where descent is heading, from its last few epochs
``task``              where the block lasso works
``refit``             least squares on a support that grows
``standardised``      rows of all arms with columns of unit length
``rows``              rows as people hand them in, checked
``lasso``             lasso fits of all arms, for comparison
====================  =================================================================
"""

from equipoise.core.sparse.criteria import CRITERIA
from equipoise.core.sparse.lasso import fit_lasso
from equipoise.core.sparse.path import Entry
from equipoise.core.sparse.recovery import BY_SPARSITY, Recovery, recover_support, recover_supports

__all__ = [
    "BY_SPARSITY",
    "CRITERIA",
    "Entry",
    "Recovery",
    "fit_lasso",
    "recover_support",
    "recover_supports",
]
