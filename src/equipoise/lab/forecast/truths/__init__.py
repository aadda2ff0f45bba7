"""Truths of a forecast's trials: what the outcomes known leave open.

=============  ==============================================================================
``drawing``    a truth for every trial: arms for themselves, or one of the two below
``hierarchy``  where arms may have something in common, by a Markov chain
``sparse``     where few features matter, by another
=============  ==============================================================================
"""

from equipoise.lab.forecast.truths.drawing import (
    SPARSE,
    Truths,
    checked_truth,
    draw_sparse_truths,
    draw_truths,
)

__all__ = ["SPARSE", "Truths", "checked_truth", "draw_sparse_truths", "draw_truths"]
