"""Which arms' models a curve has moved, because they got other contexts than all units did.

The curve is what the squares of the features explain in all arms together, and their products where these are
found, less its best line over all units, and less its mean. Its mean over an arm's contexts is how far the
arm's outcomes are moved. That counts where it is more than contexts dealt like cards would give, and more
than a little beside the standard error of a mean of the arm's outcomes.
"""

from __future__ import annotations

import numpy as np

from equipoise.core.arrays import Vector
from equipoise.core.diagnosis.evidence import Evidence, Flags
from equipoise.core.diagnosis.lack_of_fit import LackOfFit, product_pairs, terms_of
from equipoise.core.diagnosis.terms import Shared, try_terms

FIT_LEVEL = 0.001
"""p value below which lack of fit counts."""
_LEVEL = 0.05
# In standard errors: a bias of a half takes a 95 % interval to 92 %.
_MATTERS = 0.5


def drifted_arms(evidence: Evidence, inflation: Vector, fit: LackOfFit) -> Flags:
    """Whether the contexts that each arm got have moved its model, as far as these terms tell."""
    from scipy.special import ndtri

    moved, contexts = np.zeros(len(evidence.names), bool), evidence.scaled()
    pairs = [(j, j) for j in range(contexts.shape[1])]
    if min(fit.p_products, *(arm.p_products for arm in fit.arms)) < FIT_LEVEL:
        pairs += product_pairs(contexts)
    terms = terms_of(contexts, pairs)
    shared = Shared(try_terms(evidence, terms, inflation), len(pairs))
    if not shared.known:
        return moved
    curve = terms @ shared.coef
    curve = curve - contexts @ np.linalg.lstsq(contexts, curve, rcond=None)[0]
    curve = curve - curve.mean()
    spread, count = float(np.mean(curve**2)), len(curve)
    reach = -float(ndtri(_LEVEL / (2.0 * len(moved))))
    for i in range(len(moved)):
        mine = evidence.of_arm(i)
        own, outcomes, units = contexts[mine], evidence.outcomes[mine], int(np.count_nonzero(mine))
        dof = units - own.shape[1]
        if dof < 1:
            continue
        left = outcomes - own @ np.linalg.lstsq(own, outcomes, rcond=None)[0]
        error = np.sqrt(float(left @ left) / dof / units)
        by_chance = np.sqrt(spread * max(1.0 / units - 1.0 / count, 0.0))
        moved[i] = abs(float(curve[mine].mean())) > max(reach * by_chance, _MATTERS * error)
    return moved
