"""What a scenario is made of: contexts, noise, delays, truths, one a file.

=====================  ===================================================================================
``piece``              what pieces are, and which there are
``gaussian_contexts``  normal contexts
``student_contexts``   contexts with heavy tails
``discrete_contexts``  contexts on a few values, as ratings are
``one_hot_contexts``   categories
``gaussian_noise``     normal noise
``student_noise``      noise with heavy tails
``skewed_noise``       skewed noise
``delay``              outcomes that arrive late
``sparse_truth``       coefficients most of which are 0
``covariance``         covariances of features
``numbers``            plain numbers from what people give
=====================  ===================================================================================
"""

from equipoise.lab.pieces.delay import Delay
from equipoise.lab.pieces.discrete_contexts import DiscreteContexts
from equipoise.lab.pieces.gaussian_contexts import GaussianContexts
from equipoise.lab.pieces.gaussian_noise import GaussianNoise
from equipoise.lab.pieces.one_hot_contexts import OneHotContexts
from equipoise.lab.pieces.piece import KINDS, Contexts, Delays, Noise, Truth, piece
from equipoise.lab.pieces.skewed_noise import SkewedNoise
from equipoise.lab.pieces.sparse_truth import SparseTruth
from equipoise.lab.pieces.student_contexts import StudentContexts
from equipoise.lab.pieces.student_noise import StudentNoise

__all__ = [
    "KINDS",
    "Contexts",
    "Delay",
    "Delays",
    "DiscreteContexts",
    "GaussianContexts",
    "GaussianNoise",
    "Noise",
    "OneHotContexts",
    "SkewedNoise",
    "SparseTruth",
    "StudentContexts",
    "StudentNoise",
    "Truth",
    "piece",
]
