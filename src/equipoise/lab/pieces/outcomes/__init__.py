"""Outcomes that are no real numbers, one kind a file.

===========  ==========================================================================
``links``    from a linear predictor to a rate, and the best linear fit of that
``linked``   what the kinds have in common: levels that go with the arms' noise
``yes_no``   outcomes that are 0 or 1
``counts``   outcomes that are counted
===========  ==========================================================================
"""

from equipoise.lab.pieces.outcomes.counts import CountOutcomes
from equipoise.lab.pieces.outcomes.yes_no import YesNoOutcomes

__all__ = ["CountOutcomes", "YesNoOutcomes"]
