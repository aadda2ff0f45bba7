"""Sparse arms: how features are found, what that gains, and what it costs.

==================  =================================================================
``study``           what the three studies have in common
``studies``         the three by name
``support``         outcomes an arm that it takes to find the support
``exact_recovery``  the trials of that study
``budget``          largest mean error against the budget, beside lasso fits
``screen``          the price of L, the outcomes an arm that features are chosen from
``drawing``         a picture a study
==================  =================================================================
"""
