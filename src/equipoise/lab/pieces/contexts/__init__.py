"""Where contexts come from, one kind a file.

==============  =====================================================================
``correlated``  covariances of features, and contexts that have one
``gaussian``    normal contexts
``student``     contexts with heavy tails
``discrete``    contexts on a few values, as ratings are
``one_hot``     categories
``skewed``      contexts with one long tail
``binary``      features that a share of the units have
``sites``       contexts that differ from site to site, one site after the other
``drifting``    contexts whose means move during the trial
==============  =====================================================================
"""

from equipoise.lab.pieces.contexts.binary import BinaryContexts
from equipoise.lab.pieces.contexts.correlated import CorrelatedContexts
from equipoise.lab.pieces.contexts.discrete import DiscreteContexts
from equipoise.lab.pieces.contexts.drifting import DriftingContexts
from equipoise.lab.pieces.contexts.gaussian import GaussianContexts
from equipoise.lab.pieces.contexts.one_hot import OneHotContexts
from equipoise.lab.pieces.contexts.sites import SiteContexts
from equipoise.lab.pieces.contexts.skewed import SkewedContexts
from equipoise.lab.pieces.contexts.student import StudentContexts

__all__ = [
    "BinaryContexts",
    "CorrelatedContexts",
    "DiscreteContexts",
    "DriftingContexts",
    "GaussianContexts",
    "OneHotContexts",
    "SiteContexts",
    "SkewedContexts",
    "StudentContexts",
]
