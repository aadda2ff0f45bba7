"""One decision: which arm gets the unit at hand.

=================  ===========================================================================================
``decide``         the whole of it: settle what waits, choose or be told an arm, assign the unit
``highest_score``  forced starts, then the highest score
``scoring``        compiles a policy's score, and calls it for all arms
``score_errors``   what is wrong with a score, in words, and the line to change
``by_weights``     arms drawn by weights, as in randomised designs
``weighing``       compiles a design's weights, and calls them
``leverage``       how little every arm knows at the context at hand
``ties``           who goes first when scores tie
``lots``           assignment by lot
``eligible``       which arms may be chosen: costs, floors, caps, closed arms
``batch``          many contexts at once: the clear ones first
=================  ===========================================================================================
"""
