"""What a scenario is made of: contexts, noise, outcomes, truths, and the course of a trial, one a file.

==================  ===================================================================================
``piece``           what pieces are, and which there are
``contexts``        contexts: normal, heavy-tailed, skewed, ratings, categories, by site, drifting
``gaussian_noise``  normal noise
``student_noise``   noise with heavy tails
``skewed_noise``    skewed noise
``outcomes``        outcomes that are answers or counts
``accrual``         units that arrive in calendar time
``delay``           outcomes that arrive late
``drop_out``        units that leave before their outcome arrives
``closure``         arms that are closed for a while, or from some moment on
``stop_rule``       trials that end when a target is reached
``sparse_truth``    coefficients most of which are 0
``numbers``         plain numbers from what people give
==================  ===================================================================================
"""

from equipoise.lab.pieces.accrual import Accrual
from equipoise.lab.pieces.closure import Closure
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
from equipoise.lab.pieces.drop_out import DropOut
from equipoise.lab.pieces.gaussian_noise import GaussianNoise
from equipoise.lab.pieces.outcomes import CountOutcomes, YesNoOutcomes
from equipoise.lab.pieces.piece import (
    KINDS,
    Accruals,
    Contexts,
    Delays,
    Leaving,
    Noise,
    Outcomes,
    Stops,
    Truth,
    piece,
)
from equipoise.lab.pieces.skewed_noise import SkewedNoise
from equipoise.lab.pieces.sparse_truth import SparseTruth
from equipoise.lab.pieces.stop_rule import StopRule
from equipoise.lab.pieces.student_noise import StudentNoise

__all__ = [
    "KINDS",
    "Accrual",
    "Accruals",
    "BinaryContexts",
    "Closure",
    "Contexts",
    "CountOutcomes",
    "Delay",
    "Delays",
    "DiscreteContexts",
    "DriftingContexts",
    "DropOut",
    "GaussianContexts",
    "GaussianNoise",
    "Leaving",
    "Noise",
    "OneHotContexts",
    "Outcomes",
    "SiteContexts",
    "SkewedContexts",
    "SkewedNoise",
    "SparseTruth",
    "StopRule",
    "Stops",
    "StudentContexts",
    "StudentNoise",
    "Truth",
    "YesNoOutcomes",
    "piece",
]
