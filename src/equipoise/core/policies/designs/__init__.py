"""Designs that trials use today: policies that draw every arm with a known probability.

===================  =====================================================================================
``complete``         every arm alike
``permuted_blocks``  blocks in which every arm stands equally often, within strata
``efron``            a biased coin for the arm that is behind
``wei_urn``          an urn that gets balls of the other arms
``minimisation``     marginal balance over categories (Pocock and Simon 1975)
``da_optimal``       contrasts between arms as precise as can be (Atkinson 1982)
``balancing_walk``   sums of contexts kept small (Alweiss, Liu and Sawhney 2021)
``neyman_balanced``  units by the noise, and every direction of the contexts by the same shares
``favouring``        one arm favoured with some probability
``strata``           columns of the contexts as categories
``shares``           the share of every arm among units like the one at hand
===================  =====================================================================================
"""

from equipoise.core.policies.designs.balancing_walk import BalancingWalk
from equipoise.core.policies.designs.complete import Complete
from equipoise.core.policies.designs.da_optimal import DAOptimal
from equipoise.core.policies.designs.efron import Efron
from equipoise.core.policies.designs.minimisation import Minimisation
from equipoise.core.policies.designs.neyman_balanced import NeymanBalanced
from equipoise.core.policies.designs.permuted_blocks import PermutedBlocks
from equipoise.core.policies.designs.wei_urn import WeiUrn

__all__ = [
    "BalancingWalk",
    "Complete",
    "DAOptimal",
    "Efron",
    "Minimisation",
    "NeymanBalanced",
    "PermutedBlocks",
    "WeiUrn",
]
