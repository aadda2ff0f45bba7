"""What a scenario is made of: contexts, noise, outcomes, delays, truths, one a file.

==================  ===================================================================================
``piece``           what pieces are, and which there are
``contexts``        contexts: normal, heavy-tailed, skewed, ratings, categories, by site, drifting
``gaussian_noise``  normal noise
``student_noise``   noise with heavy tails
``skewed_noise``    skewed noise
``outcomes``        outcomes that are answers or counts
``delay``           outcomes that arrive late
``sparse_truth``    coefficients most of which are 0
``numbers``         plain numbers from what people give
==================  ===================================================================================
"""

from equipoise.lab.pieces.contexts import (
    BinaryContexts,
    DiscreteContexts,
    DriftingContexts,
    GaussianContexts,
    OneHotContexts,
    SiteContexts,
    SkewedContexts,
    StudentContexts,
)
from equipoise.lab.pieces.delay import Delay
from equipoise.lab.pieces.gaussian_noise import GaussianNoise
from equipoise.lab.pieces.outcomes import CountOutcomes, YesNoOutcomes
from equipoise.lab.pieces.piece import KINDS, Contexts, Delays, Noise, Outcomes, Truth, piece
from equipoise.lab.pieces.skewed_noise import SkewedNoise
from equipoise.lab.pieces.sparse_truth import SparseTruth
from equipoise.lab.pieces.student_noise import StudentNoise

__all__ = [
    "KINDS",
    "BinaryContexts",
    "Contexts",
    "CountOutcomes",
    "Delay",
    "Delays",
    "DiscreteContexts",
    "DriftingContexts",
    "GaussianContexts",
    "GaussianNoise",
    "Noise",
    "OneHotContexts",
    "Outcomes",
    "SiteContexts",
    "SkewedContexts",
    "SkewedNoise",
    "SparseTruth",
    "StudentContexts",
    "StudentNoise",
    "Truth",
    "YesNoOutcomes",
    "piece",
]
